"""The rule of one fault: which requests it applies to, and what it does to them.

A core: the same seed gives the same decisions. A rule counts: it may skip the first requests that
it matches, end after a number of requests, and apply to only some of them, at random. Each draw
depends on the rule's seed, the client id and the number of that client's matched requests before.
So the same seed gives each client the same faults, in whatever order several clients send.
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
"""The number of clients that have a count of their own; all later ones share a count."""
_MASK = (1 << 64) - 1
_SHARED = "\0shared"


class Deed(Enum):
    """The things that a fault does to a request."""

    ERROR = "error"
    """The request is not carried out; it is answered with an error."""
    DELAY = "delay"
    """The request is carried out, and its response is delayed."""
    UNANSWERED = "unanswered"
    """The request is carried out, and its response is never sent."""
    LOST = "lost"
    """The request is neither carried out nor answered, as if the network had lost it."""
    CUT = "cut"
    """The request is carried out; a part of its response is sent, then the connection closes."""
    DISCONNECT = "disconnect"
    """The request is not carried out, and the connection closes."""


@dataclass(frozen=True, slots=True)
class RequestSubject:
    """The parts of a request that a rule compares."""

    api: ApiKey
    client_id: str
    topics: Collection[str] = ()
    all_topics: bool = False
    groups: Collection[str] = ()
    transactional_ids: Collection[str] = ()
    of_a_node: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """The requests that a rule matches. Names may be patterns with `*`, `?` and `[…]`; None matches
    any."""

    api: ApiKey | None
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None
    client_id: str | None = None
    nodes: bool = False
    """Whether the rule matches requests of other nodes only; if not, requests of clients only."""

    def matches(self, subject: RequestSubject) -> bool:
        """Return whether all conditions fit this request: the API, the client, a topic, a group, a
        transactional id, and whether a node sent it."""
        if self.api not in (None, subject.api) or self.nodes != subject.of_a_node:
            return False
        if self.client_id is not None and not fnmatchcase(subject.client_id, self.client_id):
            return False
        return (
            (subject.all_topics or _any(subject.topics, self.topic))
            and _any(subject.groups, self.group)
            and _any(subject.transactional_ids, self.transactional_id)
        )

    def matches_topic(self, name: str | None) -> bool:
        """Return whether the topic condition fits a topic of this name. A name that is None fits
        only if there is no condition."""
        return self.topic is None or (name is not None and fnmatchcase(name, self.topic))


@dataclass(slots=True)
class Rule:
    """One fault: the requests that it matches, what it does, and how often."""

    aim: Aim
    deed: Deed
    error: ErrorCode = ErrorCode.NONE
    delay_ms: float = 0.0
    cut_at: float = 0.5
    """The share of a response's bytes that is sent before it is cut."""
    after: int = 0
    """The number of matching requests that are skipped first."""
    times: int | None = None
    """The number of requests that the fault applies to; None: all."""
    probability: float = 1.0
    seed: int = 0
    tally: Tally = field(default_factory=OwnTally)
    """The counts of matched requests, and of those that the fault applied to."""
    _by_client: dict[str, int] = field(default_factory=dict)

    @property
    def matched(self) -> int:
        """The number of requests that matched, whether the fault applied or not."""
        return self.tally.matched

    @property
    def applied(self) -> int:
        """The number of requests that the fault applied to."""
        applied = (
            self.tally.applied
        )  # several brokers that count at once may exceed `times` for a moment
        return applied if self.times is None else min(applied, self.times)

    @property
    def is_over(self) -> bool:
        """Whether the fault applies to no further request."""
        return self.times is not None and self.applied >= self.times

    def meets(self, subject: RequestSubject) -> bool:
        """Return whether the fault applies to this request. Counts the request if the aim matches
        it, and again if the fault applies."""
        if not self.aim.matches(subject):
            return False
        before = self._count(subject.client_id)
        if self.tally.see() <= self.after:
            return False
        if self.probability < 1 and drawn(self.seed, subject.client_id, before) >= self.probability:
            return False
        return self.tally.take(self.times)

    def missed(self) -> None:
        """Do not count the last request among those that the fault applied to: the fault could not
        be applied to it."""
        self.tally.give_back()

    def _count(self, client_id: str) -> int:
        """Return how many requests of this client matched before, and count this one. Above
        CLIENTS_MAX_COUNT clients, the others share a count."""
        if client_id not in self._by_client and len(self._by_client) >= CLIENTS_MAX_COUNT:
            client_id = _SHARED
        before = self._by_client.get(client_id, 0)
        self._by_client[client_id] = before + 1
        return before


def drawn(seed: int, client_id: str, number: int) -> float:
    """Return a number from 0 up to 1, not included, that depends on these values alone
    (SplitMix64)."""
    mixed = (seed ^ (crc32(client_id.encode()) << 32)) + (number + 1) * 0x9E3779B97F4A7C15 & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)


def _any(names: Collection[str], pattern: str | None) -> bool:
    """Return whether at least one name matches the pattern; True if the pattern is None."""
    return pattern is None or any(fnmatchcase(name, pattern) for name in names)
