"""The expiry of committed offsets, and of groups that have none left.

Owns the selection, as a scan over all groups of a shard. Never writes: `broker.groups.removal`
writes the tombstones batch by batch. Follows KIP-211 and Kafka's
`GroupCoordinatorShard.cleanupGroupMetadata`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from broker.coordinator.coordinator_log import Record
from broker.groups.group import Group
from broker.groups.offset_store import OffsetStore
from broker.groups.removal import A_SLICE, TombstoneScan


def expired(
    groups: Sequence[Group],
    offsets: OffsetStore,
    now_ms: int,
    retention_ms: int,
    count: Callable[[], None],
) -> TombstoneScan:
    """Yield the tombstones of expired offsets and of groups that are empty then. Yield None for
    each look at a group or at an offset that stays.

    `count` is called for each expired offset.
    """
    for group in groups:
        yield None
        for _ in group.read_subscriptions():
            yield from A_SLICE
        clock = group.expiry_clock()
        if clock is None:
            continue
        scan = offsets.expire(group.group_id, group.is_subscribed_to, clock, now_ms, retention_ms)
        nothing_left = yield from _counted(scan, count)
        if nothing_left and group.is_idle:
            yield from group.tombstones()


def _counted(
    scan: Generator[Record | None, None, bool], count: Callable[[], None]
) -> Generator[Record | None, None, bool]:
    """Yield and return the same as `scan`, and call `count` for each tombstone."""
    while True:
        try:
            tombstone = next(scan)
        except StopIteration as end:
            nothing_left: bool = end.value
            return nothing_left
        if tombstone is not None:
            count()
        yield tombstone
