"""Coordinators of share groups, and of their states, that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from broker.groups.group_shard import GroupShard
from broker.groups.share import heartbeat
from broker.groups.share.share_group import ShareGroup
from broker.share.state.share_state import ShareState
from broker.share.state.share_state_shard import ShareStateShard
from ground.sliced_work import Steps
from protocol.messages.group_records import ShareGroupMetadataKey
from tests.simulation.mutants import Mutant


@contextmanager
def old_leaders_write() -> Iterator[None]:
    """A leader that was replaced is not fenced."""
    real = ShareStateShard._fenced

    def fenced(self: ShareStateShard, key: Any, _leader_epoch: int, state_epoch: Any = None) -> Any:
        return real(self, key, 1 << 30, state_epoch)

    with patch.object(ShareStateShard, "_fenced", fenced):
        yield


@contextmanager
def snapshots_are_not_whole() -> Iterator[None]:
    """A snapshot has what its write has, and not what there was before."""
    real = ShareState.next_snapshot

    def next_snapshot(self: ShareState, *arguments: Any, **options: Any) -> Any:
        whole = real(self, *arguments, **options)
        return whole._replace(batches=tuple(options.get("batches", ())))

    with patch.object(ShareState, "next_snapshot", next_snapshot):
        yield


@contextmanager
def too_much_is_pruned() -> Iterator[None]:
    """The share coordinator prunes all records before the newest snapshot of any state."""

    def redundant_before(self: ShareStateShard) -> int | None:
        return max((state.snapshot_offset for state in self.states.values()), default=None)

    with patch.object(ShareStateShard, "redundant_before", redundant_before):
        yield


@contextmanager
def the_start_falls() -> Iterator[None]:
    """The start offset of a state is that of the last write, whatever it was."""

    def after_write(_self: ShareState, start_offset: int, final_count: int) -> tuple[int, int]:
        return max(start_offset - 5, 0), final_count

    with patch.object(ShareState, "after_write", after_write):
        yield


@contextmanager
def epochs_of_groups_are_not_loaded() -> Iterator[None]:
    """A new coordinator counts the epochs of groups from the beginning."""
    real = ShareGroup.replay

    def replay(self: ShareGroup, key: Any, value: Any, offset: int) -> None:
        before = self.epoch
        real(self, key, value, offset)
        if isinstance(key, ShareGroupMetadataKey) and self.epoch > before + 1:
            self.epoch = before + 1

    with patch.object(ShareGroup, "replay", replay):
        yield


@contextmanager
def members_run_ahead() -> Iterator[None]:
    """A member is told the epoch after the group's."""
    real = heartbeat._Turn.place

    def place(self: Any) -> None:
        self._assignment_epoch += 1
        real(self)

    with patch.object(heartbeat._Turn, "place", place):
        yield


@contextmanager
def targets_leave_something_out() -> Iterator[None]:
    """The assignor gives the last partition of each topic to nobody."""
    real = heartbeat.assign

    def assign(subscriptions: Any, partitions: Any) -> Steps[Any]:
        fewer = {topic_id: indexes[:-1] for topic_id, indexes in partitions.items()}
        return (yield from real(subscriptions, fewer))

    with patch.object(heartbeat, "assign", assign):
        yield


@contextmanager
def share_groups_take_in_consumers() -> Iterator[None]:
    """A member of a consumer group may join any group."""
    with patch.object(GroupShard, "_is_of_other_kind", lambda self, group_id: False):
        yield


COORDINATOR_MUTANTS: dict[str, tuple[Mutant, Sequence[str]]] = {
    "old leaders write": (old_leaders_write, ("assertion",)),
    "snapshots are not whole": (snapshots_are_not_whole, ("I30", "I31")),
    "too much is pruned": (too_much_is_pruned, ("I30", "I31", "I33")),
    "the start falls": (the_start_falls, ("I33",)),
    "epochs of groups are not loaded": (epochs_of_groups_are_not_loaded, ("I32", "I33")),
    "members run ahead": (members_run_ahead, ("I32",)),
    "targets leave something out": (targets_leave_something_out, ("I13", "I32")),
    "share groups take in consumers": (share_groups_take_in_consumers, ("I33",)),
}
