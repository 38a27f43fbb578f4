"""Cells at work: each in a process of its own, several at once."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from tests.compat.quota_rates.cells import (
    FETCH,
    PRODUCE,
    VALUE_BYTES,
    Cell,
    Rates,
    Sample,
    rates,
)
from tests.compat.quota_rates.peers import Served, served
from tests.compat.security.ways import Way, java
from tests.tools.java_tools import PROJECT_DIR, java_command, program_classpath
from tests.tools.waiting import wait_until

FIRST_BYTE_S = 60.0
SPARE_S = 0.5
PRODUCED, FETCHED = "produced", "fetched"


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How it is measured.

    `seconds`  over how long each rate is     `quota_bytes_per_s`  of each cell's user
    `windows`, `window_s`  `quota.window.num` and `quota.window.size.seconds`
    """

    seconds: float = 60.0
    quota_bytes_per_s: float = 1_000_000.0
    windows: int = 11
    window_s: int = 1

    @property
    def first_window_s(self) -> float:
        """How long what was not used before still counts."""
        return float(self.windows * self.window_s)

    @property
    def properties(self) -> dict[str, str]:
        return {
            "quota.window.num": str(self.windows),
            "quota.window.size.seconds": str(self.window_s),
        }


class Work:
    """The process of one cell, and what it told."""

    def __init__(self, cell: Cell, way: Way, topic: str) -> None:
        self.cell = cell
        self.samples: list[Sample] = []
        # Not a pipe: a client that complains much is not to wait for who reads that.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            _command(cell, way, topic),
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            when, total = json.loads(line)
            self.samples.append((when, total))

    def first_byte(self) -> float | None:
        """When, on the machine's monotonic clock; None: it has not come. RuntimeError if it
        ended."""
        if self._process.poll() is not None:
            self._complaints.seek(0)
            said = self._complaints.read().decode(errors="replace").strip()
            raise RuntimeError(f"{self.cell.user} ended: {said[-1000:]}")
        return next((when for when, total in self.samples if total), None)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()
        self._complaints.close()


def _command(cell: Cell, way: Way, topic: str) -> list[str]:
    if cell.client == "java":
        words = [cell.operation, cell.count, topic, cell.request_records, VALUE_BYTES]
        settings = java(way)
        if cell.operation == FETCH:
            settings |= {"max.partition.fetch.bytes": str(cell.request_bytes)}
        words += [f"{key}={value}" for key, value in settings.items()]
        return java_command("QuotaRates", *map(str, words), classpath=program_classpath())
    module = "tests.compat.quota_rates.workers"
    return [
        sys.executable,
        "-m",
        module,
        *map(json.dumps, (asdict(cell), asdict(way))),
        topic,
    ]


def measured(
    peer: str, cells: Sequence[Cell], asked: MeasureOptions, at_once: int
) -> dict[Cell, Rates]:
    """Every cell's rates on one broker, so many cells at a time."""
    found: dict[Cell, Rates] = {}
    with served(peer, [cell.user for cell in cells], asked.properties) as broker:
        broker.make_topic(PRODUCED)
        broker.make_topic(FETCHED)
        # What may be had from the start on goes at once.
        most_s = asked.seconds + 2 * asked.first_window_s + FIRST_BYTE_S
        if any(cell.operation == FETCH for cell in cells):
            broker.fill(FETCHED, int(asked.quota_bytes_per_s * most_s))
        for cell in cells:
            broker.set_quota({"user": cell.user}, cell.quota_key, asked.quota_bytes_per_s)
        for first in range(0, len(cells), at_once):
            found |= _at_once(broker, cells[first : first + at_once], asked)
    return found


def _at_once(broker: Served, cells: Sequence[Cell], asked: MeasureOptions) -> Mapping[Cell, Rates]:
    with _working(broker, cells) as works:
        deadline = time.monotonic() + FIRST_BYTE_S
        while None in (begun := [work.first_byte() for work in works]):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing came through: {_silent(works)}")
            time.sleep(0.1)
        ends = max(when for when in begun if when is not None)
        ends += asked.seconds + asked.first_window_s + SPARE_S
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, 1.0))
            for work in works:
                work.first_byte()  # or why it ended
        # The last sample may come late where the machine is busy.
        wait_until(lambda: all(work.samples[-1][0] >= ends for work in works), "the last samples")
        return {
            work.cell: rates(
                work.samples, asked.quota_bytes_per_s, asked.seconds, asked.first_window_s
            )
            for work in works
        }


def _silent(works: Sequence[Work]) -> list[str]:
    return [work.cell.user for work in works if work.first_byte() is None]


@contextmanager
def _working(broker: Served, cells: Sequence[Cell]) -> Iterator[list[Work]]:
    works: list[Work] = []
    try:
        for cell in cells:
            topic = PRODUCED if cell.operation == PRODUCE else FETCHED
            works.append(Work(cell, broker.way(cell.user), topic))
        yield works
    finally:
        for work in works:
            work.close()
