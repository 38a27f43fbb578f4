"""A run of the job as who kills it sees it: it starts, begins when told, tells its stages, dies."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.compat.table_kills.staged_job import READY
from tests.tools.java_tools import PROJECT_DIR

START = "Spark starts"


class JobProcess:
    """One run, with all its processes in one group. It waits with Spark started for `begin`."""

    def __init__(self, arguments: Sequence[str], log: Path, wants_rows: bool) -> None:
        self._log = log
        self._changes = threading.Condition()
        self._stages = [START]
        self._ended = False
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.compat.table_kills.staged_job"),
                *("rows" if wants_rows else "no-rows", *arguments),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=PROJECT_DIR,
        )
        self._rows: list[str] = []
        self._listeners = [
            threading.Thread(target=self._listen, name="listens"),
            threading.Thread(target=self._read_rows, name="reads"),
        ]
        for one in self._listeners:
            one.start()

    @property
    def stage(self) -> str:
        """The last that it told."""
        return self._stages[-1]

    def begin(self, timeout_s: float) -> None:
        """As soon as its Spark has started."""
        if not self.comes_to((READY,), timeout_s):
            raise AssertionError(f"Spark did not start: {self.said()}")
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("begin\n")
            self._process.stdin.flush()

    def comes_to(self, stages: Sequence[str], timeout_s: float) -> bool:
        """Whether it comes to one of these, from now on, before it ends or the time is over."""
        with self._changes:
            seen = 0 if READY in stages else len(self._stages)

            def came() -> bool:
                return any(one in stages for one in self._stages[seen:])

            self._changes.wait_for(lambda: came() or self._ended, timeout_s)
            return came()

    def waits(self, seconds: float) -> None:
        """So long, or until it ends."""
        with self._changes:
            self._changes.wait_for(lambda: self._ended, seconds)

    def ends(self, timeout_s: float) -> list[str]:
        """The rows that it wrote, once it has ended well."""
        code = self._process.wait(timeout_s)
        self._join()
        assert code == 0, self.said()
        return self._rows

    def kill(self) -> None:
        """kill -9. AssertionError if it had ended before."""
        if self.end() is not None:
            raise AssertionError(f"the job ended by itself: {self.said()}")

    def end(self) -> int | None:
        """kill -9 of its processes, Python and Java, whatever became of it; with what code it had
        ended before, if it had."""
        ended = self._process.poll()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._join()
        return ended

    def said(self) -> str:
        """The end of what it said."""
        return self._log.read_text()[-2000:]

    def _join(self) -> None:
        for one in self._listeners:
            one.join()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _listen(self) -> None:
        with self._pipe(self._process.stderr) as lines, self._log.open("w") as log:
            for line in lines:
                log.write(line)
                log.flush()
                if line.startswith("stage: "):
                    with self._changes:
                        self._stages.append(line.removeprefix("stage: ").strip())
                        self._changes.notify_all()
        with self._changes:
            self._ended = True
            self._changes.notify_all()

    def _read_rows(self) -> None:
        with self._pipe(self._process.stdout) as lines:
            self._rows.extend(lines)

    @staticmethod
    def _pipe(found: IO[str] | None) -> IO[str]:
        assert found is not None
        return found
