"""Groups as the page gets them. Times are ms since 1970; `since` is words with times in braces."""

from __future__ import annotations

from dataclasses import dataclass

from client.core.leaders import Partition
from console.answers import ABSENT, Absent


@dataclass(frozen=True, slots=True)
class Watched:
    """Since when the console looks at groups, how often, and what went wrong."""

    since_ms: int | None
    last_ms: int | None
    every_s: float
    error: str | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of the list; `members` None: the login may not see them.

    `lag` is the sum of the partitions whose lag is known; None: it is known of none.
    """

    group: str
    state: str
    type: str
    protocol: str
    coordinator: int
    members: int | None
    lag: int | None
    partitions_without_lag: int
    spark: list[int | None]
    since_ms: int | None
    since: str


@dataclass(frozen=True, slots=True)
class GroupList:
    """A page of `count` groups that have the word, `of` all; how many are in which state."""

    groups: list[GroupRow]
    count: int
    of: int
    lagging: int
    states: dict[str, int]
    watched: Watched


@dataclass(frozen=True, slots=True)
class GroupMember:
    """Who reads what, and what it is to read."""

    id: str
    name: str
    host: str
    instance: str | None
    protocol: str | None
    epoch: int | None
    partitions: list[Partition]
    target: list[Partition] | None


@dataclass(frozen=True, slots=True)
class GroupPartition:
    """Where a group stands in a partition; `reader` is the number of a member."""

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    reader: int | None
    since: str
    late: bool
    since_ms: int | None
    unread_ms: int | None


@dataclass(frozen=True, slots=True)
class GroupShown:
    """One group; one without committed offsets says so in `unserved`, and has little else."""

    group: str
    type: str
    state: str
    members: list[GroupMember]
    partitions: list[GroupPartition]
    assignor: str | None | Absent = ABSENT
    coordinator: int | None | Absent = ABSENT
    epoch: int | None | Absent = ABSENT
    target_epoch: int | None | Absent = ABSENT
    lag: int | None | Absent = ABSENT
    partitions_without_lag: int | Absent = ABSENT
    since: str | Absent = ABSENT
    watched: Watched | Absent = ABSENT
    unserved: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class LagLine:
    """The lag of a partition at each look."""

    topic: str
    partition: int
    lag: list[int | None]


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The last hour: the sum, and the partitions that lag most, of `kept` that are watched."""

    times_ms: list[int]
    total: list[int | None]
    partitions: list[LagLine]
    kept: int
    kept_most: int


@dataclass(frozen=True, slots=True)
class MovedPartition:
    """A partition, and where the group would go on; `committed` None: nowhere yet."""

    topic: str
    partition: int
    committed: int | None
    new: int


@dataclass(frozen=True, slots=True)
class MovedGroup:
    """Whether a group was moved; else this is the plan."""

    moved: bool
    rows: list[MovedPartition]


@dataclass(frozen=True, slots=True)
class CommittedPartition:
    """What a group has committed of a partition."""

    topic: str
    partition: int
    committed: int


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    """Whether a group was deleted; and what goes with it."""

    deleted: bool
    rows: list[CommittedPartition]
