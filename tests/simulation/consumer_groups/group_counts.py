"""How much groups that the broker assigns did in a run: a run that tests nothing is to be seen.

Counts in the committed log of the coordinators, batch by batch, so that it is what was decided and
kept, not what was asked for. Of a run that read its logs twice the last reading counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.reconciliation.member_state import STABLE
from broker.groups.reconciliation.position import JOIN_EPOCH
from protocol.messages.group_records import GroupMetadataValue
from simulation.sim_trace import Grouped
from tests.simulation.consumer_groups.group_log import Entry, LoggedGroups, groups_in
from tests.simulation.consumer_groups.log_invariants import OfTheLog

Members = Mapping[str, ConsumerMember]
NOBODY: Members = {}


class GroupCounts(OfTheLog):
    """See the module. Breaks never."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.grouped = Grouped()

    def at_end(self, final: Any) -> None:
        self.grouped = Grouped()
        for batches in self.logs():
            counted = counts_of(batches)
            self.grouped = Grouped(*map(sum, zip(self.grouped, counted, strict=True)))


def counts_of(batches: list[list[Entry]]) -> Grouped:
    """What became of all groups of one log."""
    read, counts = LoggedGroups(), _Counts()
    for batch in batches:
        touched = groups_in(batch)
        before = {one: _members(read, one) for one in touched}
        classics = {one: read.classics.get(one) for one in touched}
        read.replay(batch)
        for group_id in touched:
            now = _members(read, group_id)
            counts.converted(before[group_id], classics[group_id], read, group_id)
            counts.moved(group_id, before[group_id], now, _ids_of(classics[group_id]))
    return counts.grouped()


def _members(read: LoggedGroups, group_id: str) -> Members:
    group = read.consumers.get(group_id)
    return NOBODY if group is None else dict(group.members)


def _ids_of(classic: GroupMetadataValue | None) -> list[str]:
    return [] if classic is None else [one.member_id for one in classic.members]


class _Counts:
    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._owners: dict[tuple[str, bytes, int], tuple[str, str | None]] = {}
        """By group and partition: who had it last, and as which instance."""

    def grouped(self) -> Grouped:
        return Grouped(**self._counts)

    def converted(
        self, before: Members, was: GroupMetadataValue | None, read: LoggedGroups, group_id: str
    ) -> None:
        """Whether a batch made a group with members one of the other type."""
        if was is not None and was.members and group_id in read.consumers:
            self._counts["upgrades"] += 1
        elif before and group_id not in read.consumers and group_id in read.classics:
            self._counts["downgrades"] += 1

    def moved(self, group_id: str, before: Members, now: Members, classic: list[str]) -> None:
        """What a batch did with a group's members; those of `classic` came by conversion."""
        for member_id, member in now.items():
            was = before.get(member_id)
            if was is member:
                continue
            if was is not None:
                self._counts["reconciliations"] += _has_arrived(was, member)
            elif member_id not in classic:
                self._counts["joins"] += 1
            self._take(group_id, member)

    def _take(self, group_id: str, member: ConsumerMember) -> None:
        me = (member.member_id, member.subscription.instance_id)
        for topic_id, partitions in member.position.assigned.items():
            for partition in partitions:
                last = self._owners.get((group_id, topic_id, partition), me)
                same_instance = me[1] is not None and last[1] == me[1]
                self._counts["hand_overs"] += last[0] != me[0] and not same_instance
                self._owners[group_id, topic_id, partition] = me


def _has_arrived(was: ConsumerMember, now: ConsumerMember) -> bool:
    """Whether a member that had a place in the group is at its target, and was not there."""
    if now.position.state is not STABLE or now.position.epoch <= JOIN_EPOCH:
        return False
    return (was.position.epoch, was.position.state) != (now.position.epoch, STABLE)
