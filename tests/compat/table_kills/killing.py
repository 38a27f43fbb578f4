"""Starts the job, kills it, starts it again; and the verdict on what its tables hold."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ottla.testing.broker_process import BrokerProcess
from tests.compat.table_kills.readers import ROWS, Cell, by_duckdb, cells
from tests.compat.table_kills.topic import MISFIT, WrittenTopic
from tests.tools.java_tools import PROJECT_DIR

BATCH_MAX = 150
_MOMENTS = (("", 15.0), ("are new", 12.0), ("run ", 8.0))
"""From what the job says (nothing: from its start) it is killed within so many seconds."""
_WEIGHTS = (1, 3, 4)
_START_S = 600.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and of which runs."""

    to: str
    kills: int
    records: int
    rows: int
    letters: int
    runs: int
    wrong: list[str]
    moments: Counter[str] = field(default_factory=Counter)
    """What the job had said last when it was killed."""

    @property
    def holds(self) -> bool:
        """Whether each record is there once."""
        return not self.wrong

    def __str__(self) -> str:
        last = ", ".join(f"{words} {count}" for words, count in self.moments.most_common())
        verdict = "; ".join(self.wrong) or "each offset once, none missing"
        return (
            f"{self.to}: {self.kills} kills, {self.records:,} committed records, "
            f"{self.rows:,} rows and {self.letters:,} dead letters in {self.runs} commits: "
            f"{verdict} (killed after: {last})"
        )


class Killing:
    """A folder with a broker's data, a table and its dead letters."""

    def __init__(self, folder: Path, to: str, seed: int) -> None:
        self._to = to
        self._random = random.Random(seed)
        self._seed = seed
        self._data = folder / "data"
        self._data.mkdir(exist_ok=True)
        self._table = folder / "table"
        self._letters = folder / "table-dead-letters"
        self._log = folder / "job.log"
        self._moments: Counter[str] = Counter()
        self._runs = 0

    def run(self, kills: int, seconds: float) -> Verdict:
        """Kill so often, or so long, then let one run through; the verdict."""
        began, done = time.monotonic(), 0
        with BrokerProcess(data_dir=self._data) as broker:
            servers = broker.bootstrap_servers
            with WrittenTopic(servers, "killed", self._seed) as topic:
                while done < kills and time.monotonic() - began < seconds:
                    done += 1
                    self._kill_one(servers, done, kills)
            said = self._through(servers)
            return self._verdict(done, topic.committed(), said)

    def _command(self, servers: str, *more: str) -> list[str]:
        return [
            *(sys.executable, "-m", "pipeline", "table", "--bootstrap-server", servers),
            *("--topic", "killed", "--to", self._to, "--table", str(self._table)),
            *("--value-format", "text", "--batch-max", str(BATCH_MAX), "--merge-above", "5"),
            *more,
        ]

    def _kill_one(self, servers: str, number: int, kills: int) -> None:
        job = Job(self._command(servers, "--for-ever"), self._log)
        try:
            waits_for, at_most_s = self._random.choices(_MOMENTS, _WEIGHTS)[0]
            if not job.says(waits_for, _START_S):
                raise AssertionError(f"the job never came so far: {self._log.read_text()[-2000:]}")
            job.wait(self._random.uniform(0, at_most_s))
        finally:
            job.kill()
        if job.ended_by_itself:
            raise AssertionError(f"the job ended by itself: {self._log.read_text()[-2000:]}")
        self._moments[job.moment] += 1
        print(f"kill {number} of {kills}: after {job.moment!r}", flush=True)

    def _through(self, servers: str) -> str:
        done = subprocess.run(
            self._command(servers, "--batch-max", "100000"),
            capture_output=True,
            text=True,
            cwd=PROJECT_DIR,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stderr

    def _verdict(self, kills: int, wanted: dict[tuple[int, int], bytes], said: str) -> Verdict:
        fits = {place: value for place, value in wanted.items() if not value.startswith(MISFIT)}
        misfits = {place: value for place, value in wanted.items() if value.startswith(MISFIT)}
        wrong: list[str] = []
        counts = []
        by_spark = self._by_spark(self._table, self._letters)
        for path, expected in ((self._table, fits), (self._letters, misfits)):
            rows = ROWS[self._to](path)
            found = cells(rows)
            counts.append(len(found))
            wrong += differences(f"{path.name} without Java", found, expected)
            offsets = sum(offset for _, offset in expected)
            if by_duckdb(rows) != (len(expected), len(expected), offsets):
                wrong.append(f"{path.name} by DuckDB: {by_duckdb(rows)}")
            wrong += differences(f"{path.name} by Spark", by_spark[path], expected)
        runs = int(said.rpartition("run ")[2].partition(":")[0]) if "run " in said else 0
        return Verdict(self._to, kills, len(wanted), *counts, runs, wrong, self._moments)

    def _by_spark(self, *paths: Path) -> dict[Path, list[Cell]]:
        """In a process of its own, which ends."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.compat.table_kills.spark_rows", self._to, *paths],
            cwd=PROJECT_DIR,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found: dict[Path, list[Cell]] = {path: [] for path in paths}
        for line in done.stdout.decode().splitlines():
            word, number, *row = line.split(" ")
            if word == "row":
                value = bytes.fromhex(row[2])
                found[paths[int(number)]].append((int(row[0]), int(row[1]), value))
        return found


def differences(name: str, found: list[Cell], wanted: dict[tuple[int, int], bytes]) -> list[str]:
    """In words; nothing where both are the same."""
    wrong = []
    there = {(partition, offset): value for partition, offset, value in found}
    if len(there) != len(found):
        wrong.append(f"{name}: {len(found) - len(there):,} offsets twice")
    missing, more = wanted.keys() - there.keys(), there.keys() - wanted.keys()
    if missing:
        wrong.append(f"{name}: {len(missing):,} missing, such as {sorted(missing)[:3]}")
    if more:
        wrong.append(f"{name}: {len(more):,} that the topic has not, such as {sorted(more)[:3]}")
    if any(there[place] != value for place, value in wanted.items() if place in there):
        wrong.append(f"{name}: other values")
    return wrong


class Job:
    """One run of the job, with all its processes in one group."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._log = log.open("w")
        self.moment = "its start"
        self._spoke = threading.Condition()
        self._said: list[str] = []
        self._ended = False
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=PROJECT_DIR,
        )
        self._listens = threading.Thread(target=self._listen, name="listens")
        self._listens.start()
        self.ended_by_itself = False

    def says(self, words: str, timeout_s: float) -> bool:
        """Whether it says so, before it ends or the time is over."""

        def said() -> bool:
            return any(words in line for line in self._said)

        with self._spoke:
            self._spoke.wait_for(lambda: not words or said() or self._ended, timeout_s)
            return not words or said()

    def wait(self, seconds: float) -> None:
        """So long, or until it ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> None:
        """kill -9 of its processes: Python and Java."""
        self.ended_by_itself = self._process.poll() is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._listens.join()
        self._log.close()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._log.write(line)
                if line.startswith("table: "):
                    self.moment = _moment(line.removeprefix("table: "))
                    self._note(line)
        with self._spoke:
            self._ended = True
            self._spoke.notify_all()

    def _note(self, line: str) -> None:
        with self._spoke:
            self._said.append(line)
            self._spoke.notify_all()


def _moment(line: str) -> str:
    for words in ("merged small files", "are new", "run ", " of "):
        if words in line:
            return {"run ": "a commit", " of ": "a commit", "are new": "its look at the topic"}.get(
                words, "a merge"
            )
    return line.strip()
