"""`controller.decisions.reassignments`: begun, changed, cancelled, listed."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions.reassignments import alter_reassignments, list_reassignments
from controller.hosting_limit import HostingLimit
from controller.metadata.image import MetadataImage, PartitionRegistration
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records
from tests.unit.controller.decision_fixture import RULES, after, view

FOO = b"f" * 16
UNLIMITED = HostingLimit()
LEVEL = m.FeatureLevelRecord("metadata.version", 30)


def image(*more: Any, isr: list[int] | None = None) -> MetadataImage:
    brokers = [broker_record(i) for i in range(1, 6)]
    return image_of(LEVEL, *brokers, *topic_records("foo", FOO, [1, 2, 3], isr=isr), *more)


def move(
    at: MetadataImage,
    replicas: list[int] | None,
    fixed: bool = False,
    hosting: HostingLimit = UNLIMITED,
) -> tuple[ErrorCode, MetadataImage]:
    topic = ReassignableTopic("foo", [ReassignablePartition(0, replicas)])
    request = AlterPartitionReassignmentsRequest(0, not fixed, [topic])
    decision = in_one_go(alter_reassignments(view(at), request, RULES, hosting))
    (answer,) = decision.reply.responses[0].partitions
    return ErrorCode(answer.error_code), after(at, decision.records)


def partition(at: MetadataImage) -> PartitionRegistration:
    found = at.topics.partition("foo", 0)
    assert found is not None
    return found


def lists(at: MetadataImage) -> tuple[tuple[int, ...], ...]:
    one = partition(at)
    return one.replicas, one.removing_replicas, one.adding_replicas


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ([1, 2, 3], ((1, 2, 3), (), ())),
        ([3, 2, 1], ((3, 2, 1), (), ())),
        ([1, 2], ((1, 2), (), ())),
        ([3], ((3,), (), ())),
        ([1, 2, 3, 4], ((1, 2, 3, 4), (), (4,))),
        ([4, 2, 5], ((4, 2, 5, 1, 3), (1, 3), (4, 5))),
    ],
)
def test_begin(target: list[int], expected: Any) -> None:
    """What needs nobody new is reached at once."""
    code, moved = move(image(), target)
    assert code is ErrorCode.NONE
    assert lists(moved) == expected
    one = partition(moved)
    assert len(one.directories) == len(one.replicas)
    assert one.leader in one.isr
    assert set(one.isr) <= set(one.replicas)


def test_who_leaves_at_once_costs_a_leader_epoch() -> None:
    _, moved = move(image(), [1, 2])
    assert partition(moved).leader_epoch == 1
    _, kept = move(image(), [1, 2, 3, 4])
    assert partition(kept).leader_epoch == 0


def test_the_new_replicas_directory_is_the_brokers_only_one() -> None:
    _, moved = move(image(), [1, 2, 4])
    one = partition(moved)
    assert one.directory_of(4) == moved.brokers[4].log_dirs[0]


def test_cancel() -> None:
    _, moved = move(image(), [4, 5])
    code, back = move(moved, None)
    assert code is ErrorCode.NONE
    assert lists(back) == ((1, 2, 3), (), ())
    assert partition(back).isr == (1, 2, 3)
    assert move(back, None)[0] is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_a_cancel_after_a_second_target_leads_back_to_the_beginning() -> None:
    _, moved = move(image(), [4, 2, 3])
    _, again = move(moved, [5, 2, 3])
    assert lists(again) == ((5, 2, 3, 1, 4), (1, 4), (4, 5))
    replicas, removing, adding = lists(move(again, None)[1])
    assert (sorted(replicas), removing, adding) == ([1, 2, 3], (), ())


def test_who_is_wanted_again_is_not_removed() -> None:
    _, moved = move(image(), [4, 2, 3])
    _, again = move(moved, [1, 2, 3, 4])
    assert lists(again) == ((1, 2, 3, 4), (), (4,))


def test_a_cancel_never_elects_who_may_lack_records_unless_allowed() -> None:
    moving = m.PartitionChangeRecord(
        0, FOO, replicas=[4, 1], adding_replicas=[4], removing_replicas=[1], isr=[4], leader=4
    )
    code, same = move(image(moving), None)
    assert code is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert lists(same) == ((4, 1), (1,), (4,))
    allowed = m.ConfigRecord(2, "foo", "unclean.leader.election.enable", "true")
    code, back = move(image(moving, allowed), None)
    assert code is ErrorCode.NONE
    assert (partition(back).replicas, partition(back).leader) == ((1,), 1)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ([4, 5], ErrorCode.INVALID_REPLICATION_FACTOR),
        ([2, 3, 4, 5], ErrorCode.INVALID_REPLICATION_FACTOR),
        ([2, 3, 5], ErrorCode.NONE),
    ],
)
def test_the_replication_factor_may_have_to_stay(target: list[int], code: ErrorCode) -> None:
    """KIP-860; while a reassignment runs it is the factor that is headed for."""
    assert move(image(), target, fixed=True)[0] is code
    _, moved = move(image(), [4, 2, 3])
    assert move(moved, target, fixed=True)[0] is code


def test_a_fenced_broker_may_be_a_target() -> None:
    """It fetches when it is back."""
    fenced = m.BrokerRegistrationChangeRecord(4, 40, fenced=1)
    assert move(image(fenced), [1, 2, 4])[0] is ErrorCode.NONE


def test_list() -> None:
    _, moved = move(image(), [4, 2])
    for topics in (None, [ListPartitionReassignmentsTopics("foo", [0, 7])]):
        answer = in_one_go(
            list_reassignments(view(moved), ListPartitionReassignmentsRequest(0, topics))
        ).reply
        (one,) = answer.topics[0].partitions
        assert (one.replicas, one.adding_replicas) == ([4, 2, 1, 3], [4])
        assert one.removing_replicas == [1, 3]


def test_a_replica_that_this_node_cannot_hold_is_refused() -> None:
    at = image()
    full = HostingLimit(4, lambda: 0, 512)
    assert move(at, [1, 2, 4], hosting=full)[0] is ErrorCode.POLICY_VIOLATION
    assert move(at, [1, 2, 5], hosting=full)[0] is ErrorCode.NONE
    assert move(at, [2, 1, 3], hosting=HostingLimit(1, lambda: 0, 512))[0] is ErrorCode.NONE
