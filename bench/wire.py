"""Requests on raw connections: topics, offsets, and the frames for the replayer."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.replayer import ReplayedConnection, replay_targets
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.retriable import RETRIABLE

CLIENT_ID = "bench"
PRODUCE_VERSION = 9
FETCH_VERSION = 11
TOPIC_WAIT_S = 60.0
_RECEIVE_BYTES = 1 << 20


class Wire:
    """A blocking connection to a broker; with `tls` the bytes are encrypted."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname="127.0.0.1")
        self._buffer = bytearray(_RECEIVE_BYTES)

    def close(self) -> None:
        self.socket.close()

    def ask(self, request: Any, version: int) -> Any:
        """Send one request and return its decoded response."""
        self.socket.sendall(encode_request(request, version, 1, CLIENT_ID))
        size = int.from_bytes(self._receive_exactly(4), "big")
        frame = memoryview(self._receive_exactly(size))
        return decode_response(ApiKey(request.API_KEY), frame, version)[1]

    def _receive_exactly(self, size: int) -> bytes:
        """Receive so many bytes. Raises ConnectionError if the broker closes before."""
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("the broker closed the connection")
            data += part
        return bytes(data)

    def skip_response(self) -> int:
        """Read one response, drop it, and return its size in bytes."""
        buffer = memoryview(self._buffer)
        got = self.socket.recv_into(buffer)
        if not got:
            raise ConnectionError("the broker closed the connection")
        while got < 4:
            got += self.socket.recv_into(buffer[got:])
        size = 4 + int.from_bytes(buffer[:4], "big")
        while got < size:
            more = self.socket.recv_into(buffer, min(len(buffer), size - got))
            if not more:
                raise ConnectionError("the broker closed the connection")
            got += more
        return size


def create_topic(
    port: int,
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Create a topic, and wait until all its partitions have leaders."""
    wire = Wire(port)
    settings = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    request = CreateTopicsRequest(
        [CreatableTopic(name, partitions, replicas, [], settings)], 60_000
    )
    (result,) = wire.ask(request, 5).topics
    if result.error_code:
        raise RuntimeError(f"cannot create {name}: {result.error_message}")
    metadata_request = MetadataRequest(
        [MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )
    deadline = time.monotonic() + TOPIC_WAIT_S
    while True:
        (topic,) = wire.ask(metadata_request, 8).topics
        led = [p for p in topic.partitions if p.leader_id >= 0 and not p.error_code]
        if len(led) == partitions:
            break
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} has {len(led)} leaders of {partitions}")
        time.sleep(0.01)
    wire.close()


def delete_topics(port: int) -> None:
    """Delete every topic that is not internal, and wait until metadata lists none."""
    wire = Wire(port)
    deadline = time.monotonic() + TOPIC_WAIT_S
    while True:
        answer = wire.ask(MetadataRequest(None, allow_auto_topic_creation=False), 8)
        names = [topic.name for topic in answer.topics if not topic.is_internal]
        if not names:
            break
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(names)} topics are not deleted after {TOPIC_WAIT_S:.0f} s")
        wire.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=60_000), 4)
        time.sleep(0.02)
    wire.close()


def leader_ports(port: int, topic: str) -> list[int]:
    """Return the port of each partition's leader, in the order of partitions."""
    wire = Wire(port)
    request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    response = wire.ask(request, 8)
    wire.close()
    ports = {broker.node_id: broker.port for broker in response.brokers}
    (topic_metadata,) = response.topics
    by_index = sorted(topic_metadata.partitions, key=lambda partition: partition.partition_index)
    return [ports[partition.leader_id] for partition in by_index]


def produce_frame(
    topic: str, partition: int, value_bytes: int, acks: int = 1, client_id: str = CLIENT_ID
) -> bytes:
    """Return a Produce of one record of `value_bytes`."""
    return batch_frame(topic, partition, batch_of(1, value_bytes), acks, client_id)


def batch_of(records: int, value_bytes: int) -> bytes:
    """Return one batch of `records` equal records."""
    record = Record(-1, int(time.time() * 1000), None, b"v" * value_bytes)
    return bytes(build_batch([record] * records))


def batch_frame(
    topic: str, partition: int, batch: bytes, acks: int = 1, client_id: str = CLIENT_ID
) -> bytes:
    """Return a Produce of one batch."""
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])]
    return encode_request(ProduceRequest(None, acks, 30_000, data), PRODUCE_VERSION, 1, client_id)


def produce_one(port: int, topic: str, partitions: int = 1) -> None:
    """Produce one record into each partition and check the answer, so that later loads are real.

    The record is below the high watermark afterwards, from which loads are counted. The request is
    retried if metadata names a leader that has not opened its log yet.
    """
    for partition, leader_port in enumerate(leader_ports(port, topic)[:partitions]):
        wire = Wire(leader_port)
        deadline = time.monotonic() + TOPIC_WAIT_S
        while error := _produce_error(wire, produce_frame(topic, partition, 100, acks=-1)):
            if error not in RETRIABLE or time.monotonic() > deadline:
                raise RuntimeError(f"produce to {topic}-{partition} is refused: {error.name}")
            time.sleep(0.01)
        wire.close()


def _produce_error(wire: Wire, request: bytes) -> ErrorCode:
    """Send a Produce request, and return its partition's error code."""
    wire.socket.sendall(request)
    size = int.from_bytes(wire._receive_exactly(4), "big")
    frame = memoryview(wire._receive_exactly(size))
    _, response = decode_response(ApiKey.PRODUCE, frame, PRODUCE_VERSION)
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


def fetch_frame(
    topic: str,
    partition: int,
    offset: int,
    max_bytes: int,
    wait_ms: int = 0,
    client_id: str = CLIENT_ID,
) -> bytes:
    """Return a Fetch without a session."""
    wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic, partitions=[wanted])],
    )
    return encode_request(request, FETCH_VERSION, 1, client_id)


def end_offset(port: int, topic: str, partition: int) -> int:
    """Return the high watermark of a partition."""
    wire = Wire(port)
    topic_request = ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=-1)])
    response = wire.ask(ListOffsetsRequest(-1, 0, [topic_request]), 5)
    wire.close()
    offset: int = response.topics[0].partitions[0].offset
    return offset


def wait_for_end(port: int, topic: str, partition: int, offset: int, timeout_s: float = 30) -> None:
    """Wait until the high watermark is `offset`, so that the log has exactly the sent records.

    Raises RuntimeError if it is greater, or at the time limit.
    """
    deadline = time.monotonic() + timeout_s
    while (end := end_offset(port, topic, partition)) != offset:
        if end > offset or time.monotonic() > deadline:
            raise RuntimeError(f"{topic}-{partition} ends at {end}, not at {offset}")
        time.sleep(0.002)


def replay(port: int, frames: list[bytes], duration_s: float) -> tuple[int, Sequence[float]]:
    """Send each frame again and again on its own connection, one in flight.

    Return the number of answers, and their round trips in seconds.
    """
    done = replay_targets([ReplayedConnection(port, [frame]) for frame in frames], duration_s)
    return done.answers, done.trips
