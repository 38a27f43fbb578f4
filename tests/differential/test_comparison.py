"""What is the same and what differs between two answers: ids, times, order, records."""

from __future__ import annotations

import time

from protocol.messages import share_acknowledge, share_fetch
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from tests.differential.comparison import Comparable, Unlabelled, differences
from tests.differential.record_sets import build_record_set

UUIDS = [f"0000000{n}-0000-4000-8000-000000000000" for n in range(4)]


def init(*producer_ids: int) -> list[object]:
    side = Comparable("d1-", 9092)
    return [side.tree("INIT_PRODUCER_ID", InitProducerIdResponse(0, 0, n, 0)) for n in producer_ids]


def group(members: list[str]) -> DescribeGroupsResponse:
    listed = [DescribedGroupMember(f"wire-{one}", None, "wire") for one in members]
    return DescribeGroupsResponse(0, [DescribedGroup(0, None, "d1-g0", members=listed)])


def test_ids_are_told_by_their_order() -> None:
    assert init(7, 9, 7) == init(100, 50, 100)


def test_ids_that_were_equal_and_are_not_differ() -> None:
    assert init(7, 9, 7) != init(100, 50, 50)
    assert init(7, 9, 7) != init(100, 50, 60)
    assert init(7, 8) != init(7, 7)


def test_ids_that_only_one_broker_told_get_no_label() -> None:
    kafka, ottla = Comparable("d1-", 1), Comparable("d1-", 2)
    ottla.tree_alone("INIT_PRODUCER_ID", InitProducerIdResponse(0, 0, 5_000, 0))
    one, other = (
        side.tree("INIT_PRODUCER_ID", InitProducerIdResponse(0, 0, producer_id, 0))
        for side, producer_id in ((kafka, 7), (ottla, 100))
    )
    assert one == other


def test_no_producer_is_no_id() -> None:
    assert init(-1)[0]["producer_id"] == -1  # type: ignore[index]


def test_member_ids_are_known_again_in_lists_of_any_order() -> None:
    kafka, ottla = Comparable("d1-", 1), Comparable("d1-", 2)
    for side, first in ((kafka, UUIDS[0]), (ottla, UUIDS[3])):
        side.tree("DESCRIBE_GROUPS", group([first]))
    one = kafka.tree("DESCRIBE_GROUPS", group([UUIDS[0], UUIDS[1]]))
    other = ottla.tree("DESCRIBE_GROUPS", group([UUIDS[1], UUIDS[3]]))
    assert differences(one, other) == []
    assert differences(one, ottla.tree("DESCRIBE_GROUPS", group([UUIDS[1], UUIDS[2]]))) != []


def test_new_members_are_told_in_the_order_of_what_stands_before_their_ids() -> None:
    ids = [f"i0-{UUIDS[0]}", UUIDS[1]]
    answers = [Comparable("d1-", 9092).tree("", group(some)) for some in (ids, ids[::-1])]
    assert answers[0] == answers[1]


def test_an_item_that_stands_twice_keeps_its_new_id() -> None:
    once, twice = (
        Comparable("d1-", 9092).tree("", group([UUIDS[0]] * n))["groups"][0]["members"]
        for n in (1, 2)
    )
    assert twice == once * 2


def test_what_stands_before_an_id_is_compared() -> None:
    one = Comparable("d1-", 1).tree("DESCRIBE_GROUPS", group([UUIDS[0]]))
    other = Comparable("d1-", 1)
    found = group([UUIDS[0]])
    found.groups[0].members[0].member_id = f"other-{UUIDS[0]}"
    [difference] = differences(one, other.tree("DESCRIBE_GROUPS", found))
    assert difference.path == "groups[0].members[0].member_id"


def test_names_of_the_namespace_are_the_same_and_those_of_others_are_left_out() -> None:
    trees = []
    for namespace in ("d1-", "d22-"):
        topics = [MetadataResponseTopic(0, name) for name in (f"{namespace}t0", "d333-t0", "x")]
        answer = MetadataResponse(topics=topics)
        trees.append(Comparable(namespace, 1).tree("METADATA", answer))
    assert trees[0] == trees[1]
    assert [one["name"] for one in trees[0]["topics"]] == ["x", "~t0"]


def test_times_of_today_are_the_same_and_others_are_not() -> None:
    def fetched(timestamp: int) -> object:
        records = build_record_set([{"n": 1, "ts": timestamp}])
        topic = FetchableTopicResponse("d1-t0", partitions=[PartitionData(0, records=records)])
        return Comparable("d1-", 1).tree("FETCH", FetchResponse(responses=[topic]))

    now = int(time.time() * 1000)
    assert fetched(now) == fetched(now - 5_000)
    [*_, last] = differences(fetched(now), fetched(1_000))
    assert last.place == "responses[].partitions[].records[].records[].timestamp"


def test_a_list_that_is_shorter_is_one_difference() -> None:
    [one] = differences({"a": [1, 2], "b": 0}, {"a": [1], "b": 0})
    assert (one.path, one.kafka, one.ottla) == ("a", [1, 2], [1])


def test_a_value_of_another_type_differs() -> None:
    assert differences({"a": 0}, {"a": False}) != []
    assert differences({"a": None}, {"a": ""}) != []
    assert differences({"a": 1}, "the connection was closed") != []


def test_which_record_has_the_latest_time_is_the_clocks() -> None:
    def listed(timestamp: int, offset: int) -> object:
        part = ListOffsetsPartitionResponse(0, 0, timestamp=timestamp, offset=offset)
        response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse("d1-t0", [part])])
        return Comparable("d1-", 1).tree("LIST_OFFSETS", response)

    now_ms = int(time.time() * 1000)
    assert listed(now_ms, 1) == listed(now_ms, 2)
    assert listed(5, 1) != listed(5, 2)
    assert listed(-1, 1) != listed(-1, 2)


def test_a_label_does_not_change_the_order() -> None:
    """Where only the other broker has told an id before."""
    fresh, known = Comparable("~", 1), Comparable("~", 1)
    known.labels.give(Unlabelled("topic", b"t" * 16))
    topic = share_acknowledge.ShareAcknowledgeTopicResponse
    part = share_acknowledge.PartitionData
    answer = share_acknowledge.ShareAcknowledgeResponse(
        responses=[
            topic(bytes(range(16)), [part(0, 100)]),
            topic(b"t" * 16, [part(0, 3)]),
        ]
    )
    trees = [one.tree("SHARE_ACKNOWLEDGE", answer) for one in (fresh, known)]
    assert differences(*trees) == []


def test_partitions_that_a_share_fetch_says_nothing_about_are_left_out() -> None:
    silent, loud = share_fetch.PartitionData(0), share_fetch.PartitionData(1, error_code=3)
    topic = share_fetch.ShareFetchableTopicResponse(b"t" * 16, [silent, loud])
    (told,) = Comparable("~", 1).tree(
        "SHARE_FETCH", share_fetch.ShareFetchResponse(responses=[topic])
    )["responses"]
    assert [part["partition_index"] for part in told["partitions"]] == [1]
