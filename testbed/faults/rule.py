"""Which requests a fault meets, and what it does to them: a core, the same for the same seed.

A rule counts: it may leave out the first requests that it is meant for, end after so many, and meet
only some of them by chance. Chance is drawn for each client by itself, from the rule's seed, the
client id and how many requests of it came before: so the same seed gives each client the same
faults, in whatever order several of them ask.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from zlib import crc32

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from testbed.faults.tally import OwnTally, Tally

CLIENTS_MAX_COUNT = 1024
"""Clients whose requests are counted by themselves; later ones share a count."""
_MASK = (1 << 64) - 1
_SHARED = "\0shared"


class Deed(Enum):
    """What becomes of a request that is met."""

    ERROR = "error"
    """It is not carried out, and answered with an error."""
    DELAY = "delay"
    """It is carried out, and its answer waits."""
    UNANSWERED = "unanswered"
    """It is carried out, and its answer never comes."""
    LOST = "lost"
    """It is neither carried out nor answered, as if the network had lost it."""
    CUT = "cut"
    """It is carried out; a part of its answer comes, and then the connection closes."""
    DISCONNECT = "disconnect"
    """It is not carried out, and the connection closes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a rule looks at in a request."""

    api: ApiKey
    client_id: str
    topics: Collection[str] = ()
    all_topics: bool = False
    groups: Collection[str] = ()
    transactional_ids: Collection[str] = ()
    of_a_node: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """Which requests are meant. Names may be patterns with `*`, `?` and `[…]`; None: any."""

    api: ApiKey | None
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None
    client_id: str | None = None
    nodes: bool = False
    """Whether those are meant that other nodes send, and no others."""

    def means(self, asked: Asked) -> bool:
        """Whether this request is one of them."""
        if self.api not in (None, asked.api) or self.nodes != asked.of_a_node:
            return False
        if self.client_id is not None and not fnmatchcase(asked.client_id, self.client_id):
            return False
        return (
            (asked.all_topics or _any(asked.topics, self.topic))
            and _any(asked.groups, self.group)
            and _any(asked.transactional_ids, self.transactional_id)
        )

    def means_topic(self, name: str | None) -> bool:
        """Whether what a request asks of this topic is meant."""
        return self.topic is None or (name is not None and fnmatchcase(name, self.topic))


@dataclass(slots=True)
class Rule:
    """One fault: see the module."""

    aim: Aim
    deed: Deed
    error: ErrorCode = ErrorCode.NONE
    delay_ms: float = 0.0
    cut_at: float = 0.5
    """How much of an answer comes before it is cut: a share of its bytes."""
    after: int = 0
    """Requests that are left out first."""
    times: int | None = None
    """How many are met; None: all."""
    probability: float = 1.0
    seed: int = 0
    tally: Tally = field(default_factory=OwnTally)
    """Counts what is meant, and what is met."""
    _by_client: dict[str, int] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """How many requests were meant, met or not."""
        return self.tally.seen

    @property
    def met(self) -> int:
        """How many requests were met."""
        met = self.tally.met  # of several brokers that count at once, for a moment too many
        return met if self.times is None else min(met, self.times)

    @property
    def is_over(self) -> bool:
        """Whether it meets no request any more."""
        return self.times is not None and self.met >= self.times

    def meets(self, asked: Asked) -> bool:
        """Whether this request is met; counts it."""
        if not self.aim.means(asked):
            return False
        before = self._count(asked.client_id)
        if self.tally.see() <= self.after:
            return False
        if self.probability < 1 and drawn(self.seed, asked.client_id, before) >= self.probability:
            return False
        return self.tally.take(self.times)

    def missed(self) -> None:
        """The request that was met last could not be: it does not count."""
        self.tally.give_back()

    def _count(self, client_id: str) -> int:
        """How many requests of this client were meant before."""
        if client_id not in self._by_client and len(self._by_client) >= CLIENTS_MAX_COUNT:
            client_id = _SHARED
        before = self._by_client.get(client_id, 0)
        self._by_client[client_id] = before + 1
        return before


def drawn(seed: int, client_id: str, number: int) -> float:
    """A number from 0 up to 1 that depends on these alone (SplitMix64)."""
    mixed = (seed ^ (crc32(client_id.encode()) << 32)) + (number + 1) * 0x9E3779B97F4A7C15 & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)


def _any(names: Collection[str], pattern: str | None) -> bool:
    return pattern is None or any(fnmatchcase(name, pattern) for name in names)
