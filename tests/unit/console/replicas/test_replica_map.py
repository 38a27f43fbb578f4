"""The map of replicas: what lacks, what changed, what is told."""

from __future__ import annotations

from console.replicas.replica_map import (
    NO_LEADER,
    SINGLY_MAX,
    TOPICS_MAX,
    Change,
    Placed,
    ReplicaMap,
    changed,
    changes,
    counts,
    incomplete_topics,
    is_under_min_isr,
    replica_map_of,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

WELL = Placed(1, 0, (1, 2, 3), (1, 2, 3), ())
LED_BY_3 = Placed(3, 1, (1, 2, 3), (2, 3), (1,))
HEADLESS = Placed(NO_LEADER, 2, (1, 2, 3), (1,), (1, 2, 3))
SHORT = Placed(1, 0, (1, 2, 3), (1, 2), (3,))


def snap(brokers: str = "123", **topics: list[Placed]) -> ReplicaMap:
    partitions = {
        (name, index): one for name, own in topics.items() for index, one in enumerate(own)
    }
    return ReplicaMap({int(one): ("h", 9092, None) for one in brokers}, partitions)


def test_what_metadata_tells() -> None:
    partition = MetadataResponsePartition(0, 0, 2, 7, [2, 1], [2, 1], [1])
    answer = MetadataResponse(
        brokers=[MetadataResponseBroker(2, "two", 9092, "r")],
        topics=[MetadataResponseTopic(0, "t", is_internal=True, partitions=[partition])],
    )
    found = replica_map_of(answer)
    assert found.brokers == {2: ("two", 9092, "r")}
    assert found.partitions == {("t", 0): Placed(2, 7, (2, 1), (1, 2), (1,))}
    assert found.internal == {"t"}
    assert found.broker_ids == [1, 2]


def test_what_lacks_is_counted() -> None:
    found = snap(a=[WELL, LED_BY_3, HEADLESS], b=[WELL, SHORT])
    assert incomplete_topics(found) == ["a", "b"]
    assert counts(found, {"a": 2, "b": 3}) == (2, 5, 3, 1, 2, 1)
    assert counts(found, None).under_min_isr is None


def test_a_topic_with_fewer_replicas_than_the_minimum_needs_them_all() -> None:
    alone = Placed(1, 0, (1,), (1,), ())
    assert not is_under_min_isr(alone, 2)
    assert is_under_min_isr(SHORT, 3)
    assert not is_under_min_isr(SHORT, 2)


def test_a_broker_that_dies_is_told_with_what_follows() -> None:
    before = snap("123", orders=[WELL, WELL])
    now = snap("23", orders=[LED_BY_3, WELL])
    assert changes(before, now) == [
        Change("bad", "broker 1 left the cluster"),
        Change("news", "orders-0 new leader 3; ISR 2,3"),
    ]
    assert changed(before, now) == {("orders", 0): LED_BY_3}


def test_a_leader_that_is_lost_and_an_isr_that_grows_back() -> None:
    assert changes(snap(t=[WELL]), snap(t=[HEADLESS])) == [Change("bad", "t-0 has no leader")]
    assert changes(snap(t=[WELL]), snap(t=[SHORT])) == [Change("bad", "t-0 ISR shrank to 1,2")]
    assert changes(snap(t=[SHORT]), snap(t=[WELL])) == [Change("good", "t-0 ISR grew to 1,2,3")]


def test_a_broker_that_comes_back_and_topics_that_come_and_go() -> None:
    told = changes(snap("12", old=[WELL]), snap("123", new=[WELL]))
    assert told == [
        Change("good", "broker 3 joined the cluster"),
        Change("news", "topic new created"),
        Change("news", "topic old deleted"),
    ]
    assert changed(snap(old=[WELL]), snap(new=[WELL])) == {
        ("new", 0): WELL,
        ("old", 0): None,
    }


def test_many_changes_are_told_by_topic() -> None:
    many = SINGLY_MAX + 1
    before = snap(a=[WELL] * many, b=[WELL] * many)
    now = snap(a=[LED_BY_3] * many, b=[SHORT] * many)
    assert changes(before, now) == [
        Change("news", f"{many} partitions of a: new leader 3"),
        Change("bad", f"{many} partitions of b: ISR shrank"),
    ]
    lost = snap(a=[HEADLESS] * many, b=[SHORT] * many)
    assert changes(now, lost) == [Change("bad", f"{many} partitions of a: has no leader")]


def test_a_change_of_many_topics_is_one_line() -> None:
    many = TOPICS_MAX + 1
    before = snap(**{f"t{index}": [WELL, WELL] for index in range(many)})
    now = snap(**{f"t{index}": [LED_BY_3, WELL] for index in range(many)})
    assert changes(before, now) == [
        Change("news", f"{many} partitions of {many} topics: new leader 3")
    ]
    assert changes(snap(), now) == [Change("news", f"{many} topics created")]


def test_nothing_changed() -> None:
    assert changes(snap(t=[SHORT]), snap(t=[SHORT])) == []
    assert changed(snap(t=[SHORT]), snap(t=[SHORT])) == {}
