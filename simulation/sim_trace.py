"""The results of a run: its outcome or failure, its trace, and the log lines of the cores."""

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
    """A broken invariant. `name` is one of those in tests/simulation/README.md: I1, I2 …"""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class Judged(NamedTuple):
    """The counts of responses to clients whose rights come from ACLs."""

    allowed: int = 0
    denied: int = 0
    changing: int = 0
    """Responses to requests during which the ACLs changed at the node that checked them."""


class Muted(NamedTuple):
    """The counts of responses that throttled their connection by a quota, by kind of request."""

    produces: int = 0
    fetches: int = 0
    mutations: int = 0
    """Creations and deletions of topics and partitions."""
    others: int = 0
    longest_ms: int = 0

    def __add__(self, other: object) -> Muted:
        """Return the sums of two runs' counts, and the greater `longest_ms`."""
        assert isinstance(other, Muted)
        return Muted(
            self.produces + other.produces,
            self.fetches + other.fetches,
            self.mutations + other.mutations,
            self.others + other.others,
            max(self.longest_ms, other.longest_ms),
        )


class Grouped(NamedTuple):
    """The counts of events in groups that the broker assigns (KIP-848), from the coordinators'
    log."""

    joins: int = 0
    """New members; the next process of a static member counts too."""
    reconciliations: int = 0
    """How often a member changed its partitions and then had its whole target assignment."""
    hand_overs: int = 0
    """Partitions that moved from one member to another."""
    upgrades: int = 0
    """Classic groups that became consumer groups while they had members."""
    downgrades: int = 0
    """Consumer groups that became classic groups while they had members."""
    settled: int = 0
    """How often a group without changes had to be Stable, and was."""


class Shared(NamedTuple):
    """The counts of events in share groups (KIP-932). Only acknowledgements that were answered
    without an error count."""

    loads: int = 0
    """How often a leader loaded a share-partition."""
    deliveries: int = 0
    """Records that a member has acquired."""
    redeliveries: int = 0
    """Those of them that had been acquired before."""
    accepts: int = 0
    releases: int = 0
    rejects: int = 0
    renewals: int = 0
    gaps: int = 0
    letters: int = 0
    """Records in dead-letter topics."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run that kept every invariant."""

    seed: int
    checksum: str
    events: int
    requests: int
    acknowledged: int
    faults: dict[str, int]
    judged: Judged = Judged()
    muted: Muted = Muted()
    grouped: Grouped = Grouped()
    shared: Shared = Shared()


class Failure(AssertionError):
    """A run that broke an invariant or crashed. Its text has the seed and the last lines of the
    trace."""

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
    """A checksum over all events of a run, and the last lines of them."""

    def __init__(self, world: SimScheduler) -> None:
        self._world = world
        self._hash = hashlib.blake2b(digest_size=12)
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.everything: list[str] | None = None
        """All lines since `take_kept`; None if only the last lines are kept."""

    def add(self, text: str) -> None:
        """Add a line with the virtual time to the checksum and to the last lines."""
        line = f"{self._world.now_ms:10.3f} {text}"
        self._hash.update(line.encode() + b"\n")
        self.last.append(line)
        if self.everything is not None:
            self.everything.append(line)

    def keep(self, everything: bool) -> None:
        """Set whether every line is kept, in `everything`; lines kept before are dropped."""
        self.everything = [] if everything else None

    def take_kept(self) -> list[str]:
        """Return, and drop, the lines that were kept since the last call; [] if none are kept."""
        kept = self.everything or []
        self.keep(self.everything is not None)
        return kept

    def checksum(self) -> str:
        return self._hash.hexdigest()


class LogLines(logging.Handler):
    """A handler that adds the cores' log lines to the trace, and keeps errors."""

    def __init__(self, trace: Trace, world: SimScheduler) -> None:
        """Handle only records of the logger `ottla`, and only from WARNING on."""
        super().__init__(logging.WARNING)
        self.addFilter(logging.Filter("ottla"))  # leaves out clients that other tests left running
        self._trace = trace
        self._world = world
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Add the record to the trace; keep it in `errors` too if it is an error."""
        text = record.getMessage()
        self._trace.add(f"log {self._world.running} {record.levelname} {text}")
        if record.levelno < logging.ERROR:
            return
        if record.exc_info and record.exc_info[1] is not None:
            text += ": " + origin(record.exc_info[1])
        self.errors.append(f"{self._world.running} {record.name}: {text}")


def origin(error: BaseException) -> str:
    """Return an exception and the last four places of its traceback, innermost first, in one
    line."""
    last = traceback.extract_tb(error.__traceback__)[-4:]
    places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(last))
    return f"{error!r} at {places}"
