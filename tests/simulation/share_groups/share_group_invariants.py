"""I32 and I33: the members of share groups, and what the logs say of groups and of states.

I32: member epochs are at most the target's, which is at most the group's; none goes down; targets
have each partition that is initialized and subscribed to, and no other. I33: the state that a
coordinator had when its last record was committed is the state that its log gives up to that
record, and the log gives the same if it is compacted; a group has one type; a start offset never
falls.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from broker.coordinator.coordinator_log import LogRecord
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.group_records import OtherRecord, read_group_record
from broker.groups.group_shard import GroupShard
from broker.groups.share.share_group import ShareGroup
from broker.replication.partition import Partition
from broker.share.state.share_log import SHARE_TOPIC, SharePartitionKey
from broker.share.state.share_metrics import ShareMetrics
from broker.share.state.share_state import ShareState
from broker.share.state.share_state_shard import ShareStateShard
from controller.metadata.image import TopicsImage
from protocol.api_keys import ApiKey
from protocol.messages.group_records import (
    OffsetCommitKey,
    ShareGroupMetadataKey,
)
from simulation.invariants.invariant import Invariant, OfEachBroker
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import OFFSETS_TOPIC
from simulation.network.sim_network import Exchange
from tests.simulation.consumer_groups.group_log import Entry, batches_of, compacted
from tests.simulation.share_groups.share_member import JOIN_EPOCH

COMPACTIONS = 6
"""How often a log is compacted, each time up to another record."""


def share_groups(broker: SimBroker) -> Iterator[tuple[ShareGroup, GroupShard]]:
    """Those that a broker coordinates with their shards, but where something is half done."""
    assert broker.node is not None
    if broker.node.broker is None:
        return
    for shard in broker.node.broker.parts.groups._runtime.active_shards():
        assert isinstance(shard, GroupShard)
        if not shard._context.is_deciding:
            for group in shard.groups.values():
                if isinstance(group, ShareGroup):
                    yield group, shard


class ShareEpochsRise(Invariant):
    """I32: see the module."""

    name = "I32"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seen: dict[tuple[str, str], tuple[ShareGroup, int]] = {}
        self._told: dict[tuple[str, str], list[tuple[float, int]]] = {}
        """By group and member id: when which epochs were told."""
        self._replaced: dict[Exchange, None] = {}

    def node_ran(self, broker: SimBroker) -> None:
        for group, _ in share_groups(broker):
            now = (group, group.record_offset)
            if self._seen.get((broker.address, group.group_id)) != now:
                self._seen[broker.address, group.group_id] = now
                assert broker.node is not None
                self._look_at(group, broker.node.image.topics)

    def _look_at(self, group: ShareGroup, topics: TopicsImage) -> None:
        if group.assignment_epoch > group.epoch:
            raise self.broken(f"{group.group_id} is assigned ahead of its epoch {group.epoch}")
        for member in group.members.values():
            if not member.previous_epoch <= member.epoch <= group.assignment_epoch:
                raise self.broken(f"{member} is ahead of {group.group_id}'s target")
        current = metadata_hash(group.subscribed_topics(), topics)
        if (
            group.assignment_epoch < group.epoch
            or group.metadata_hash != current
            or group.is_assignment_pending  # initialized since
            or not group.members
        ):
            return
        targeted = {
            (topic_id, partition)
            for member_id in group.members
            for topic_id, partitions in group.target(member_id).items()
            for partition in partitions
        }
        names = group.subscribed_topics()
        wanted = {
            (topic_id, partition)
            for topic_id, topic in group.state_topics.initialized.items()
            if topic.name in names
            for partition in topic.partitions
        }
        if targeted != wanted:
            wrong = sorted((one[0].hex(), one[1]) for one in targeted ^ wanted)
            raise self.broken(f"{group.group_id}'s target of {group.epoch} has wrongly {wrong}")
        if len({member.topics for member in group.members.values()}) == 1 and wanted:
            for member_id in group.members:
                if not any(group.target(member_id).values()):
                    raise self.broken(f"{member_id} of {group.group_id} is left out")

    def answered(self, exchange: Exchange) -> None:
        view = self.promises.view
        if exchange.key is not ApiKey.SHARE_GROUP_HEARTBEAT or view is None:
            return
        if view.is_replaced(view.at(exchange.node), OFFSETS_TOPIC, 0):
            self._replaced[exchange] = None

    def received(self, exchange: Exchange) -> None:
        if exchange.key is not ApiKey.SHARE_GROUP_HEARTBEAT or exchange in self._replaced:
            return
        response = exchange.response
        if response.error_code or response.member_epoch <= JOIN_EPOCH:
            return
        told = self._told.setdefault((exchange.request.group_id, response.member_id), [])
        for when_ms, epoch in told:
            if when_ms < exchange.sent_ms and epoch > response.member_epoch:
                raise self.broken(
                    f"{response.member_id} was at epoch {epoch}, and is told "
                    f"{response.member_epoch}"
                )
        told.append((self.world.now_ms, response.member_epoch))

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._told.clear()


class ShareLogIsState(OfEachBroker):
    """I33: see the module."""

    name = "I33"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._committed: dict[tuple[str, int], dict[str, Any]] = {}
        """What a group was once its last record was committed, by that."""

    def node_ran(self, broker: SimBroker) -> None:
        for group, shard in share_groups(broker):
            key = (group.group_id, group.record_offset)
            if key not in self._committed and group.record_offset < shard._context.high_watermark:
                self._committed[key] = state_of(group)

    def at_end(self, final: Any) -> None:
        for partition in self._partitions(OFFSETS_TOPIC):
            batches = list(batches_of(partition))
            self._look_at_batches(batches)
            entries = [entry for batch in batches for entry in batch]
            whole = {name: state_of(one) for name, one in replayed(entries).items()}
            chance = random.Random(len(entries))
            for _ in range(COMPACTIONS):
                rest = replayed(compacted(entries, chance))
                for name, there in whole.items():
                    if name not in rest or state_of(rest[name]) != there:
                        raise self.broken(f"compacted, the log says of {name} not {there}")
        for partition in self._partitions(SHARE_TOPIC):
            self._look_at_states(partition)

    def _partitions(self, topic: str) -> Iterator[Partition]:
        """Those of a topic that there are, of the leaders."""
        for broker in self.brokers.values():
            for partition in broker.replicas.partitions():
                view = self.promises.view
                if partition.topic == topic and (
                    view is None or view.leader(topic, partition.index) is broker
                ):
                    yield partition

    def _look_at_batches(self, batches: list[list[Entry]]) -> None:
        groups: dict[str, ShareGroup] = {}
        for batch in batches:
            epochs = {one: (group.epoch, group.assignment_epoch) for one, group in groups.items()}
            members = {one: dict(group.members) for one, group in groups.items()}
            for entry in batch:
                self._look_at_type(entry, groups)
            replayed(batch, groups)
            for group_id, group in groups.items():
                was = self._committed.get((group_id, group.record_offset))
                if was is not None and was != state_of(group):
                    raise self.broken(f"{group_id} was {was}, its log says {state_of(group)}")
                before = epochs.get(group_id, (0, 0))
                if group.epoch < before[0] or group.assignment_epoch < before[1]:
                    raise self.broken(f"{group_id} falls from epochs {before}")
                for member_id, member in group.members.items():
                    known = members.get(group_id, {}).get(member_id)
                    if known is not None and member.epoch < known.epoch:
                        raise self.broken(f"{member_id} falls from {known.epoch}")

    def _look_at_type(self, entry: Entry, groups: dict[str, ShareGroup]) -> None:
        read: Any = read_group_record(entry.key, entry.value)
        if isinstance(read, OtherRecord) or read[1] is None:
            return
        key = read[0]
        group_id = getattr(key, "group_id", None) or getattr(key, "group", None)
        if group_id in groups and not _is_of_share_group(key):
            raise self.broken(f"{group_id} of share members has {type(key).__name__}")

    def _look_at_states(self, partition: Partition) -> None:
        """The log gives the states that the coordinator has, with what it has just appended, and no
        start offset falls in it."""
        batches = batches_of(partition, uncommitted=True)
        entries = [entry for batch in batches for entry in batch]
        shard = ShareStateShard(self.world, lambda *_: True, 0, ShareMetrics())
        starts: dict[SharePartitionKey, int] = {}
        for entry in entries:
            shard.replay(LogRecord(entry.offset, entry.key, entry.value))
            for key, state in shard.states.items():
                if state.start_offset < starts.setdefault(key, state.start_offset):
                    raise self.broken(f"the start of {key} falls to {state.start_offset}")
                starts[key] = state.start_offset
        for broker in self.brokers.values():
            if broker.node is None or broker.node.broker is None or not partition.is_leader:
                continue
            if broker.replicas.partition(SHARE_TOPIC, partition.index) is not partition:
                continue
            coordinator = broker.node.broker.parts.shares.coordinator
            for active in coordinator._runtime.active_shards():
                assert isinstance(active, ShareStateShard)
                for key, state in active.states.items():
                    logged = shard.states.get(key)
                    if logged is None or _told(logged) != _told(state):
                        raise self.broken(f"{key} is {_told(state)}, its log says otherwise")

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._committed.clear()


def _told(state: ShareState) -> tuple[Any, ...]:
    """Return a state as the share coordinator answers it to a leader."""
    return (
        *(state.state_epoch, state.highest_leader_epoch, state.start_offset, state.final_count),
        tuple(state.batches),
    )


def _is_of_share_group(key: Any) -> bool:
    return type(key).__name__.startswith("ShareGroup") or isinstance(key, OffsetCommitKey)


def replayed(
    entries: Iterable[Entry], groups: dict[str, ShareGroup] | None = None
) -> dict[str, ShareGroup]:
    """Replay records as a coordinator does that loads its log; return the share groups, or go on
    with `groups`."""
    groups = {} if groups is None else groups
    for entry in entries:
        read: Any = read_group_record(entry.key, entry.value)
        if isinstance(read, OtherRecord) or not type(read[0]).__name__.startswith("ShareGroup"):
            continue
        key, value = read
        if value is None and isinstance(key, ShareGroupMetadataKey):
            groups.pop(key.group_id, None)
        elif value is not None or key.group_id in groups:
            group = groups.setdefault(key.group_id, ShareGroup(key.group_id))
            group.replay(key, value, entry.offset)
    return groups


def state_of(group: ShareGroup) -> dict[str, Any]:
    """Return the parts of a group that its records give."""
    return {
        "epochs": (group.epoch, group.assignment_epoch, group.assigned_at_ms),
        "hash": group.metadata_hash,
        "members": dict(group.members),
        "targets": {name: target for name, target in group.targets.items() if target},
        "states": group.state_topics,
    }


SHARE_GROUP_INVARIANTS = (ShareEpochsRise, ShareLogIsState)
