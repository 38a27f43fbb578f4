"""Who leads which partition, and the way to a leader."""

from __future__ import annotations

from typing import Any

import pytest

from client.core.leaders import KnownLeaders, Led, NoLeader, by_leader, by_topic, leaders_of
from protocol.errors import ErrorCode
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.unit.client.core.driving import Driver, names
from tests.unit.client.scripted import topic_of

T = ("t", 0)


def told(leader: int, epoch: int, error: int = 0, topic_id: bytes = bytes(16)) -> MetadataResponse:
    partitions = [MetadataResponsePartition(0, 0, leader, epoch)]
    topic = MetadataResponseTopic(error, "t", topic_id, partitions=partitions)
    return MetadataResponse(topics=[topic])


def test_partitions_by_their_leaders_and_topics() -> None:
    every = [("a", 0), ("b", 0), ("a", 1), ("a", 2), ("c", 0)]
    leaders = leaders_of([topic_of("b", [2]), topic_of("a", [1, 7, -1])], (1, 2))
    assert by_leader(leaders, every) == {1: [("a", 0)], 2: [("b", 0)]}
    assert by_topic(every) == {"a": [0, 1, 2], "b": [0], "c": [0]}


def test_an_older_leader_is_not_believed_unless_it_is_another_topic() -> None:
    leaders = KnownLeaders()
    assert leaders.of(T) == Led()
    for answer, led in (
        (told(1, 4), Led(4, 1)),
        (told(2, 3), Led(4, 1)),
        (told(-1, 4), Led(4, -1)),
        (told(2, 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), Led()),
        (told(2, 3), Led(4, -1)),
        (told(3, 0, topic_id=b"another" + bytes(9)), Led(0, 3)),
    ):
        leaders.learn(answer)
        assert leaders.of(T) == led
    leaders.forget("t")
    assert leaders.of(T) == Led()


def asked(driver: Driver, leaders: KnownLeaders) -> Any:
    return driver.run(leaders.at_leader(driver.attempts(), T, lambda _: ListGroupsRequest(), 4))


def test_a_leader_that_moves_is_found_anew() -> None:
    moved = ListGroupsResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    driver = Driver(told(1, 1), moved, told(2, 2), ListGroupsResponse(), ListGroupsResponse())
    leaders = KnownLeaders()
    assert asked(driver, leaders).error_code == 0
    assert asked(driver, leaders).error_code == 0
    look, ask = ("MetadataRequest", None), "ListGroupsRequest"
    assert names(driver.asked) == [look, (ask, 1), look, (ask, 2), (ask, 2)]


def test_a_leader_is_waited_for() -> None:
    driver = Driver(*[told(-1, 1)] * 99)
    with pytest.raises(NoLeader, match="nobody leads t-0"):
        asked(driver, KnownLeaders())
    assert driver.now_s >= 1


def test_partitions_are_counted_once_all_of_them_are_led() -> None:
    driver, leaders = Driver(told(-1, 1), told(1, 2)), KnownLeaders()
    assert driver.run(leaders.partitions(driver.attempts(), "t")) == 1
    assert driver.run(leaders.partitions(driver.attempts(), "t")) == 1, "what is known is not asked"
    driver = Driver(*[told(1, 1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)] * 99)
    assert driver.run(KnownLeaders().partitions(driver.attempts(), "t")) == 0
