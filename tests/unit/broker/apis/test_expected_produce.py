"""What was expected is answered as ever, and what comes otherwise is not taken for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.requests.context import Expected
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_codec import decode_response
from protocol.records import Record, build_batch
from tests.unit.broker.apis.produce_fixture import Broker
from tests.unit.broker.apis.test_repeated_produce import VERSIONS, Client, batch, request


class Looked(Client):
    """One connection that is looked at: each request lies where the one before it lay."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.expected: list[bool] = []
        self._last = b""

    def send(self, frame: bytes, size: int | None = None) -> Any:
        """As by the network; `size` is what comes before the frame, if it is not the frame's."""
        message = (len(frame) if size is None else size).to_bytes(4, "big", signed=True) + frame
        room, last = memoryview(bytearray(message)), self._last
        self._last = message
        answer = None
        if self.connection.expect is not None and len(last) == len(message):
            room[:] = last
            expected = self.connection.expect(room)
            if expected is not None:
                room[:] = message
                answer = self.answer(room[4:], expected)
        self.expected.append(answer is not None)
        if answer is None and size is None:
            return super().send(frame)
        return answer

    def answer(self, frame: memoryview, expected: Expected) -> Any:
        """As the network's channel does."""
        try:
            answer = expected.answer()
        except Exception as error:  # noqa: BLE001
            answer = self.broker.handler.say_failed(self.connection, frame, error)
        else:
            if answer is not None:
                self.connection.at_once_metrics.requests += 1
        finally:
            expected.settle()
        return answer


def made(folder: Path) -> tuple[Looked, Client]:
    """One that is looked at, and one that goes the long way."""
    clients: list[Any] = []
    for name, kind in (("looked", Looked), ("long", Client)):
        broker = Broker(folder / name, kind is Looked)
        broker.replicas.create("t", partitions=2)
        clients.append(kind(broker))
    return clients[0], clients[1]


@pytest.fixture
def looked(tmp_path: Path) -> Looked:
    return made(tmp_path)[0]


def partition_of(client: Client) -> Any:
    partition = client.broker.replicas.manager.partition("t", 0)
    assert partition is not None
    return partition


def data_of(client: Client) -> bytes:
    """What the log's file holds."""
    return b"".join(bytes(one.file.pread(one.size, 0)) for one in partition_of(client).log.segments)


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_expected_is_answered_as_the_long_way_does(
    tmp_path: Path, version: int, acks: int
) -> None:
    looked, long = made(tmp_path)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (looked, long), strict=True):
        for number, size in enumerate((5, 5, 5, 60, 60, 100, 100, 16_000, 16_000, 5, 5)):
            known.append(one.send(request(batch(one, size), version, acks, number=1000 + number)))
    assert answers[0] == answers[1]
    # An index of a log that is empty decides first when the next segment begins.
    expected = [2, 4, 6, 8, 10] if acks else []
    assert [number for number, found in enumerate(looked.expected) if found] == expected
    assert data_of(looked) == data_of(long)
    latest = partition_of(long).log.segments.active.max_timestamp
    for one in (looked, long):
        log = partition_of(one).log
        assert (log.log_end_offset, log.high_watermark) == (11, 11)
        assert log.segments.active.max_timestamp == latest


@pytest.mark.parametrize("value_bytes", [5, 100])
@pytest.mark.parametrize("version", [7, 8, 9, 13])
def test_every_changed_byte_is_answered_as_the_long_way_does(
    tmp_path: Path, version: int, value_bytes: int
) -> None:
    looked, long = made(tmp_path)
    whole = request(batch(looked, value_bytes), version)
    for _ in range(3):
        assert looked.send(whole) == long.send(whole)
    assert looked.expected == [False, False, True]
    kept = looked.connection.at_once, looked.connection.expect
    for position in range(len(whole)):
        for value in (0, 1, 2, 0x7F, 0x80, 0xFF):
            changed = whole[:position] + bytes([value]) + whole[position + 1 :]
            for frame in (changed, whole):
                looked.connection.at_once, looked.connection.expect = kept
                assert looked.send(frame) == long.send(frame), (frame.hex(), position)
    assert data_of(looked) == data_of(long)


def test_a_message_of_another_size_is_not_taken_for_it(looked: Looked) -> None:
    whole = request(batch(looked))
    for _ in range(3):
        looked.send(whole)
    assert looked.expected[-1]
    for size in (len(whole) - 1, len(whole) + 1, 0, -1):
        assert looked.send(whole, size) is None
        looked._last = len(whole).to_bytes(4, "big") + whole
    # Nor is one expected after what was no whole frame.
    looked._last = b"\0\0\0\1" + whole
    assert looked.send(whole, 1) is None
    assert partition_of(looked).log.log_end_offset == 3


def test_an_idempotent_producer_is_held_to_its_sequence(tmp_path: Path) -> None:
    looked, long = made(tmp_path)
    answers: list[Any] = [[], []]
    for known, one in zip(answers, (looked, long), strict=True):
        for sequence in (0, 1, 2, 3, 3, 4, 9, 5):
            records = one.broker.replicas.batch(
                b"v", producer_id=7, producer_epoch=0, base_sequence=sequence
            )
            known.append(one.send(request(bytes(records))))
    assert answers[0] == answers[1]
    assert looked.expected == [False, False, True, True, False, True, False, True]
    for one in (looked, long):
        producers = partition_of(one).log.producers
        assert [(known.last_sequence, known.last_offset) for known in producers] == [(5, 5)]


def test_nothing_is_expected_of_a_topic_that_is_deleted_or_led_elsewhere(looked: Looked) -> None:
    whole = request(batch(looked))
    for _ in range(3):
        looked.send(whole)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    assert looked.connection.expect(message) is not None
    partition_of(looked).mark_deleted()
    assert looked.connection.expect(message) is None


def test_readers_hear_of_it_behind_the_answer(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = request(batch(looked))
    looked.send(whole)
    looked.send(whole)
    told: list[Any] = []
    monkeypatch.setattr(looked.broker.replicas.manager, "partition_changed", told.append)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    expected = looked.connection.expect(message)
    message[4:] = whole
    answer = expected.answer()
    log = partition_of(looked).log
    assert answer
    assert (told, log.log_end_offset) == ([], 2)
    expected.settle()
    assert ([repr(one) for one in told], log.log_end_offset) == (["t-0"], 3)


def test_it_is_counted_as_ever(looked: Looked) -> None:
    for _ in range(4):
        looked.send(request(batch(looked)))
    assert sum(looked.expected) == 2
    (metrics,) = looked.broker.handler.metrics.values()
    counts = partition_of(looked).counts
    assert (metrics.requests, metrics.errors) == (4, 0)
    assert counts.total_produce_requests == counts.messages_in == 4
    assert counts.bytes_in == 4 * len(batch(looked))


@pytest.mark.parametrize("broken", ["_segment", "_pack"], ids=["before the write", "after it"])
def test_a_bug_is_answered_and_the_append_not_tried_again(looked: Looked, broken: str) -> None:
    whole = request(batch(looked))
    looked.send(whole)
    looked.send(whole)
    message = memoryview(bytearray(len(whole).to_bytes(4, "big") + whole))
    expected: Any = looked.connection.expect(message)
    message[4:] = whole
    setattr(expected if broken == "_pack" else expected._prepared, broken, None)
    answer = looked.answer(message[4:], expected)
    assert int(ErrorCode.UNKNOWN_SERVER_ERROR).to_bytes(2, "big", signed=True) in answer
    assert partition_of(looked).log.log_end_offset == (3 if broken == "_pack" else 2)
    assert (looked.connection.at_once, looked.connection.expect) == (None, None)
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
    broker = Broker(tmp_path, quick=True)
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
