"""Five curves of a cost that must not grow with idle things: the same load beside more of them.

A curve prepares a new peer for one size and returns the load. The load is one request after the
other on few connections, or one in flight on each of fifty. It is the same for every size.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.groups import TOPIC as GROUP_TOPIC
from bench.groups import ClassicProtocolGroup, commit_frame, find_coordinator, heartbeat_frame
from bench.idle import idle_connections
from bench.peers import BenchPeer
from bench.scenario import Load, WindowResult
from bench.tail import TailWriter
from bench.wire import (
    FETCH_VERSION,
    PRODUCE_VERSION,
    Wire,
    create_topic,
    end_offset,
    fetch_frame,
    produce_frame,
    produce_one,
    replay,
)
from protocol.frames.message_codec import encode_request
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch

ACTIVE = "active"
ACTIVE_CONNECTIONS = 50
ACTIVE_PARTITIONS = 8
FETCHED_SEGMENTS = 10
VALUE_BYTES = 100
READ_BYTES = 64 * 1024
HOUR_MS = 3_600_000
SEGMENT_MS = 60_000
SESSION_WAIT_MS = 30_000
OPEN_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """The load on a peer of one size, and the function that closes the load's connections."""

    load: Load
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Curve:
    """A load beside increasing numbers of `what`; `request` names the load's requests."""

    name: str
    what: str
    request: str
    sizes: tuple[int, ...]
    prepare: Callable[[BenchPeer, int], Prepared]


def one_by_one(port: int, frames: Sequence[bytes]) -> Prepared:
    """Return a load of these frames in turn on one connection, one in flight."""
    wire = Wire(port)

    def load(seconds: float) -> WindowResult:
        answers = 0
        end = time.perf_counter() + seconds
        send, skip = wire.socket.sendall, wire.skip_response
        while time.perf_counter() < end:
            for frame in frames:
                send(frame)
                skip()
            answers += len(frames)
        return WindowResult(answers)

    return Prepared(load, wire.close)


def connections(peer: BenchPeer, size: int) -> Prepared:
    """Prepare 50 connections with Produce requests of one record, beside idle connections."""
    create_topic(peer.port, ACTIVE, ACTIVE_PARTITIONS)
    produce_one(peer.port, ACTIVE)
    active = min(size, ACTIVE_CONNECTIONS)
    frames = [produce_frame(ACTIVE, n % ACTIVE_PARTITIONS, VALUE_BYTES) for n in range(active)]
    stack = contextlib.ExitStack()
    stack.enter_context(idle_connections(peer.port, size - active))
    return Prepared(
        lambda seconds: WindowResult(replay(peer.port, frames, seconds)[0]), stack.close
    )


def partitions(peer: BenchPeer, size: int) -> Prepared:
    """Prepare Produce, Fetch and Metadata of eight partitions; the others get no requests."""
    create_topic(peer.port, ACTIVE, ACTIVE_PARTITIONS)
    produce_one(peer.port, ACTIVE)
    if size > ACTIVE_PARTITIONS:
        create_topic(peer.port, "idle", size - ACTIVE_PARTITIONS)
    metadata_request = MetadataRequest(
        [MetadataRequestTopic(name=ACTIVE)], allow_auto_topic_creation=False
    )
    frames = []
    for index in range(ACTIVE_PARTITIONS):
        frames += [
            produce_frame(ACTIVE, index, VALUE_BYTES),
            fetch_frame(ACTIVE, index, 0, 1024),
            encode_request(metadata_request, 8, 1, "bench"),
        ]
    return one_by_one(peer.port, frames)


def members(peer: BenchPeer, size: int) -> Prepared:
    """Prepare Heartbeat and OffsetCommit of one member; the group's other members are silent."""
    create_topic(peer.port, GROUP_TOPIC)
    find_coordinator(peer.port)
    group = ClassicProtocolGroup(peer.port, "growing", size)
    group.settle()
    group.quiet()
    member = group.members[0]
    prepared = one_by_one(peer.port, [heartbeat_frame(member), commit_frame(member)])

    def close() -> None:
        prepared.close()
        group.close()

    return Prepared(prepared.load, close)


class SessionReader(Wire):
    """A fetch session (KIP-227) of all partitions of a topic; only partition 0 gets records."""

    def __init__(self, port: int, topic: str, count: int) -> None:
        super().__init__(port)
        self._topic = topic
        self._offset = 1  # `produce_one` wrote the first record
        self._session_id, self._epoch = 0, 0
        everything = [
            FetchPartition(index, fetch_offset=int(index == 0), partition_max_bytes=READ_BYTES)
            for index in range(count)
        ]
        answer = self.ask(self._request(everything, 0), FETCH_VERSION)
        if answer.error_code or not answer.session_id:
            raise RuntimeError(f"there is no fetch session: error {answer.error_code}")
        self._session_id = answer.session_id

    def ask_on(self) -> None:
        """Send a Fetch from the next offset of partition 0; it waits at the broker."""
        self._epoch += 1
        news = FetchPartition(0, fetch_offset=self._offset, partition_max_bytes=READ_BYTES)
        request = self._request([news] if self._epoch > 1 else [], SESSION_WAIT_MS)
        self.socket.sendall(encode_request(request, FETCH_VERSION, 1, "bench"))

    def take(self) -> None:
        """Read the answer, with one record of partition 0."""
        self.skip_response()
        self._offset += 1

    def _request(self, partitions: list[FetchPartition], wait_ms: int) -> FetchRequest:
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=READ_BYTES,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=[FetchTopic(self._topic, partitions=partitions)] if partitions else [],
        )


def session(peer: BenchPeer, size: int) -> Prepared:
    """Prepare a consumer that waits for all partitions; a record for one answers its Fetch."""
    create_topic(peer.port, ACTIVE, size)
    produce_one(peer.port, ACTIVE)
    reader = SessionReader(peer.port, ACTIVE, size)
    writer = TailWriter(peer.port, ACTIVE, 1)

    def load(seconds: float) -> WindowResult:
        rounds = 0
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            reader.ask_on()
            writer.send()
            writer.acknowledged()
            reader.take()
            rounds += 1
        return WindowResult(2 * rounds)

    def close() -> None:
        reader.close()
        writer.close()

    return Prepared(load, close)


def record_frame(topic: str, timestamp_ms: int) -> bytes:
    """Return a Produce of one record with this timestamp."""
    batch = build_batch([Record(-1, timestamp_ms, None, b"v" * VALUE_BYTES)])
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    return encode_request(ProduceRequest(None, 1, 30_000, data), PRODUCE_VERSION, 1, "bench")


def segments(peer: BenchPeer, size: int) -> Prepared:
    """Prepare Produce to the last segment and Fetch from ten offsets among all segments."""
    configs = {"segment.ms": str(SEGMENT_MS), "retention.ms": "-1"}
    create_topic(peer.port, ACTIVE, 1, 1, configs)
    deadline = time.monotonic() + OPEN_TIMEOUT_S
    while end_offset(peer.port, ACTIVE, 0) != 0 and time.monotonic() < deadline:
        time.sleep(0.01)  # Metadata may name a leader that has not opened its log yet
    wire = Wire(peer.port)
    oldest = int(time.time() * 1000) - (size + 1) * HOUR_MS
    for number in range(size):
        wire.socket.sendall(record_frame(ACTIVE, oldest + number * HOUR_MS))
        wire.skip_response()
    wire.close()
    if end_offset(peer.port, ACTIVE, 0) != size:
        raise RuntimeError(f"{size} segments were not written")
    last = record_frame(ACTIVE, oldest + (size - 1) * HOUR_MS)
    frames = []
    for place in range(FETCHED_SEGMENTS):
        offset = place * size // FETCHED_SEGMENTS
        frames += [fetch_frame(ACTIVE, 0, offset, 1024), last]
    return one_by_one(peer.port, frames)


CURVES = [
    Curve("connections", "connections", "Produce, 50 active", (50, 500, 5_000), connections),
    Curve("partitions", "partitions", "Produce, Fetch, Metadata", (10, 100, 1_000), partitions),
    Curve("members", "group members", "Heartbeat, OffsetCommit", (1, 10, 100), members),
    Curve("session", "partitions of one session", "Fetch, Produce", (10, 100, 1_000), session),
    Curve("segments", "segments", "Fetch, Produce", (10, 100, 1_000), segments),
]
