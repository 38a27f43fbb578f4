"""What is prepared is answered as ever, and what is not plainly right is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from broker.replication.partition import Partition
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.broker.apis.produce.produce_fixture import (
    Broker,
    Client,
    Looked,
    batch,
    data_of,
    partition_of,
    request,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import topic_id_of

CALLS_MAX = 19  # one of them is the test's own
VERSIONS = range(7, 14)


def made(folder: Path, prepares: bool, kind: type[Client] = Client) -> Any:
    broker = Broker(folder, prepares)
    broker.replicas.create("t", partitions=2)
    broker.replicas.create("longer")
    return kind(broker)


def pair(folder: Path) -> tuple[Looked, Client]:
    """One that is looked at, and one that goes the general way."""
    return made(folder / "looked", True, Looked), made(folder / "long", False)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return made(tmp_path, True)


@pytest.fixture
def looked(tmp_path: Path) -> Looked:
    return made(tmp_path, True, Looked)


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_second_request_of_a_kind_is_answered_at_once_as_the_general_way_does(
    tmp_path: Path, version: int, acks: int
) -> None:
    short, long = made(tmp_path / "short", True), made(tmp_path / "long", False)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (short, long), strict=True):
        for number, size in enumerate((5, 20, 60, 61, 100, 16_000, 16_400, 40_000, 5, 100)):
            for topic, index in (("t", 0), ("t", 1), ("longer", 0)):
                sent = request(batch(one, size), version, acks, topic, index, 1000 + number)
                known.append(one.send(sent))
    assert answers[0] == answers[1]
    assert not any(long.at_once)
    assert sum(short.at_once) >= 6
    for index in (0, 1):
        partition = short.broker.replicas.manager.partition("t", index)
        assert partition is not None and partition.log.log_end_offset == 10
        assert partition.log.high_watermark == 10


@pytest.mark.parametrize("value_bytes", [5, 100])
@pytest.mark.parametrize("version", [7, 8, 9, 13])
def test_every_changed_byte_is_answered_as_the_general_way_does(
    tmp_path: Path, version: int, value_bytes: int
) -> None:
    short, long = made(tmp_path / "short", True), made(tmp_path / "long", False)
    whole = request(batch(short, value_bytes), version)
    for one in (short, long):
        one.send(whole)
        one.send(whole)
    assert short.at_once == [False, True]
    values = (0, 1, 2, 0x7F, 0x80, 0xFF)
    frames = [whole[:end] for end in range(len(whole))] + [whole + b"\0", whole[:-1] + b"\1"]
    for position in range(len(whole)):
        frames += [whole[:position] + bytes([value]) + whole[position + 1 :] for value in values]
    for frame in frames:
        assert short.send(frame) == long.send(frame), frame.hex()
    assert sum(short.at_once[2:]) > 4  # another correlation id


def test_an_idempotent_producer_is_answered_at_once_and_held_to_its_sequence(
    tmp_path: Path,
) -> None:
    short, long = made(tmp_path / "short", True), made(tmp_path / "long", False)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (short, long), strict=True):
        for sequence in (0, 1, 2, 2, 3, 9, 4):
            records = one.broker.replicas.batch(
                b"v", producer_id=7, producer_epoch=0, base_sequence=sequence
            )
            known.append(one.send(request(bytes(records))))
    assert answers[0] == answers[1]
    assert short.at_once == [False, True, True, False, True, False, True]


def test_a_deleted_topic_is_not_known_any_more(client: Client) -> None:
    sent = request(batch(client))
    client.send(sent)
    client.send(sent)
    partition = partition_of(client)
    partition.mark_deleted()
    client.send(sent)
    assert client.at_once == [False, True, False]
    assert partition.log.log_end_offset == 2


def test_readers_hear_of_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(client.broker.replicas.manager, "partition_changed", told.append)
    for _ in range(2):
        client.send(request(batch(client)))
    assert client.at_once == [False, True]
    assert [repr(partition) for partition in told] == ["t-0"] * 2


def test_it_is_counted_as_ever(client: Client) -> None:
    for _ in range(3):
        client.send(request(batch(client)))
    (metrics,) = client.broker.handler.metrics.values()
    partition = partition_of(client)
    assert (metrics.requests, metrics.errors) == (3, 0)
    assert partition.counts.total_produce_requests == partition.counts.messages_in == 3
    assert partition.counts.bytes_in == 3 * len(batch(client))


def test_a_bug_is_answered_and_the_append_not_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.send(request(batch(client)))
    partition = partition_of(client)

    def broken(_: Any) -> None:
        raise KeyError("missing")

    monkeypatch.setattr(client.broker.replicas.manager, "partition_changed", broken)
    answer = client.send(request(batch(client)))
    assert isinstance(answer, bytes)
    assert int(ErrorCode.UNKNOWN_SERVER_ERROR).to_bytes(2, "big", signed=True) in answer
    assert partition.log.log_end_offset == 2
    (metrics,) = client.broker.handler.metrics.values()
    assert (metrics.requests, metrics.errors) == (2, 1)


def test_it_takes_few_calls(client: Client) -> None:
    """What such a request costs is the calls around its append: a new one needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    for _ in range(4):
        client.send(request(batch(client)))
    frame = memoryview(bytearray(request(batch(client))))
    sys.setprofile(count)
    try:
        answer = client.broker.handler.handle_at_once(client.connection, frame, Reply)
    finally:
        sys.setprofile(None)
    assert answer
    assert len(calls) <= CALLS_MAX, calls


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_expected_is_answered_as_the_general_way_does(
    tmp_path: Path, version: int, acks: int
) -> None:
    looked, long = pair(tmp_path)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (looked, long), strict=True):
        for number, size in enumerate((5, 5, 5, 60, 60, 100, 100, 16_000, 16_000, 5, 5)):
            known.append(one.send(request(batch(one, size), version, acks, number=1000 + number)))
    assert answers[0] == answers[1]
    expected = [1, 2, 4, 6, 8, 10] if acks else []
    assert [number for number, found in enumerate(looked.expected) if found] == expected
    assert data_of(looked) == data_of(long)
    latest = partition_of(long).log.segments.active.max_timestamp
    for one in (looked, long):
        log = partition_of(one).log
        assert (log.log_end_offset, log.high_watermark) == (11, 11)
        assert log.segments.active.max_timestamp == latest


@pytest.mark.parametrize("value_bytes", [5, 100])
@pytest.mark.parametrize("version", [7, 8, 9, 13])
def test_every_changed_byte_of_what_is_expected_is_answered_as_the_general_way_does(
    tmp_path: Path, version: int, value_bytes: int
) -> None:
    looked, long = pair(tmp_path)
    whole = request(batch(looked, value_bytes), version)
    for _ in range(3):
        assert looked.send(whole) == long.send(whole)
    assert looked.expected == [False, True, True]
    for position in range(len(whole)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            changed = whole[:position] + bytes([value]) + whole[position + 1 :]
            for frame in (changed, whole):
                assert looked.send(frame) == long.send(frame), (frame.hex(), position)
    assert data_of(looked) == data_of(long)


def test_a_message_of_another_size_is_not_taken_for_it(looked: Looked) -> None:
    whole = request(batch(looked))
    for _ in range(3):
        looked.send(whole)
    assert looked.expected[-1]
    for size in (len(whole) - 1, len(whole) + 1, 0, -1):
        assert looked.send(whole, size) is None
        looked.last = len(whole).to_bytes(4, "big") + whole
    # Nor is one expected after what was no whole frame.
    looked.last = b"\0\0\0\1" + whole
    assert looked.send(whole, 1) is None
    assert partition_of(looked).log.log_end_offset == 3


def test_a_producer_of_what_is_expected_is_held_to_its_sequence(tmp_path: Path) -> None:
    looked, long = pair(tmp_path)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (looked, long), strict=True):
        for sequence in (0, 1, 2, 3, 3, 4, 9, 5):
            records = one.broker.replicas.batch(
                b"v", producer_id=7, producer_epoch=0, base_sequence=sequence
            )
            known.append(one.send(request(bytes(records))))
    assert answers[0] == answers[1]
    assert looked.expected == [False, True, True, True, False, True, False, True]
    for one in (looked, long):
        producers = partition_of(one).log.producers
        assert [(known.last_sequence, known.last_offset) for known in producers] == [(5, 5)]


def test_nothing_is_expected_of_a_topic_that_is_deleted_or_led_elsewhere(looked: Looked) -> None:
    whole = request(batch(looked))
    for _ in range(3):
        looked.send(whole)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    assert looked.expect(message) is not None
    partition_of(looked).mark_deleted()
    assert looked.expect(message) is None


def test_readers_hear_of_what_was_expected_behind_the_answer(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = request(batch(looked))
    looked.send(whole)
    looked.send(whole)
    told: list[Any] = []
    monkeypatch.setattr(looked.broker.replicas.manager, "partition_changed", told.append)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    expected = looked.expect(message)
    assert expected is not None
    message[4:] = whole
    answer = expected.answer()
    log = partition_of(looked).log
    assert answer
    assert (told, log.log_end_offset) == ([], 3)
    expected.settle()
    assert ([repr(one) for one in told], log.log_end_offset) == (["t-0"], 3)


def test_what_is_expected_is_counted_as_ever(looked: Looked) -> None:
    for _ in range(4):
        looked.send(request(batch(looked)))
    assert sum(looked.expected) == 3
    (metrics,) = looked.broker.handler.metrics.values()
    counts = partition_of(looked).counts
    assert (metrics.requests, metrics.errors) == (4, 0)
    assert counts.total_produce_requests == counts.messages_in == 4
    assert counts.bytes_in == 4 * len(batch(looked))


@pytest.mark.parametrize("broken", ["_records", "_reply"], ids=["before the write", "after it"])
def test_a_bug_in_what_is_expected_is_answered_and_the_append_not_tried_again(
    looked: Looked, broken: str
) -> None:
    whole = request(batch(looked))
    looked.send(whole)
    looked.send(whole)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    expected: Any = looked.expect(message)
    message[4:] = whole
    setattr(expected._expected, broken, None)
    answer = expected.answer()
    assert int(ErrorCode.UNKNOWN_SERVER_ERROR).to_bytes(2, "big", signed=True) in answer
    assert partition_of(looked).log.log_end_offset == (3 if broken == "_reply" else 2)
    assert looked.expect(message) is None
    (metrics,) = looked.broker.handler.metrics.values()
    assert (metrics.requests, metrics.errors) == (3, 1)


def test_a_disk_that_fails_is_told_as_ever(looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = request(batch(looked))
    looked.send(whole)
    looked.send(whole)
    log = partition_of(looked).log

    def full(_records: Any) -> None:
        raise OSError(28, "No space left on device")

    class Full:
        size = log.segments.active.file.size
        append = staticmethod(full)

    monkeypatch.setattr(log.segments.active, "file", Full())
    answer = looked.send(whole)
    assert int(ErrorCode.KAFKA_STORAGE_ERROR).to_bytes(2, "big", signed=True) in answer
    assert (log.offline, log.log_end_offset) == (True, 2)


@pytest.mark.parametrize("policy", ["compact", "delete"])
@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", [7, 9, 13])
def test_no_way_leads_to_an_internal_topic_for_another_than_kafkas_admin_client(
    tmp_path: Path, version: int, acks: int, policy: str
) -> None:
    """The first request, its bytes again, and looked for; before and after one who may, on his
    connection and on another."""
    topic = "__consumer_offsets"
    broker = Broker(tmp_path, True)
    partition = broker.replicas.create(topic, cleanup_policy=policy)
    records = bytes(build_batch([Record(-1, broker.replicas.scheduler.wall_ms(), b"k", b"v")]))

    def of(client_id: str) -> bytes:
        return request(records, version, acks, topic, client_id=client_id)

    one, other = Looked(broker), Looked(broker)
    for client, client_id in ((one, "me"), (one, "__admin_client"), (other, "me"), (one, "me")):
        before = partition.log.log_end_offset
        for _ in range(4):
            answer = client.send(of(client_id))
            if client_id == "me" and acks == 0:
                assert "INVALID_TOPIC_EXCEPTION" in answer
            elif client_id == "me":
                response = decode_response(ApiKey.PRODUCE, memoryview(answer)[4:], version)[1]
                ((said,),) = [found.partition_responses for found in response.responses]
                assert (said.error_code, said.base_offset, said.log_start_offset) == (17, -1, -1)
        end = partition.log.log_end_offset
        assert end - before == (0 if client_id == "me" else 4)


ENDS = {
    "replicated": ErrorCode.NONE,
    "had it": ErrorCode.NONE,
    "late": ErrorCode.REQUEST_TIMED_OUT,
    "led elsewhere": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "few in sync": ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}


class Producer:
    """One connection to the leader of "r", which has one follower. Its first request is over."""

    def __init__(self, folder: Path, prepares: bool, version: int) -> None:
        self.prepares, self.version = prepares, version
        self.broker = Broker(folder, prepares)
        self.broker.replicas.create("r", replicas=[1, 2], isr=[1, 2], min_insync_replicas="2")
        for broker_id in (1, 2):
            self.broker.replicas.register(broker_id)
        self.connection = Connection()
        self.reply = Reply()
        self.broker.handler.handle(self.connection, self._frame(), self.reply)
        self.replicate(1)
        assert len(self.reply) == 1
        self.reply.clear()

    @property
    def partition(self) -> Partition:
        return self.broker.replicas.partition("r")

    def send(self) -> None:
        """A second one."""
        handler = self.broker.handler
        if self.prepares:
            answer = handler.handle_at_once(self.connection, self._frame(), lambda: self.reply)
            assert answer is not None
            if answer:
                self.reply(answer)
        else:
            handler.handle(self.connection, self._frame(), self.reply)

    def replicate(self, offset: int) -> None:
        """The follower has all before `offset`."""
        self.partition.follower_fetched(2, offset, 0, 1)
        self.partition.changed()

    def _frame(self) -> memoryview:
        data = [PartitionProduceData(0, self.broker.replicas.batch(b"x"))]
        named = {"topic_id": topic_id_of("r")} if self.version >= 13 else {"name": "r"}
        topics = [TopicProduceData(partition_data=data, **named)]  # type: ignore[arg-type]
        request = encode_request(ProduceRequest(None, -1, 1000, topics), self.version, 9, "me")
        return memoryview(bytearray(request))[4:]


def answer(producer: Producer, end: str) -> bytes:
    """What it is told of its second request."""
    partition, reply = producer.partition, producer.reply
    if end == "had it":  # a follower that fetched from behind the end
        partition.follower_fetched(2, 2, 0, 1)
    producer.send()
    assert bool(reply) is (end == "had it")
    if end == "replicated":
        producer.replicate(2)
    elif end == "late":
        producer.broker.replicas.scheduler.run_for(999)
        assert not reply
        producer.broker.replicas.scheduler.run_for(1)
    elif end == "led elsewhere":
        producer.broker.replicas.move_leader("r", 2)
    elif end == "few in sync":
        assert partition.followers is not None
        partition.log.high_watermark = 2
        partition.followers.maximal_isr = (1,)
        partition.changed()
    (told,) = reply
    return bytes(told)


@pytest.mark.parametrize("version", (7, 9, 10, 12, 13))
@pytest.mark.parametrize("end", ENDS)
def test_what_is_prepared_waits_and_answers_as_ever(tmp_path: Path, version: int, end: str) -> None:
    answers = []
    for prepares in (True, False):
        producer = Producer(tmp_path / str(prepares), prepares, version)
        answers.append(answer(producer, end))
        assert len(producer.broker.handled) == (1 if prepares else 2)
        assert producer.partition.log.log_end_offset == 2
    assert len(set(answers)) == 1
    _, response = decode_response(ApiKey.PRODUCE, memoryview(answers[0])[4:], version)
    (one,) = response.responses[0].partition_responses
    assert (one.error_code, one.base_offset, one.log_start_offset) == (ENDS[end], 1, 0)
    if end == "led elsewhere" and version >= 10:
        assert [node.node_id for node in response.node_endpoints] == [2]


@pytest.mark.parametrize("prepares", [True, False])
def test_readers_hear_of_it_before_it_waits(tmp_path: Path, prepares: bool) -> None:
    told: list[Any] = []

    class Listener:
        def partition_changed(self, partition: Any) -> None:
            told.append(partition)

    producer = Producer(tmp_path, prepares, 12)
    producer.partition.listeners[Listener()] = None
    producer.send()
    assert told == [producer.partition]
    assert not producer.reply


@pytest.mark.parametrize("change", ["few in sync", "led elsewhere", "deleted"])
def test_what_may_not_be_appended_is_not_tried_at_once(tmp_path: Path, change: str) -> None:
    producer = Producer(tmp_path, True, 12)
    partition = producer.partition
    if change == "few in sync":
        partition.isr = (1,)
    elif change == "led elsewhere":
        producer.broker.replicas.move_leader("r", 2)
    else:
        partition.mark_deleted()
    handler = producer.broker.handler
    assert handler.handle_at_once(producer.connection, producer._frame(), lambda: None) is None  # type: ignore[arg-type, return-value]
    assert partition.log.log_end_offset == 1
