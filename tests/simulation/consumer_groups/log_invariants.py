"""Invariants of the log of groups that the broker assigns: I26, I27 and I28.

At the end of a run the log that is committed tells all that ever was: `group_log` replays it batch
by batch. A batch is one decision, so what is between two batches was once the state of a group.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.group_records import read_group_record
from broker.groups.reconciliation.held import names
from broker.groups.reconciliation.position import STATIC_LEAVE_EPOCH
from protocol.messages.group_records import (
    ConsumerGroupTargetAssignmentMetadataKey,
    GroupMetadataValue,
)
from simulation.invariants.invariant import OfEachBroker
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import OFFSETS_TOPIC
from simulation.sim_trace import Violation
from tests.simulation.consumer_groups.consumer_invariants import consumer_groups
from tests.simulation.consumer_groups.group_log import (
    Entry,
    LoggedGroups,
    batches_of,
    compacted,
    groups_in,
    state_of,
)
from tests.simulation.group_members import assignment_of

COMPACTIONS = 6
"""How often a log is compacted, each time up to another record."""


class OfTheLog(OfEachBroker):
    """One that reads the logs of coordinators at the end."""

    def logs(self) -> Iterator[list[list[Entry]]]:
        """Those that there are, of the first broker that has them; batch by batch."""
        read = []
        for broker in self.brokers.values():
            for partition in broker.replicas.partitions():
                if partition.topic == OFFSETS_TOPIC and partition.index not in read:
                    read.append(partition.index)
                    yield list(batches_of(partition))


class LogIsState(OfTheLog):
    """I26: what a coordinator holds is what its log says up to there, compacted or not."""

    name = "I26"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._committed: dict[tuple[str, int], dict[str, Any]] = {}
        """What a group was once its last record was committed, by that."""

    def node_ran(self, broker: SimBroker) -> None:
        for group, shard in consumer_groups(broker):
            key = (group.group_id, group.record_offset)
            if key not in self._committed and group.record_offset < shard._context.high_watermark:
                self._committed[key] = state_of(group)

    def at_end(self, final: Any) -> None:
        for batches in self.logs():
            self._look_at_prefixes(batches)
            entries = [entry for batch in batches for entry in batch]
            whole = LoggedGroups().replay(entries).state()
            chance = random.Random(len(entries))
            for _ in range(COMPACTIONS):
                left = LoggedGroups().replay(compacted(entries, chance)).state()
                for what, there in whole.items():
                    if left[what] != there:
                        raise self.broken(
                            f"compacted, the log says of {what} {left[what]}: {there}"
                        )

    def _look_at_prefixes(self, batches: list[list[Entry]]) -> None:
        read = LoggedGroups()
        for batch in batches:
            read.replay(batch)
            for group_id in groups_in(batch):
                group = read.consumers.get(group_id)
                if group is None:
                    continue
                was = self._committed.get((group_id, group.record_offset))
                if was is not None and was != state_of(group):
                    raise self.broken(f"{group_id} was {was}, its log says {state_of(group)}")

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._committed.clear()


class EachBatchIsLegal(OfTheLog):
    """I27: between two batches a group's epochs rise, one member moves, nothing is held twice, and
    who is away keeps what it has. I28: a group has one type, and goes from one to the other with
    its members and all that they have, in one batch. Offsets stay while members are subscribed."""

    name = "I27"

    def at_end(self, final: Any) -> None:
        for batches in self.logs():
            read = LoggedGroups()
            for batch in batches:
                touched = [one for one in groups_in(batch) if one in self.promises.assigned_groups]
                before = {one: _Before(read, one) for one in touched}
                offsets = dict(read.offsets)
                read.replay(batch)
                for group_id in touched:
                    self._look_at(before[group_id], read, group_id, batch)
                self._look_at_offsets(offsets, read, final)

    def _look_at(
        self, before: _Before, read: LoggedGroups, group_id: str, batch: list[Entry]
    ) -> None:
        now, classic = read.consumers.get(group_id), read.classics.get(group_id)
        if now is not None and classic is not None:
            raise self.converted(f"{group_id} is of two types")
        if now is not None and before.is_consumer:
            self._look_at_epochs(before, now)
            self._look_at_members(before, now)
        elif now is not None and before.classic is not None and before.classic.members:
            self._look_at_upgrade(before.classic, now, batch)
        elif before.members and classic is not None:
            self._look_at_downgrade(before, classic)
        elif before.members and now is None:
            raise self.converted(f"{group_id} is gone, and had members")

    def converted(self, text: str) -> Violation:
        """I28 does not hold."""
        return Violation("I28", text)

    def _look_at_epochs(self, before: _Before, now: ConsumerGroup) -> None:
        epochs = (now.epoch, now.assignment_epoch)
        if epochs[0] < before.epochs[0] or epochs[1] < before.epochs[1] or epochs[1] > epochs[0]:
            raise self.broken(f"{now.group_id} goes from epochs {before.epochs} to {epochs}")
        moved = []
        for member_id, member in now.members.items():
            was = before.members.get(member_id)
            epoch = member.position.epoch
            if was is None or was.position.epoch == epoch:
                continue
            moved.append(member_id)
            if epoch < was.position.epoch and epoch != STATIC_LEAVE_EPOCH:
                raise self.broken(f"{member_id} falls from {was.position.epoch} to {epoch}")
        if len(moved) > 1:
            raise self.broken(f"{moved} of {now.group_id} move at once")

    def _look_at_members(self, before: _Before, now: ConsumerGroup) -> None:
        holders: dict[tuple[bytes, int], str] = {}
        for member_id, member in now.members.items():
            for held in (member.position.assigned, member.position.revoking):
                for topic_id, partitions in held.items():
                    for one in partitions:
                        other = holders.setdefault((topic_id, one), member_id)
                        if other != member_id:
                            raise self.broken(f"{one} is {other}'s and {member_id}'s")
            was = before.members.get(member_id)
            if was is not None and member.position.epoch == STATIC_LEAVE_EPOCH:
                self._look_at_away(was, member)
        for instance_id, member_id in before.static.items():
            successor = now.static_members.get(instance_id, member_id)
            if successor != member_id:
                self._look_at_successor(before.members[member_id], now, successor)

    def _look_at_away(self, was: ConsumerMember, member: ConsumerMember) -> None:
        if names(was.position.assigned) != names(member.position.assigned):
            raise self.broken(f"{member.member_id} is away, and has lost something")

    def _look_at_successor(self, was: ConsumerMember, now: ConsumerGroup, successor: str) -> None:
        """It has what the other had, as far as it shall have that."""
        has = now.members[successor].position.assigned
        target = now.target(successor)
        for topic_id, partitions in was.position.assigned.items():
            kept = set(partitions).intersection(target.get(topic_id, ()))
            if not kept.issubset(has.get(topic_id, {})):
                raise self.broken(f"{successor} does not take over from {was.member_id}")

    def _look_at_upgrade(
        self, classic: GroupMetadataValue, now: ConsumerGroup, batch: list[Entry]
    ) -> None:
        """Members may have come, gone and joined again since the generation that is in the log.
        They may all have gone, too: that generation need not be written (Kafka's
        `GroupMetadataManager.completeClassicGroupJoin` goes on without), and then epochs count
        anew."""
        generation = LoggedGroups().replay(batch[: _first_target(batch)]).consumers[now.group_id]
        if not any(one.uses_classic_protocol for one in generation.members.values()):
            return
        epoch = generation.epoch
        if epoch < classic.generation or now.epoch < epoch:
            raise self.converted(f"{now.group_id} falls from {classic.generation} to {epoch}")
        for one in classic.members if epoch == classic.generation else ():
            member = now.members.get(one.member_id)
            if member is None:
                continue
            has = sum(len(parts) for parts in member.position.assigned.values())
            has += sum(len(parts) for parts in member.position.revoking.values())
            if has < len(assignment_of(bytes(one.assignment))):
                raise self.converted(f"{one.member_id} loses what it has in a conversion")

    def _look_at_downgrade(self, before: _Before, classic: GroupMetadataValue) -> None:
        if classic.generation < before.epochs[0]:
            raise self.converted(f"generation {classic.generation} comes after {before.epochs}")
        for one in classic.members:
            member = before.members.get(one.member_id)
            has = member.position.has if member is not None else {}
            count = sum(len(partitions) for partitions in has.values())
            if member is not None and len(assignment_of(bytes(one.assignment))) != count:
                raise self.converted(f"{one.member_id} loses what it has in a conversion")
        lost = {
            member_id
            for member_id, member in before.members.items()
            if member.uses_classic_protocol and member.subscription.instance_id is None
        } - {one.member_id for one in classic.members}
        if len(lost) > 1:  # one may be who leaves
            raise self.converted(f"{sorted(lost)} are lost where their group is converted")

    def _look_at_offsets(self, before: dict[Any, int], read: LoggedGroups, final: Any) -> None:
        for group_id, topic, partition in before.keys() - read.offsets.keys():
            group = read.consumers.get(group_id)
            if topic in final.steady and group is not None and group.is_subscribed_to(topic):
                raise self.broken(f"{group_id} loses its offset of {topic}-{partition}")


def _first_target(batch: list[Entry]) -> int:
    """How many records of a conversion say who is in the group, and in which epoch."""
    for number, entry in enumerate(batch):
        read: Any = read_group_record(entry.key, entry.value)
        if isinstance(read[0], ConsumerGroupTargetAssignmentMetadataKey):
            return number
    return len(batch)


class _Before:
    """A group as it was before a batch."""

    def __init__(self, read: LoggedGroups, group_id: str) -> None:
        group = read.consumers.get(group_id)
        self.is_consumer = group is not None
        self.classic = read.classics.get(group_id)
        self.epochs = (0, 0) if group is None else (group.epoch, group.assignment_epoch)
        self.members = {} if group is None else dict(group.members)
        self.static = {} if group is None else dict(group.static_members)


LOG_INVARIANTS = (LogIsState, EachBatchIsLegal)
