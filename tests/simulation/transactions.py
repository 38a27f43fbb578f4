"""What is known of a transaction, and what watchers are told of requests that belong to one.

The outcome rules are those of an exact client: a transaction is committed once EndTxn(commit) was
answered with NONE; aborted if nobody asked to commit it, or whoever asked was refused each time;
else nobody knows, until one of its values is seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from protocol.errors import ErrorCode

Place = tuple[bytes, int]
GroupKey = tuple[str, tuple[str, int]]
"""A group's position: (group, (topic, partition))."""

UNDECIDED = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
)
"""Answers to EndTxn that do not tell: it may have been written, or be written yet."""


@dataclass(slots=True, eq=False)
class Txn:
    """One transaction of one client."""

    name: str
    transactional_id: str
    producer_id: int
    producer_epoch: int
    values: dict[bytes, Place] = field(default_factory=dict)
    """Each value it has sent, without padding, and where."""
    offsets: dict[GroupKey, int] = field(default_factory=dict)
    copied: dict[bytes, tuple[Place, int]] = field(default_factory=dict)
    """Of a copier: which record each value is the copy of."""
    committed: bool = False
    """EndTxn(commit) was answered with NONE."""
    committed_ms: float = math.inf
    """When it was, first."""
    aborted: bool = False
    """EndTxn(abort) was answered with NONE."""
    unsure: int = 0
    """How many EndTxn(commit) were sent that have not been refused for certain."""
    ended_in_time: bool = False
    """Whether a coordinator began with an EndTxn of it before its epoch was known to be fenced."""
    seen: bytes | None = None
    """A value of it that somebody has read as committed."""

    @property
    def may_be_committed(self) -> bool:
        return self.committed or self.unsure > 0

    @property
    def is_committed(self) -> bool:
        """Known for certain."""
        return self.committed or self.seen is not None


@dataclass(slots=True)
class Fencing:
    """What watchers are told of an InitProducerId with a transactional id (`Exchange.about`)."""

    transactional_id: str


@dataclass(slots=True)
class Ending:
    """What watchers are told of an EndTxn."""

    txn: Txn
    commit: bool


@dataclass(slots=True)
class Moving:
    """What watchers are told of a TxnOffsetCommit."""

    txn: Txn
    group: str
    generation: int
