"""The time of the record that a group reads next."""

from __future__ import annotations

from typing import Any

from client.groups.unread import next_record_times
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.records import RecordBatchBuilder
from tests.unit.client.scripted import ScriptedCluster, topic_of

TOPIC = topic_of("t", [1, 2])


def batch() -> memoryview:
    """Offsets 10 to 12, written at 1000, 1001, 1002."""
    builder = RecordBatchBuilder(base_offset=10)
    for index in range(3):
        builder.append(None, b"value", 1000 + index)
    return memoryview(bytes(builder.build()))


def answer(records: memoryview | None, error_code: int = 0) -> FetchResponse:
    data = PartitionData(0, error_code, records=records)
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


def asked(reply: Any, offset: int) -> tuple[dict[tuple[str, int], int], ScriptedCluster]:
    cluster = ScriptedCluster([TOPIC], {"FetchRequest": reply})
    return next_record_times(cluster, {"t": TOPIC}, {("t", 0): offset}), cluster


def test_the_record_at_the_offset_within_its_batch() -> None:
    found, cluster = asked(answer(batch()), 11)
    assert found == {("t", 0): 1001}
    (request,) = cluster.asked_for("FetchRequest")
    assert request.topics[0].partitions[0].fetch_offset == 11
    assert request.max_wait_ms == 0


def test_the_next_one_where_compaction_left_a_gap() -> None:
    assert asked(answer(batch()), 5)[0] == {("t", 0): 1000}


def test_no_time_where_nothing_is_there_or_it_may_not_be_read() -> None:
    assert asked(answer(batch()), 13)[0] == {}
    assert asked(answer(None), 11)[0] == {}
    assert asked(answer(batch(), error_code=29), 11)[0] == {}
    assert asked(answer(batch()[:70]), 11)[0] == {}


def test_each_leader_is_asked_for_its_own() -> None:
    cluster = ScriptedCluster([TOPIC], {"FetchRequest": answer(batch())})
    next_record_times(cluster, {"t": TOPIC}, {("t", 0): 10, ("t", 1): 10})
    assert [node for node, _ in cluster.asked] == [1, 2]
