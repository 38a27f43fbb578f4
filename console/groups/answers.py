"""The answers of the endpoints about groups.

Times are ms since 1970. A `since` is a text with such times between braces.
"""

from __future__ import annotations

from dataclasses import dataclass

from client.core.leaders import Partition


@dataclass(frozen=True, slots=True)
class Watched:
    """The times of the lag's samples, and the error of the last one."""

    since_ms: int | None
    last_ms: int | None
    every_s: float
    error: str | None


@dataclass(frozen=True, slots=True)
class WithoutCommit:
    """The partitions of a group's topics without a committed offset, and the records in them."""

    partitions: int
    records: int


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A row of the list of groups.

    `members` is None if the login may not see them, or if the console does not know this type of
    group. `lag` is the sum of the known lags, None if no lag is known.
    """

    group: str
    state: str
    type: str
    protocol: str
    coordinator: int
    members: int | None
    lag: int | None
    partitions_without_lag: int
    uncommitted: WithoutCommit
    spark: list[int | None]
    since_ms: int | None
    since: str


@dataclass(frozen=True, slots=True)
class GroupList:
    """A page of the groups whose names match.

    `count` is the number of groups that match, `of` of all groups. `hides_some`: the login sees
    only the groups that it may describe.
    """

    groups: list[GroupRow]
    count: int
    of: int
    lagging: int
    states: dict[str, int]
    hides_some: bool
    watched: Watched


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member, the partitions assigned to it, and its target assignment (KIP-848)."""

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
    """A partition of a group, with its offset and lag.

    `committed` is the start offset of a share group. `readers` are the indexes of its members: at
    most one, except in a share group. `held`: the records of a partition without a commit.
    `unread_at`: the offset of the next record, None if there is no lag.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    held: int | None
    readers: list[int]
    since: str
    late: bool
    since_ms: int | None
    unread_at: int | None
    unread_ms: int | None


@dataclass(frozen=True, slots=True)
class DeliveredRange:
    """Records with the same state; `deliveries` None: no delivery has ended yet."""

    topic: str
    partition: int
    first: int
    last: int
    state: str
    deliveries: int | None


@dataclass(frozen=True, slots=True)
class ShareShown:
    """The part of a page that only a share group has.

    `ranges`: its records after the start offsets, `more_ranges` the number of ranges left out.
    `without_ranges`: why the ranges are not known. `delivery_limit`, `lock_ms` and
    `dead_letter_topic` are configs, None if not known or not set. `troubles`: what holds up the
    group.
    """

    ranges: list[DeliveredRange]
    more_ranges: int
    without_ranges: str | None
    delivery_limit: int | None
    lock_ms: int | None
    dead_letter_topic: str | None
    troubles: list[str]


@dataclass(frozen=True, slots=True)
class GroupShown:
    """The page of a group.

    `unserved`: why the page has no members of the group, or nothing but its row of the list.
    `keeps_up` is true if the samples show it, or if the group has read all records. `operations`:
    those that the login may do on the group, None if the broker does not report them. `share` is
    None if the group is no share group.
    """

    group: str
    type: str
    state: str
    members: list[GroupMember]
    partitions: list[GroupPartition]
    assignor: str | None
    coordinator: int | None
    epoch: int | None
    target_epoch: int | None
    lag: int | None
    partitions_without_lag: int
    uncommitted: WithoutCommit
    since: str
    keeps_up: bool
    watched: Watched
    operations: list[str] | None
    unserved: str | None
    share: ShareShown | None


@dataclass(frozen=True, slots=True)
class LagLine:
    """The lag of a partition at each sample."""

    topic: str
    partition: int
    lag: list[int | None]


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of a group over the last hour: the sum, and the partitions with the most lag.

    `kept` is the number of partitions that have samples, `kept_most` its limit.
    """

    times_ms: list[int]
    total: list[int | None]
    partitions: list[LagLine]
    kept: int
    kept_most: int


@dataclass(frozen=True, slots=True)
class MovedPartition:
    """A partition with its new offset; `committed` None: it has none yet."""

    topic: str
    partition: int
    committed: int | None
    new: int


@dataclass(frozen=True, slots=True)
class MovedGroup:
    """The new offsets of a group: committed if `moved`, otherwise a preview."""

    moved: bool
    rows: list[MovedPartition]


@dataclass(frozen=True, slots=True)
class CommittedPartition:
    """A committed offset of a group."""

    topic: str
    partition: int
    committed: int


@dataclass(frozen=True, slots=True)
class DeletedGroup:
    """The committed offsets of a group: deleted with it if `deleted`, otherwise a preview."""

    deleted: bool
    rows: list[CommittedPartition]
