"""`ottla cluster` as a process whose lines a test reads, and what `ottla status` says about it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.tools.java_tools import PROJECT_DIR

DEADLINE_S = 60


def ottla(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "command", *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT_DIR)}


class Cluster:
    """The command, running; what it said, line by line."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            ottla("cluster", "--dir", str(folder), *options),
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, pattern: str, since: int = 0) -> re.Match[str]:
        """Wait for a line from number `since` on that matches, and return the first match."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for line in self.lines[since:]:
                if found := re.search(pattern, line):
                    return found
            assert time.monotonic() < deadline and self.process.poll() is None, self.lines
            time.sleep(0.02)

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal if the process runs, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as out:
            for line in out:
                self.lines.append(line.rstrip("\n"))


def status(servers: str, *options: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        ottla("status", "--json", "--bootstrap-server", servers, *options),
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else {}


def wait_for_status(servers: str, code: int, *options: str) -> dict[str, Any]:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        found, told = status(servers, *options)
        if found == code:
            return told
        assert time.monotonic() < deadline, told
        time.sleep(0.2)
