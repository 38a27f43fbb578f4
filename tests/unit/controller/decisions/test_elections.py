"""`controller.decisions.elections`: who is elected when it is asked for, or by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions import elections
from controller.metadata.image import MetadataImage
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records
from tests.unit.controller.decision_fixture import RULES, after, view

FOO = b"f" * 16
PREFERRED, UNCLEAN = 0, 1
ALLOWED = m.ConfigRecord(2, "foo", "unclean.leader.election.enable", "true")


def image(*more: Any) -> MetadataImage:
    """Of foo 0 is led by its second replica, 1 by nobody (its last leader, 3, is fenced), 2 as it
    should be, 3 by its second replica since the first is not in sync."""
    return image_of(
        broker_record(1),
        broker_record(2),
        broker_record(3, fenced=True),
        *topic_records("foo", FOO, [1, 2], [3, 1], [2, 1], [1, 2]),
        m.PartitionChangeRecord(0, FOO, leader=2),
        m.PartitionChangeRecord(1, FOO, leader=-1, isr=[3]),
        m.PartitionChangeRecord(3, FOO, leader=2, isr=[2]),
        *more,
    )


def elect(at: MetadataImage, kind: int, partitions: list[int] | None) -> tuple[Any, Any]:
    named = None if partitions is None else [TopicPartitions("foo", partitions)]
    decision = in_one_go(elections.elect_leaders(view(at), ElectLeadersRequest(kind, named), RULES))
    (topic,) = decision.reply.replica_election_results
    codes = {one.partition_id: ErrorCode(one.error_code) for one in topic.partition_result}
    return codes, list(decision.records)


def test_preferred() -> None:
    codes, records = elect(image(), PREFERRED, [0, 1, 2, 3])
    assert codes == {
        0: ErrorCode.NONE,
        1: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        2: ErrorCode.ELECTION_NOT_NEEDED,
        3: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    }
    assert records == [m.PartitionChangeRecord(0, FOO, leader=1)]


def test_unclean_needs_no_config_where_it_is_asked_for() -> None:
    codes, records = elect(image(), UNCLEAN, [0, 1])
    assert codes == {0: ErrorCode.ELECTION_NOT_NEEDED, 1: ErrorCode.NONE}
    assert records == [m.PartitionChangeRecord(1, FOO, leader=1, isr=[1], leader_recovery_state=1)]


def test_everywhere_leaves_out_what_needs_none() -> None:
    codes, _ = elect(image(), PREFERRED, None)
    assert sorted(codes) == [0, 1, 3]


def test_by_the_clock_leadership_goes_back() -> None:
    decision = elections.balance_leaders(view(image()), RULES)
    assert list(decision.records) == [m.PartitionChangeRecord(0, FOO, leader=1)]
    assert decision.reply is False


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ((), []),
        ((ALLOWED,), [m.PartitionChangeRecord(1, FOO, leader=1, isr=[1], leader_recovery_state=1)]),
        ((ALLOWED, m.BrokerRegistrationChangeRecord(1, 10, fenced=1)), []),
    ],
)
def test_by_the_clock_somebody_leads_where_it_is_allowed(more: Any, expected: Any) -> None:
    assert list(elections.elect_unclean(view(image(*more)), RULES).records) == expected


def test_many_elections_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "MAX_ELECTIONS_PER_TURN", 2)
    at = image_of(
        broker_record(1),
        broker_record(2),
        *topic_records("foo", FOO, *[[1, 2]] * 5),
        *(m.PartitionChangeRecord(index, FOO, leader=2) for index in range(5)),
    )
    turns = []
    while True:
        decision = elections.balance_leaders(view(at), RULES)
        turns.append(len(decision.records))
        at = after(at, decision.records)
        if not decision.reply:
            break
    assert turns == [2, 2, 1]
