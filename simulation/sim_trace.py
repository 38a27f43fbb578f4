"""What is left of a run: its outcome or its failure, the trace, and what the cores logged."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from ground.sim_scheduler import SimScheduler

LAST_LINES = 80


class Violation(AssertionError):
    """An invariant does not hold. `name` is one of those in tests/simulation/README.md: I1, I2 …"""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Judged(NamedTuple):
    """What was said of rights, by answers to clients that are judged by ACLs."""

    allowed: int = 0
    denied: int = 0
    changing: int = 0
    """Answers to requests during which ACLs changed where they were judged."""


class Muted(NamedTuple):
    """How many answers to clients made their connections wait for a quota, by what was asked."""

    produces: int = 0
    fetches: int = 0
    mutations: int = 0
    """Creations and deletions of topics and partitions."""
    others: int = 0
    longest_ms: int = 0

    def __add__(self, other: object) -> Muted:
        """Those of two runs."""
        assert isinstance(other, Muted)
        return Muted(
            self.produces + other.produces,
            self.fetches + other.fetches,
            self.mutations + other.mutations,
            self.others + other.others,
            max(self.longest_ms, other.longest_ms),
        )


class Grouped(NamedTuple):
    """What became of groups that the broker assigns (KIP-848), by the coordinators' log."""

    joins: int = 0
    """New members; a static one's next process is one."""
    reconciliations: int = 0
    """How often a member came from what it had to all that it was to have."""
    hand_overs: int = 0
    """Partitions that one member had, and another after it."""
    upgrades: int = 0
    """Classic groups with members that became consumer groups."""
    downgrades: int = 0
    """Consumer groups with members that became classic ones."""
    settled: int = 0
    """How often one in which nothing changed had to be Stable, and was."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that kept every invariant."""

    seed: int
    checksum: str
    events: int
    requests: int
    acknowledged: int
    faults: dict[str, int]
    judged: Judged = Judged()
    muted: Muted = Muted()
    grouped: Grouped = Grouped()


class Failure(AssertionError):
    """A run that did not. Its text has the seed and the last lines of the trace."""

    def __init__(
        self, seed: int, invariant: str, reason: str, lines: list[str], events: int, replay: str
    ) -> None:
        self.seed = seed
        self.invariant = invariant
        self.reason = reason
        self.events = events
        super().__init__(
            f"seed {seed}: {reason}\n"
            f"  replay: {replay}\n" + "\n".join(f"  {line}" for line in lines)
        )


class Trace:
    """A checksum over everything that happened, and the last lines of it."""

    def __init__(self, world: SimScheduler) -> None:
        self._world = world
        self._hash = hashlib.blake2b(digest_size=12)
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.everything: list[str] | None = None
        """Where somebody wants to read all of it."""

    def add(self, text: str) -> None:
        line = f"{self._world.now_ms:10.3f} {text}"
        self._hash.update(line.encode() + b"\n")
        self.last.append(line)
        if self.everything is not None:
            self.everything.append(line)

    def keep(self, everything: bool) -> None:
        """Whether every line is kept, in `everything`."""
        self.everything = [] if everything else None

    def take_kept(self) -> list[str]:
        """The lines that were kept since the last look."""
        kept = self.everything or []
        self.keep(self.everything is not None)
        return kept

    def checksum(self) -> str:
        return self._hash.hexdigest()


class LogLines(logging.Handler):
    """What the cores log: part of the trace, and an error is kept."""

    def __init__(self, trace: Trace, world: SimScheduler) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(logging.Filter("ottla"))  # not clients that other tests left running
        self._trace = trace
        self._world = world
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self._trace.add(f"log {self._world.running} {record.levelname} {text}")
        if record.levelno < logging.ERROR:
            return
        if record.exc_info and record.exc_info[1] is not None:
            text += ": " + origin(record.exc_info[1])
        self.errors.append(f"{self._world.running} {record.name}: {text}")


def origin(error: BaseException) -> str:
    """An exception and where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{one.filename}:{one.lineno}" for one in reversed(last))
    return f"{error!r} at {places}"
