"""What is answered at once is answered as ever, and what is not plainly right is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from broker.apis import repeated_produce
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.apis.produce_fixture import Broker
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import topic_id_of

CALLS_MAX = 14  # one of them is the test's own
VERSIONS = range(7, 14)


class Client:
    """One connection: the request is tried at once, then the usual way, as in the network."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.connection = Connection()
        self.at_once: list[bool] = []

    def send(self, frame: bytes) -> bytes | None | str:
        """The answer; what closes the connection as words."""
        handler = self.broker.handler
        try:
            answer = handler.handle_at_once(self.connection, memoryview(bytearray(frame)), _now)
            self.at_once.append(answer is not None)
            if answer is not None:
                return answer or None
            reply = Reply()
            handler.handle(self.connection, memoryview(bytearray(frame)), reply)
        except ProtocolError as error:
            return str(error)
        return bytes(reply[0]) if reply[0] is not None else None


def _now() -> Reply:
    raise AssertionError("a Produce that is answered at once waits for nobody")


def _refuse(*_: object) -> bytes:
    raise AssertionError("nothing is refused")


def request(
    records: Any,
    version: int = 12,
    acks: int = 1,
    topic: str = "t",
    index: int = 0,
    number: int = 9,
    client_id: str = "me",
) -> bytes:
    data = [TopicProduceData(topic, topic_id_of(topic), [PartitionProduceData(index, records)])]
    return encode_request(ProduceRequest(None, acks, 1000, data), version, number, client_id)[4:]


def made(folder: Path, quick: bool) -> Client:
    broker = Broker(folder, quick)
    broker.replicas.create("t", partitions=2)
    broker.replicas.create("longer")
    return Client(broker)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return made(tmp_path, quick=True)


def batch(client: Client, size: int = 5) -> bytes:
    return bytes(client.broker.replicas.batch(b"v" * size))


@pytest.mark.parametrize("acks", [-1, 0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_second_request_of_a_kind_is_answered_at_once_as_the_long_way_does(
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
def test_every_changed_byte_is_answered_as_the_long_way_does(
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
    kept = short.connection.at_once
    for frame in frames:
        short.connection.at_once = kept  # what an odd request leaves is another's business
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
    partition = client.broker.replicas.manager.partition("t", 0)
    assert partition is not None
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
    partition = client.broker.replicas.manager.partition("t", 0)
    assert partition is not None
    assert (metrics.requests, metrics.errors) == (3, 0)
    assert partition.counts.total_produce_requests == partition.counts.messages_in == 3
    assert partition.counts.bytes_in == 3 * len(batch(client))


def test_a_bug_is_answered_and_the_append_not_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.send(request(batch(client)))
    partition = client.broker.replicas.manager.partition("t", 0)
    assert partition is not None

    def broken(_: Any) -> None:
        raise KeyError("missing")

    monkeypatch.setattr(client.broker.replicas.manager, "partition_changed", broken)
    answer = client.send(request(batch(client)))
    assert isinstance(answer, bytes)
    assert int(ErrorCode.UNKNOWN_SERVER_ERROR).to_bytes(2, "big", signed=True) in answer
    assert partition.log.log_end_offset == 2
    assert client.connection.at_once is None
    (metrics,) = client.broker.handler.metrics.values()
    assert (metrics.requests, metrics.errors) == (2, 1)


def test_what_is_remembered_has_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_produce, "HEADS_MAX", 3)
    known = repeated_produce.RepeatedProduce(client.broker.replicas.manager, _refuse)
    held: list[Any] = []
    for topic in ("a", "b", "cc", "ddd", "a", "b", "e", "f", "n" * 600):
        name = topic.encode()
        sent = memoryview(request(b"r" * 100, topic=topic))
        records = sent[-103:-3]
        done = known.remember(sent, 12, (1, 1, topic, bytes(16), 0, records), "L")
        assert (done is None) is (len(name) > 500)
        held += [done.at_once.__self__] if done is not None else []  # type: ignore[attr-defined]
        assert sum(len(one.heads) for one in dict.fromkeys(held)) <= 3
        assert done is None or any(name in head for head in held[-1].heads)


def test_it_takes_few_calls(client: Client) -> None:
    """What such a request costs is the calls around its append: a new one needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    client.send(request(batch(client)))
    frame = memoryview(bytearray(request(batch(client))))
    sys.setprofile(count)
    try:
        answer = client.broker.handler.handle_at_once(client.connection, frame, _now)
    finally:
        sys.setprofile(None)
    assert answer
    assert len(calls) <= CALLS_MAX, calls
