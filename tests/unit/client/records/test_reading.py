"""Batches come once and in order, whatever happens to leaders; who is asked what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from broker.config.start_error import StartError
from client.records import reading
from client.records.reading import Follow, Reader, ReadPosition
from client.refusals import Refused
from protocol.control_records import ControlRecordType, control_record_key
from protocol.errors import ErrorCode
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from protocol.record_batch import CorruptBatch
from protocol.records import iterate_records
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)

COMMITTED, EVERYTHING = 1, 0


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading.time, "sleep", lambda _: None)
    monkeypatch.setattr(reading, "wait_for_answers", lambda clients, _: clients)


def answer(*records: bytes, code: int = 0, end: int = 100, **fields: Any) -> FetchResponse:
    data = PartitionData(0, code, end, end, records=memoryview(b"".join(records)), **fields)
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


def reader_on(
    answers: Sequence[Any], start: int, stop: int | None, level: int = EVERYTHING
) -> tuple[Reader, ScriptedNode, ScriptedCluster]:
    node = ScriptedNode(answers)
    cluster = ScriptedCluster([topic_of("t")], {"ListOffsetsRequest": offsets_of}, {1: node})
    return Reader(cluster, {("t", 0): ReadPosition(start, stop)}, level), node, cluster


def values(reader: Reader) -> list[bytes | None]:
    return [
        record.value
        for batch in reader.batches(wait_ms=0)
        for record in iterate_records(batch.data, batch.pos)
        if batch.first <= record.offset < batch.stop
    ]


def fetched_at(node: ScriptedNode) -> list[int]:
    return [one.topics[0].partitions[0].fetch_offset for one in node.sent]


def test_from_the_midst_of_a_batch_to_that_of_another() -> None:
    first, second = packed([b"0", b"1", b"2"]), packed([b"3", b"4"], 3)
    reader, node, _ = reader_on([answer(first), answer(second)], 1, 4)
    assert values(reader) == [b"1", b"2", b"3"]
    assert fetched_at(node) == [1, 3]


def test_the_next_is_asked_for_before_the_last_is_looked_at() -> None:
    first, second = packed([b"0"]), packed([b"1"], 1)
    reader, node, _ = reader_on([answer(first), answer(second)], 0, 2)
    batches = reader.batches(wait_ms=0)
    next(batches)
    assert fetched_at(node) == [0, 1]


def test_a_batch_that_an_answer_cuts_off_is_asked_for_again() -> None:
    second = packed([b"1", b"2"], 1)
    reader, node, _ = reader_on([answer(packed([b"0"]), second[:70]), answer(second)], 0, 3)
    assert values(reader) == [b"0", b"1", b"2"]
    assert fetched_at(node) == [0, 1]


def test_a_leader_that_dies_and_one_that_moves() -> None:
    moved = answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answers = [answer(packed([b"0"])), ConnectionResetError(), moved, answer(packed([b"1"], 1))]
    reader, node, cluster = reader_on(answers, 0, 2)
    assert values(reader) == [b"0", b"1"]
    assert cluster.dropped == [1, 1]


def test_a_leader_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LEADERS_WITHIN_S", -1)
    reader, _, _ = reader_on([ConnectionResetError("gone")] * 3, 0, 2)
    with pytest.raises(StartError, match=r"broker 1 does not answer \(gone\)"):
        values(reader)


class Away(ScriptedCluster):
    """A cluster whose brokers do not answer the next so many times."""

    away = 0

    def led_topics(self, names: Sequence[str], partitions: Any = None) -> Any:
        if self.away:
            self.away -= 1
            raise StartError("no broker answers")
        return super().led_topics(names, partitions)


def following(
    answers: Sequence[Any], start: int = 0, **fields: Any
) -> tuple[Reader, Away, list[str]]:
    said: list[str] = []
    cluster = Away([topic_of("t")], {"ListOffsetsRequest": offsets_of}, {1: ScriptedNode(answers)})
    follow = Follow(said.append, **fields)
    return (
        Reader(cluster, {("t", 0): ReadPosition(start)}, EVERYTHING, follow=follow),
        cluster,
        said,
    )


def test_who_follows_waits_for_a_cluster_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LEADERS_WITHIN_S", -1)
    monkeypatch.setattr(reading, "SAID_AFTER_S", -1)
    answers = [answer(packed([b"0"])), ConnectionResetError("gone"), answer(packed([b"1"], 1))]
    reader, cluster, said = following(answers)
    batches = reader.batches(wait_ms=0)
    assert next(batches).header.base_offset == 0
    cluster.away = 50
    assert next(batches).header.base_offset == 1
    assert said == ["waiting for the cluster: gone"]


def test_who_does_not_follow_ends_when_no_broker_answers() -> None:
    node = ScriptedNode([answer(packed([b"0"])), ConnectionResetError("gone")])
    cluster = Away([topic_of("t")], {"ListOffsetsRequest": offsets_of}, {1: node})
    batches = Reader(cluster, {("t", 0): ReadPosition(0, 5)}, EVERYTHING).batches(wait_ms=0)
    next(batches)
    cluster.away = 1
    with pytest.raises(StartError, match="no broker answers"):
        next(batches)


def test_a_topic_that_is_made_again_is_read_from_its_start() -> None:
    moved = answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answers = [answer(packed([b"0"])), moved, answer(packed([b"new"]))]
    reader, cluster, said = following(answers)
    batches = reader.batches(wait_ms=0)
    assert next(batches).header.base_offset == 0
    cluster.known["t"].topic_id = bytes([7] * 16)
    assert next(batches).header.base_offset == 0
    assert said == ["topic t was deleted and made again: it is read from its start"]


def test_a_topic_that_is_made_again_ends_a_run_that_has_an_end() -> None:
    moved = answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    reader, _, cluster = reader_on([answer(packed([b"0"])), moved], 0, 9)
    batches = reader.batches(wait_ms=0)
    next(batches)
    cluster.known["t"].topic_id = bytes([7] * 16)
    with pytest.raises(Refused, match="topic t was deleted and made again"):
        next(batches)


@pytest.mark.parametrize("new_partitions", [True, False])
def test_partitions_that_come_later(new_partitions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "METADATA_EACH_S", -1)
    reader, cluster, _ = following([answer(packed([b"0"]))], new_partitions=new_partitions)
    batches = reader.batches(wait_ms=0)
    cluster.known["t"] = topic_of("t", [1, 1])
    next(batches)
    assert (("t", 1) in reader.positions) is new_partitions


def test_a_partition_that_was_cut_off_is_followed_from_its_end() -> None:
    gone = answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)
    reader, _, said = following([gone, answer(packed([b"x"], 10))], start=50)
    assert next(reader.batches(wait_ms=0)).header.base_offset == 10
    assert said == ["t-0 was cut off at offset 10: it goes on there"]


def test_what_was_deleted_is_passed_over_and_counted() -> None:
    gone = answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)
    reader, node, _ = reader_on([gone, answer(packed([b"x"] * 7, 3))], 0, 10)
    assert len(values(reader)) == 7  # the first offset that is left is 3
    assert reader.positions["t", 0].deleted == 3
    reader, _, _ = reader_on([gone], 50, 60)
    with pytest.raises(Refused, match="ends before offset 50"):
        values(reader)


def test_what_is_no_longer_there_up_to_the_stop_ends_it() -> None:
    reader, _, _ = reader_on([answer(packed([b"0"])), answer(end=1)], 0, 9)
    reader.positions["t", 0].stop = 1
    assert values(reader) == [b"0"]
    reader, _, _ = reader_on([answer(end=0)], 5, 9)
    assert values(reader) == []


def test_who_may_not_read() -> None:
    reader, _, _ = reader_on([answer(code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)], 0, 1)
    with pytest.raises(Refused, match="t-0: this takes Read on topic t"):
        values(reader)
    reader, _, _ = reader_on([FetchResponse(error_code=-1)], 0, 1)
    with pytest.raises(Refused, match="Fetch: UNKNOWN_SERVER_ERROR"):
        values(reader)


def test_a_damaged_batch() -> None:
    data = bytearray(packed([b"abc"]))
    data[-2] ^= 1
    reader, _, _ = reader_on([answer(bytes(data))], 0, 1)
    with pytest.raises(CorruptBatch, match="t-0: the batch at 0 is damaged"):
        values(reader)


def test_records_of_aborted_transactions_are_left_out() -> None:
    def of(producer: int, value: bytes, offset: int) -> bytes:
        return packed([value], offset, producer_id=producer, is_transactional=True)

    def marker(producer: int, offset: int, kind: ControlRecordType) -> bytes:
        record = (control_record_key(kind), b"\0\0\0\0\0\0")
        return packed(
            [record], offset, producer_id=producer, is_transactional=True, is_control=True
        )

    data = [
        of(1, b"aborted", 0),
        of(2, b"kept", 1),
        packed([b"plain"], 2, producer_id=1),
        marker(1, 3, ControlRecordType.ABORT),
        marker(2, 4, ControlRecordType.COMMIT),
        of(1, b"later", 5),
        of(1, b"again", 6),
    ]
    aborted = [AbortedTransaction(1, 6), AbortedTransaction(1, 0)]
    answers = [answer(*data, aborted_transactions=aborted)]
    reader, _, _ = reader_on(answers, 0, 7, COMMITTED)
    assert values(reader) == [b"kept", b"plain", b"later"]
    reader, _, _ = reader_on([answer(*data, aborted_transactions=None)], 0, 7)
    assert values(reader) == [b"aborted", b"kept", b"plain", b"later", b"again"]


def test_partitions_that_gave_nothing_come_first_next_time() -> None:
    def both(request: Any) -> FetchResponse:
        wanted = request.topics[0].partitions
        first = wanted[0].partition
        data = [
            PartitionData(one.partition, 0, 9, 9, records=memoryview(packed([b"x"])))
            for one in wanted
            if one.partition == first
        ]
        return FetchResponse(responses=[FetchableTopicResponse("t", partitions=data)])

    node = ScriptedNode([both, both])
    cluster = ScriptedCluster([topic_of("t", [1, 1])], {}, {1: node})
    positions = {("t", 0): ReadPosition(0, 1), ("t", 1): ReadPosition(0, 1)}
    found = [one.partition for one in Reader(cluster, positions, 0).batches(wait_ms=0)]
    assert found == [0, 1]


def test_a_batch_knows_whether_it_is_wanted_whole() -> None:
    reader, _, _ = reader_on([answer(packed([b"0", b"1"]), packed([b"2", b"3"], 2))], 0, 3)
    assert [one.is_whole for one in reader.batches(wait_ms=0)] == [True, False]


def test_who_stops_early_leaves_no_answer_to_the_next() -> None:
    reader, node, cluster = reader_on([answer(packed([b"0"])), answer(packed([b"1"], 1))], 0, 9)
    batches = reader.batches(wait_ms=0)
    next(batches)
    assert node.waiting == 1
    batches.close()
    assert cluster.dropped == [1]


def test_a_batch_unpacked_and_how_much_is_asked_for() -> None:
    body = packed([b"0"])[61:]
    reader, node, _ = reader_on([answer(packed([b"0"], codec=1)), answer(packed([b"0"]))], 0, 1)
    assert next(reader.batches(wait_ms=0)).unpacked() == body
    small = Reader(reader._cluster, {("t", 0): ReadPosition(0, 1)}, EVERYTHING, 1234)
    assert next(small.batches(wait_ms=0)).unpacked() == body
    sizes = [one.topics[0].partitions[0].partition_max_bytes for one in node.sent]
    assert sizes == [reading.PARTITION_BYTES_MAX, 1234]
