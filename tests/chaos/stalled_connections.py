"""Clients that begin and do not go on, and what a broker's process holds for them: a command.

    python -m tests.chaos.stalled_connections       # 200 senders, 300 readers of each kind
    python -m tests.chaos.stalled_connections --senders 20 --readers 30 --seconds 5

senders   each sends a frame of 100 MB, a few KB at a time, and never ends it
offsets   each asks for what a group has committed, and stops reading: 2 MB
records   each fetches up to 50 MB of a log, and stops reading

An innocent client produces one record after the other meanwhile, and fetches it. Told are the
memory of the process before, at most and at the end, the innocent one's round trips, and how many
of the hostile connections are still there.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

from ottla.testing.broker_process import BrokerProcess
from protocol.frames.message_codec import encode_request
from protocol.message import Message
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient
from tests.tools.waiting import wait_until

MB = 1_000_000
NOW_MS = 1_700_000_000_000
FRAME_BYTES = 100 * MB
PIECE_BYTES = 16 * 1024
"""What a slow sender sends at once."""
READ_BYTES = 4096
"""What a reader takes of its answer."""
RECEIVE_BUFFER_BYTES = 16 * 1024
LOG_MB = 64
METADATA_BYTES = 4096
"""Of one offset: offset.metadata.max.bytes."""
OFFSETS = 500
TRIPS = 20
"""Of the innocent client at least, however busy the machine is."""


@dataclass
class LoadResult:
    """What a load has shown."""

    before: int
    most: int = 0
    after: int = 0
    alive: int = 0
    trips_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        trips = sorted(self.trips_ms)
        return (
            f"{self.before // MB} MB before, {self.most // MB} at most, {self.after // MB} at the "
            f"end; {self.alive} connections left; innocent round trips: {len(trips)}, "
            f"p50 {trips[len(trips) // 2]:.1f} ms, p99 {trips[len(trips) * 99 // 100]:.1f} ms, "
            f"longest {trips[-1]:.1f} ms"
        )


class Innocent:
    """Produces a record and fetches it, again and again."""

    def __init__(self, port: int) -> None:
        self._client = WireClient(port, "innocent", timeout_s=60)
        create(self._client, "innocent")
        self._batch = memoryview(build_batch([Record(-1, NOW_MS, b"k", b"v" * 100)]))
        self._offset = 0

    def close(self) -> None:
        """It has seen enough."""
        self._client.close()

    def trip_ms(self) -> float:
        """How long both take."""
        began = time.perf_counter()
        produced = produce(self._client, "innocent", self._batch)
        assert produced == self._offset
        fetched = self._client.call(fetch("innocent", self._offset, 1000), 11)
        assert len(fetched.responses[0].partitions[0].records) > 100
        self._offset += 1
        return (time.perf_counter() - began) * 1000


def create(client: WireClient, topic: str) -> None:
    """A topic of one partition."""
    client.call(CreateTopicsRequest([CreatableTopic(topic, 1, 1)], 10_000), 5)


def produce(client: WireClient, topic: str, batch: memoryview) -> int:
    """Its offset."""
    data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
    answer = client.call(ProduceRequest(None, 1, 60_000, data), 7)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0
    return int(partition.base_offset)


def fetch(topic: str, offset: int, max_bytes: int) -> FetchRequest:
    """Of partition 0, outside of a session."""
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=max_bytes)
    topics = [FetchTopic(topic, partitions=[partition])]
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=max_bytes, topics=topics)


def fill(client: WireClient, topic: str) -> None:
    """LOG_MB of records."""
    create(client, topic)
    batch = memoryview(build_batch([Record(-1, NOW_MS, b"k", bytes(MB - 1000))]))
    for _ in range(LOG_MB):
        produce(client, topic, batch)


def commit(client: WireClient) -> None:
    """An offset of a partition with as much metadata as there may be."""
    create(client, "committed")
    partition = OffsetCommitRequestPartition(0, 7, committed_metadata="m" * METADATA_BYTES)
    topics = [OffsetCommitRequestTopic("committed", partitions=[partition])]
    request = OffsetCommitRequest("group", topics=topics)

    def is_committed() -> bool:
        client.call(FindCoordinatorRequest("group"), 1)
        answer = client.call(request, 5)
        return not answer.topics[0].partitions[0].error_code

    wait_until(is_committed, "a coordinator")


def connect(port: int) -> socket.socket:
    """A connection that takes little at once, so that what waits for it waits in the broker."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
    connection.settimeout(90)
    connection.connect(("127.0.0.1", port))
    return connection


def stop_reading(port: int, count: int, request: Message, version: int) -> list[socket.socket]:
    """Some that ask, all at once, and take READ_BYTES of their answers."""
    frame = encode_request(request, version, 1, "stalled")
    connections = [connect(port) for _ in range(count)]
    for one in connections:
        one.sendall(frame)
    for one in connections:
        take(one, READ_BYTES)
    return connections


def take(connection: socket.socket, size: int) -> None:
    """So much of an answer, or what there is of it: where others hold too much, it is cut off."""
    with contextlib.suppress(ConnectionError):
        while size and (piece := connection.recv(size)):
            size -= len(piece)


class Sender:
    """One that sends a frame slowly."""

    def __init__(self, port: int) -> None:
        self.connection = connect(port)
        self.connection.sendall(struct.pack(">i", FRAME_BYTES))
        self.connection.setblocking(False)

    def goes_on(self) -> None:
        """A few KB more, where they are taken."""
        try:
            self.connection.send(bytes(PIECE_BYTES))
        except OSError:
            return


def is_alive(connection: socket.socket) -> bool:
    """Whether the broker has left it open. Takes what has come."""
    connection.setblocking(False)
    try:
        while connection.recv(MB):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def load(
    properties: dict[str, str],
    begin: Callable[[BrokerProcess], Callable[[], list[socket.socket]]],
    seconds: float,
) -> LoadResult:
    """A broker that is loaded for so long. `begin` makes ready, and gives what makes the
    connections in a thread of its own, and goes on with them."""
    with BrokerProcess({"socket.send.buffer.bytes": "102400", **properties}) as broker:
        work = begin(broker)
        innocent, process = Innocent(broker.port), psutil.Process(broker.pid)
        found = LoadResult(process.memory_info().rss)
        connections: list[socket.socket] = []
        thread = threading.Thread(target=lambda: connections.extend(work()))
        thread.start()
        end = 0.0
        while thread.is_alive() or time.monotonic() < end or len(found.trips_ms) < TRIPS:
            if thread.is_alive():
                end = time.monotonic() + seconds
            found.trips_ms.append(innocent.trip_ms())
            found.most = max(found.most, process.memory_info().rss)
            time.sleep(0.005)
        found.after = process.memory_info().rss
        found.alive = sum(map(is_alive, connections))
        for one in (*connections, innocent):
            one.close()
        return found


def senders(count: int, seconds: float, properties: dict[str, str]) -> LoadResult:
    """Half-received frames."""

    def begin(broker: BrokerProcess) -> Callable[[], list[socket.socket]]:
        def work() -> list[socket.socket]:
            all_of_them = [Sender(broker.port) for _ in range(count)]
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for one in all_of_them:
                    one.goes_on()
                time.sleep(0.02)
            return [one.connection for one in all_of_them]

        return work

    return load(properties, begin, 1)


def offset_readers(count: int, seconds: float, properties: dict[str, str]) -> LoadResult:
    """Answers in memory."""
    topics = [OffsetFetchRequestTopic("committed", [0] * OFFSETS)]
    request = OffsetFetchRequest(group_id="group", topics=topics)

    def begin(broker: BrokerProcess) -> Callable[[], list[socket.socket]]:
        with WireClient(broker.port, timeout_s=60) as client:
            commit(client)
        return lambda: stop_reading(broker.port, count, request, 5)

    return load(properties, begin, seconds)


def record_readers(count: int, seconds: float, properties: dict[str, str]) -> LoadResult:
    """Slices of a log."""

    def begin(broker: BrokerProcess) -> Callable[[], list[socket.socket]]:
        with WireClient(broker.port, timeout_s=60) as client:
            fill(client, "records")
        request = fetch("records", 0, 50 * MB)
        return lambda: stop_reading(broker.port, count, request, 11)

    return load(properties, begin, seconds)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--senders", type=int, default=200)
    parser.add_argument("--readers", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    properties = dict(one.split("=", 1) for one in given.set)
    print("senders:", senders(given.senders, given.seconds, properties), flush=True)
    print("offsets:", offset_readers(given.readers, given.seconds, properties), flush=True)
    print("records:", record_readers(given.readers, given.seconds, properties), flush=True)


if __name__ == "__main__":
    main()
