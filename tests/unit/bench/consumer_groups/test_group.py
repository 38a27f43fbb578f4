"""When a group counts as Stable."""

from __future__ import annotations

from itertools import count
from typing import cast

from bench.consumer_groups.group import ConsumerProtocolGroup
from bench.consumer_groups.ledger import Ledger
from bench.consumer_groups.member import ConsumerProtocolMember


class Standing:
    """A member as its group sees it."""

    def __init__(self, member_id: str, epoch: int, waits: bool, has_said_all: bool) -> None:
        self.member_id, self.epoch = member_id, epoch
        self.waits, self.has_said_all = waits, has_said_all
        self.interval_ms, self.beat_at_s = 400, 0.0


def is_stable(*members: tuple[str, int, bool, bool]) -> bool:
    group = ConsumerProtocolGroup.__new__(ConsumerProtocolGroup)
    group.members = [cast(ConsumerProtocolMember, Standing(*one)) for one in members]
    group.ledger, group._partitions = Ledger(), 2
    for number, one in enumerate(("m", "n")):
        group.ledger.took(one, [(bytes(16), number)], 1.0)
    return group.is_stable()


def test_all_have_to_be_in_one_epoch_and_to_have_said_what_they_have() -> None:
    assert is_stable(("m", 2, True, True), ("n", 2, True, True))
    assert not is_stable(("m", 2, True, True), ("n", 3, True, True))
    assert not is_stable(("m", 2, True, True), ("n", 2, False, True))
    assert not is_stable(("m", 2, True, True), ("n", 2, True, False))
    assert not is_stable(("m", 2, True, True))


def test_heartbeats_are_spread_over_the_interval() -> None:
    group = ConsumerProtocolGroup.__new__(ConsumerProtocolGroup)
    group.members = [cast(ConsumerProtocolMember, Standing(name, 2, True, True)) for name in "mnop"]
    group._due, group._order = [], count()
    group.spread()
    times = [due for due, _, _ in sorted(group._due)]
    assert [round((one - times[0]) * 1e3) for one in times] == [0, 100, 200, 300]
    assert [member.beat_at_s for member in group.members] == times
