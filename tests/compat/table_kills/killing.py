"""Starts the job, kills it, starts it again; and the verdict on what its tables hold."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ottla.testing.broker_process import BrokerProcess
from tests.compat.table_kills.job_process import JobProcess
from tests.compat.table_kills.moments import Moment, chosen, left_in_log, waits
from tests.compat.table_kills.readers import ROWS, Cell, by_duckdb, cells, has_table
from tests.compat.table_kills.topic import MISFIT, WrittenTopic

BATCH_MAX = 150
MERGE_ABOVE = 3
_START_S = 600.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and of which runs."""

    to: str
    kills: int
    records: int
    rows: int
    letters: int
    wrong: list[str]
    stages: Counter[str] = field(default_factory=Counter)
    """In which stage each kill fell."""
    in_log: int = 0
    """How many of them left a commit of a table's log half done."""

    @property
    def holds(self) -> bool:
        """Whether each record is there once."""
        return not self.wrong

    def __str__(self) -> str:
        stages = ", ".join(f"{words} {count}" for words, count in self.stages.most_common())
        verdict = "; ".join(self.wrong) or "each offset once, none missing"
        return (
            f"{self.to}: {self.kills} kills, {self.records:,} committed records, "
            f"{self.rows:,} rows and {self.letters:,} dead letters: {verdict} "
            f"(killed in: {stages}; {self.in_log} within the commit of a log)"
        )


class Killing:
    """A folder with a broker's data, a table and its dead letters."""

    def __init__(self, folder: Path, to: str, seed: int) -> None:
        self._to = to
        self._random = random.Random(seed)
        self._seed = seed
        self._data = folder / "data"
        self._data.mkdir(exist_ok=True)
        self._tables = (folder / "table", folder / "table-dead-letters")
        self._logs = folder
        self._started = 0
        self._stages: Counter[str] = Counter()
        self._left: set[str] = set()
        self._in_log = 0
        self._wrong: list[str] = []

    def run(self, kills: int, seconds: float) -> Verdict:
        """Kill so often, or so long, then let one run through; the verdict."""
        with BrokerProcess(data_dir=self._data) as broker:
            servers = broker.bootstrap_servers
            with WrittenTopic(servers, "killed", self._seed) as topic:
                done, last = self._kill_all(servers, chosen(self._random, kills), seconds)
            last.begin(_START_S)
            rows = last.ends(_START_S)
            return self._verdict(done, topic.committed(), rows)

    def _kill_all(
        self, servers: str, moments: list[Moment], seconds: float
    ) -> tuple[int, JobProcess]:
        """How many were killed, and the one that is to run through, which waits. The Spark of the
        next one starts while one is at work."""
        end = time.monotonic() + seconds
        job = self._start(servers, through=not moments)
        for number, moment in enumerate(moments, 1):
            following: JobProcess | None = None
            through = number == len(moments) or time.monotonic() > end
            try:
                if moment.before:
                    waits(job, moment, self._random, self._tables)
                else:
                    job.begin(_START_S)
                    following = self._start(servers, through)
                    waits(job, moment, self._random, self._tables)
                job.kill()
            except BaseException:
                job.end()
                if following is not None:
                    following.end()
                raise
            self._note(job.stage, f"kill {number} of {len(moments)}, {moment.name}")
            job = following or self._start(servers, through)
            if through:
                return number, job
        return 0, job

    def _start(self, servers: str, through: bool) -> JobProcess:
        self._started += 1
        arguments = [
            *("table", "--bootstrap-server", servers, "--topic", "killed", "--to", self._to),
            *("--table", str(self._tables[0]), "--value-format", "text"),
            *("--merge-above", str(MERGE_ABOVE), "--batch-max"),
            *(("100000",) if through else (str(BATCH_MAX), "--for-ever")),
        ]
        return JobProcess(arguments, self._logs / f"job-{self._started}.log", through)

    def _note(self, stage: str, what: str) -> None:
        """Where it fell; and no offset is there twice, as it lies there now."""
        left = {f"{table.name}/{name}" for table in self._tables for name in left_in_log(table)}
        in_log = bool(left - self._left)
        self._left |= left
        self._in_log += in_log
        self._stages[stage] += 1
        self._wrong += [
            f"{table.name} after {what}: offsets twice"
            for table in self._tables
            if has_table(table) and twice(cells(ROWS[self._to](table)))
        ]
        print(f"{what}: in {stage}{', within the commit of a log' if in_log else ''}", flush=True)

    def _verdict(
        self, kills: int, wanted: dict[tuple[int, int], bytes], said: list[str]
    ) -> Verdict:
        fits = {place: value for place, value in wanted.items() if not value.startswith(MISFIT)}
        misfits = {place: value for place, value in wanted.items() if value.startswith(MISFIT)}
        counts = []
        by_spark = of_spark(said)
        wrong = self._wrong
        for number, expected in enumerate((fits, misfits)):
            path = self._tables[number]
            rows = ROWS[self._to](path)
            found = cells(rows)
            counts.append(len(found))
            wrong += differences(f"{path.name} without Java", found, expected)
            offsets = sum(offset for _, offset in expected)
            if by_duckdb(rows) != (len(expected), len(expected), offsets):
                wrong.append(f"{path.name} by DuckDB: {by_duckdb(rows)}")
            wrong += differences(f"{path.name} by Spark", by_spark[number], expected)
        return Verdict(self._to, kills, len(wanted), *counts, wrong, self._stages, self._in_log)


def of_spark(said: list[str]) -> tuple[list[Cell], list[Cell]]:
    """The rows of both tables, as the last job wrote them."""
    found: tuple[list[Cell], list[Cell]] = [], []
    for line in said:
        number, partition, offset, value = line.rstrip("\n").split(" ")
        found[int(number)].append((int(partition), int(offset), bytes.fromhex(value)))
    return found


def twice(found: list[Cell]) -> bool:
    """Whether an offset is."""
    return len({(partition, offset) for partition, offset, _ in found}) < len(found)


def differences(name: str, found: list[Cell], wanted: dict[tuple[int, int], bytes]) -> list[str]:
    """In words; nothing where both are the same."""
    wrong = []
    has_table = {(partition, offset): value for partition, offset, value in found}
    if len(has_table) != len(found):
        wrong.append(f"{name}: {len(found) - len(has_table):,} offsets twice")
    missing, more = wanted.keys() - has_table.keys(), has_table.keys() - wanted.keys()
    if missing:
        wrong.append(f"{name}: {len(missing):,} missing, such as {sorted(missing)[:3]}")
    if more:
        wrong.append(f"{name}: {len(more):,} that the topic has not, such as {sorted(more)[:3]}")
    if any(has_table[place] != value for place, value in wanted.items() if place in has_table):
        wrong.append(f"{name}: other values")
    return wrong
