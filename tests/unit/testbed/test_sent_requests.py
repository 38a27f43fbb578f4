"""What clients really sent is kept, whichever way it was answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.frames.message_codec import encode_request
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from testbed import sent_requests
from testbed.operation_error import OperationError
from testbed.operations.decoded_requests import decoded
from testbed.sent_requests import SentRequests
from tests.batches import build_batch
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running


def produce_frame(value: bytes, client_id: str = "app", correlation_id: int = 5) -> bytes:
    batch = build_batch([Record(-1, 17, b"k", value, (("h", b"1"),))])
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
    return encode_request(ProduceRequest(None, 1, 1000, data), 9, correlation_id, client_id)


class Way:
    """A client's way to a node, with `SentRequests` on it."""

    def __init__(self, folder: Path, **limits: int) -> None:
        self.running = Running(folder)
        assert self.running.create("t") == [0]
        broker = self.running.node.broker
        assert broker is not None
        self.sent = SentRequests(broker.requests, self.running.scheduler.wall_ms, **limits)
        self.connection = Connection()

    def send(self, frame: bytes) -> str:
        """How it was answered."""
        message = memoryview(bytearray(frame))[4:]
        answer = self.sent.handle_at_once(self.connection, message, Reply)
        if answer is not None:
            return "prepared"
        reply = Reply()
        self.sent.handle(self.connection, message, reply)
        self.running.scheduler.run_until(lambda: bool(reply) or reply.closed)
        return "handled"

    def shown(self, **how: Any) -> list[dict[str, Any]]:
        return decoded(self.sent.kept, lambda _: "t", **how)


def values(shown: list[dict[str, Any]]) -> list[bytes]:
    return [
        record["value"]
        for one in shown
        for topic in one["request"]["topic_data"]
        for partition in topic["partition_data"]
        for batch in partition["batches"]
        for record in batch["records"]
    ]


def test_requests_are_kept_once_prepared_ones_too(tmp_path: Path) -> None:
    way = Way(tmp_path)
    frames = [produce_frame(b"%d" % one, correlation_id=one) for one in range(3)]
    assert [way.send(frame) for frame in frames] == ["handled", "prepared", "prepared"]
    message = memoryview(bytearray(produce_frame(b"3", correlation_id=3)))
    expected = way.sent.expect(way.connection, message)
    assert expected is not None
    assert expected.answer()
    expected.settle()
    shown = way.shown(api="Produce")
    assert values(shown) == [b"0", b"1", b"2", b"3"]
    assert [one["prepared"] for one in shown] == [False, True, True, True]
    assert [one["number"] for one in shown] == [1, 2, 3, 4]
    first = shown[0]
    assert (first["api"], first["version"], first["client_id"]) == ("Produce", 9, "app")
    batch = first["request"]["topic_data"][0]["partition_data"][0]["batches"][0]
    assert batch["compression"] == "none"
    assert batch["records"][0]["headers"] == [["h", b"1"]]
    assert values(way.shown(after=3)) == [b"3"]
    way.running.stop()


def test_it_is_asked_by_api_topic_and_client(tmp_path: Path) -> None:
    way = Way(tmp_path)
    way.send(produce_frame(b"mine"))
    way.send(produce_frame(b"others", client_id="other"))
    way.send(encode_request(MetadataRequest([], False), 9, 1, "app"))
    for name in ("broker-2-fetcher-0", "node-2", "AddPartitionsToTxnSenderThread-2"):
        way.send(produce_frame(b"of a node", client_id=name))
    assert [one["api"] for one in way.shown()] == ["Produce", "Produce", "Metadata"]
    assert way.sent.is_of_a_node_or_test("c1") and not way.sent.is_of_a_node_or_test("c2")
    way.send(produce_frame(b"much like it", client_id="broker-2"))
    assert values(way.shown(after=3)) == [b"much like it"]
    assert values(way.shown(api="produce", client_id="app")) == [b"mine"]
    assert [one["api"] for one in way.shown(topic="t")] == ["Produce"] * 3
    assert way.shown(topic="u") == []
    with pytest.raises(OperationError, match="there is no API Prodcue; did you mean Produce"):
        way.shown(api="Prodcue")
    way.sent.forget()
    assert way.shown() == []
    way.running.stop()


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(tmp_path, count_max=2)
    for one in range(4):
        way.send(produce_frame(b"%d" % one))
    assert values(way.shown()) == [b"2", b"3"]
    assert way.sent.received_count == 4
    few = Way(tmp_path / "more", total_bytes_max=1000)
    few.send(produce_frame(bytes(300)))
    few.send(produce_frame(bytes(301)))
    few.send(produce_frame(bytes(302)))
    assert [len(value) for value in values(few.shown())] == [302]
    monkeypatch.setattr(sent_requests, "FRAME_BYTES_MAX", 100)
    few.send(produce_frame(bytes(400)))
    (one,) = few.shown(after=3)
    assert one["request"] is None
    assert one["error"].endswith("bytes: too long to be kept")
    way.running.stop()
    few.running.stop()


def test_who_comes_before_a_shut_door_has_the_connection_closed(tmp_path: Path) -> None:
    way = Way(tmp_path)
    assert [way.send(produce_frame(b"x")) for _ in range(2)] == ["handled", "prepared"]
    way.sent.shut = True
    message = memoryview(bytearray(produce_frame(b"y"))[4:])
    assert way.sent.handle_at_once(way.connection, message, Reply) is None
    client, node = Reply(), Reply()
    way.sent.handle(way.connection, message, client)
    assert client.closed and not client
    metadata = encode_request(MetadataRequest([], False), 9, 1, "node-2")
    way.sent.handle(way.connection, memoryview(bytearray(metadata))[4:], node)
    way.running.scheduler.run_until(lambda: bool(node))
    way.sent.shut = False
    assert way.send(produce_frame(b"z")) == "prepared"
    way.running.stop()


def test_what_is_no_request_is_told_as_such(tmp_path: Path) -> None:
    way = Way(tmp_path)
    frame = produce_frame(b"x")
    with pytest.raises(Exception, match="ends too soon|fewer|bytes"):
        way.send(frame[:40])
    (one,) = way.shown()
    assert (one["api"], one["request"]) == ("Produce", None)
    assert one["error"]
    way.running.stop()
