"""What one node can hold, and what is refused."""

from __future__ import annotations

from controller.hosting_limit import HostingLimit, HostingRoom
from protocol.errors import ErrorCode
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

IMAGE = image_of(
    broker_record(1),
    broker_record(2),
    *topic_records("both", b"b" * 16, [1, 2]),
    *topic_records("other", b"o" * 16, [2]),
)


def room(most: int) -> HostingRoom:
    return HostingRoom(HostingLimit(1, lambda: most, 512, lambda count: 1_000 + count), IMAGE)


def test_replicas_here_are_counted_and_those_elsewhere_are_not() -> None:
    assert room(2).take([[1], [2], [2, 3]]) is None
    assert room(2).take([[1], [2, 1]]) is not None


def test_one_request_counts_all_that_it_was_granted() -> None:
    some = room(3)
    assert some.take([[1]]) is None
    assert some.take([[1], [1]]) is not None
    assert some.take([[1, 2]]) is None
    assert some.take([[2]]) is None
    assert some.take([[1]]) is not None


def test_a_node_that_holds_more_than_it_can_gets_no_more() -> None:
    assert room(0).take([[2]]) is None
    assert room(0).take([[1]]) is not None


def test_the_refusal_says_what_to_do() -> None:
    refusal = room(1).take([[1]] * 7)
    assert refusal is not None and refusal.code is ErrorCode.POLICY_VIOLATION
    assert refusal.message == (
        "Broker 1 has 1 partition(s) and may open 512 files (ulimit -n), which is enough for 1 "
        "partitions beside its connections: 7 more are refused. For all of them, raise ulimit -n "
        "to 1008 at least."
    )


def test_without_a_limit_all_is_granted() -> None:
    assert HostingRoom(HostingLimit(), IMAGE).take([[1]] * 10_000) is None
