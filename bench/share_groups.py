"""Share groups (KIP-932): consumers that work on one partition, beside Apache Kafka.

Each consumer sends a ShareFetch, and accepts all that it got with its next one. Its records are in
the log before the window, in batches as large as what a consumer gets at most. One member sends
heartbeats, so that the share-partition is initialized; the others need only their share session.
"""

from __future__ import annotations

import select
import time
from collections.abc import Mapping, Sequence
from uuid import uuid4

from bench.consumer_groups.group import configure
from bench.groups import Speaker, find_coordinator
from bench.peers import BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    WINDOWS_MAX,
    Figure,
    Run,
    Scenario,
    WindowResult,
    steady,
)
from bench.wire import batch_frame, batch_of, create_topic, produce_one, wait_for_end
from client.core.retries import COORDINATOR
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

TOPIC, GROUP = "shared", "workers"
VALUE_BYTES = 100
ACCEPT = 1
FETCH_VERSION, HEARTBEAT_VERSION, METADATA_VERSION = 2, 1, 12
WAIT_MS, MAX_BYTES = 500, 1 << 20
FILL_S = 120.0
LIMIT_S = 120.0
PAUSE_S = 0.05
BEAT_S = 5.0
"""How often the member sends a heartbeat while consumers work."""
WINDOW_RECORDS = {1: 3_000, 100: 100_000, 500: 200_000}
"""How many records a window has, by the size of a batch."""


class ShareWorker:
    """A consumer on its own connection, with one ShareFetch in flight or none."""

    def __init__(self, port: int, topic_id: bytes, batch: int, number: int) -> None:
        self.wire = Speaker(port)
        self.member_id = str(uuid4())
        self.client_id = f"worker-{number}"
        self.batch = batch
        self.acquired: Sequence[tuple[int, int]] = ()
        """The first and last offsets of the records that the next fetch accepts."""
        self._topic_id = topic_id
        self._epoch = 0

    def frame(self, wait_ms: int = WAIT_MS) -> bytes:
        """Return the next ShareFetch; the first one opens the session with the partition."""
        accepted = [AcknowledgementBatch(*ends, [ACCEPT]) for ends in self.acquired]
        partitions = [FetchPartition(0, acknowledgement_batches=accepted)]
        request = ShareFetchRequest(
            GROUP,
            self.member_id,
            self._epoch,
            wait_ms,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            max_records=self.batch,
            batch_size=self.batch,
            topics=[FetchTopic(self._topic_id, partitions)] if accepted or not self._epoch else [],
        )
        return encode_request(request, FETCH_VERSION, 1, self.client_id)

    def send(self) -> None:
        """Send the next ShareFetch."""
        self.wire.socket.sendall(self.frame())

    def receive(self) -> int:
        """Read the answer, and return the number of records in it. Raises RuntimeError if the
        broker refuses the fetch or what it accepted."""
        answer = self.wire.receive(ApiKey.SHARE_FETCH, FETCH_VERSION)
        assert isinstance(answer, ShareFetchResponse)
        self._epoch, self.acquired = self._epoch + 1, ()
        errors = [answer.error_code]
        for topic in answer.responses:
            for partition in topic.partitions:
                errors += [partition.error_code, partition.acknowledge_error_code]
                self.acquired = [
                    (records.first_offset, records.last_offset)
                    for records in partition.acquired_records
                ]
        if any(errors):
            raise RuntimeError(f"a ShareFetch is refused: {[ErrorCode(e).name for e in errors]}")
        return sum(last - first + 1 for first, last in self.acquired)


class ShareWorkers:
    """Consumers that are driven from one thread, and the group that they belong to."""

    def __init__(self, port: int, workers: int, batch: int) -> None:
        """Join with a member, and open the consumers' share sessions."""
        topic_id = _topic_id(port)
        self._member = Speaker(port)
        self._member_id, self._member_epoch = str(uuid4()), 0
        self._poll = select.epoll()
        self._by_fd: dict[int, ShareWorker] = {}
        self._in_flight: set[int] = set()
        self._beat_at = 0.0
        self._join()
        for number in range(workers):
            worker = ShareWorker(port, topic_id, batch, number)
            self._by_fd[worker.wire.socket.fileno()] = worker
            self._poll.register(worker.wire.socket.fileno(), select.EPOLLIN)

    def beat(self) -> int:
        """Send the member's heartbeat, and return how many partitions it has; none while the group
        has no coordinator."""
        request = ShareGroupHeartbeatRequest(GROUP, self._member_id, self._member_epoch)
        if not self._member_epoch:
            request.subscribed_topic_names = [TOPIC]
        answer = self._member.ask(request, HEARTBEAT_VERSION)
        self._beat_at = time.monotonic()
        if answer.error_code in COORDINATOR:
            return 0
        if answer.error_code:
            name = ErrorCode(answer.error_code).name
            raise RuntimeError(f"a heartbeat is refused: {name}, {answer.error_message}")
        self._member_epoch = answer.member_epoch
        assigned = [] if answer.assignment is None else answer.assignment.topic_partitions
        return sum(len(topic.partitions) for topic in assigned)

    def consume(self, records: int) -> list[float]:
        """Let all consumers work until this number of records arrived, and return the round trips.

        The last records are accepted at the next call.
        """
        trips: list[float] = []
        sent = dict.fromkeys(self._by_fd, time.perf_counter())
        until = time.monotonic() + LIMIT_S
        for fd, worker in self._by_fd.items():
            if fd not in self._in_flight:
                worker.send()
                self._in_flight.add(fd)
        while records > 0:
            if time.monotonic() > self._beat_at + BEAT_S:
                self.beat()
            if time.monotonic() > until:
                raise TimeoutError(f"{records} records did not come within {LIMIT_S:.0f} s")
            for fd, _ in self._poll.poll(1.0):
                worker = self._by_fd[fd]
                records -= worker.receive()
                now = time.perf_counter()
                trips.append(now - sent[fd])
                sent[fd] = now
                self._in_flight.discard(fd)
                if records > 0:
                    worker.send()
                    self._in_flight.add(fd)
        return trips

    def close(self) -> None:
        """Close all connections, which releases the records that are not accepted."""
        for worker in self._by_fd.values():
            worker.wire.close()
        self._member.close()
        self._poll.close()

    def _join(self) -> None:
        """Join, and wait until the partition is assigned, so that it has a state."""
        until = time.monotonic() + LIMIT_S
        while not self.beat():
            if time.monotonic() > until:
                raise TimeoutError("the share group gets no partition")
            time.sleep(PAUSE_S)


def _topic_id(port: int) -> bytes:
    wire = Speaker(port)
    request = MetadataRequest([MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    (topic,) = wire.ask(request, METADATA_VERSION).topics
    wire.close()
    topic_id: bytes = topic.topic_id
    return topic_id


def _filled(peer: BenchPeer, workers: int, batch: int, records: int) -> ShareWorkers:
    """Create the topic with so many records in batches of `batch`, and the group that reads it."""
    create_topic(peer.port, TOPIC)
    produce_one(peer.port, TOPIC)
    frame = batch_frame(TOPIC, 0, batch_of(batch, VALUE_BYTES))
    replay_targets([ReplayedConnection(peer.port, [frame])], FILL_S, depth=5, most=records // batch)
    wait_for_end(peer.port, TOPIC, 0, 1 + records)
    find_coordinator(peer.port)
    configure(peer.port, GROUP, {"share.auto.offset.reset": "earliest"})
    return ShareWorkers(peer.port, workers, batch)


def working(workers: int, batch: int) -> Run:
    """Measure `workers` consumers that get and accept at most `batch` records at a time."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        """Measure windows with a fixed number of records each."""
        records = WINDOW_RECORDS[batch]
        group = _filled(peer, workers, batch, records * (WINDOWS_MAX + 1))

        def load(_: float) -> WindowResult:
            group.beat()
            began = time.perf_counter()
            trips = group.consume(records)
            return WindowResult(records, trips, time.perf_counter() - began)

        measured = steady(peer, load, window_s)
        group.close()
        return [
            Figure(RATE, "records/s", measured.rate, LARGER),
            Figure(BROKER_CPU, "µs/record", measured.cpu_per_unit * 1e6, SMALLER),
            *measured.latencies(),
            measured.client_load,
        ]

    return run


def finding_nothing(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure ShareFetches that do not wait, one in flight, when all records are accepted."""
    group = _filled(peer, 1, 1, 100)
    (worker,) = group._by_fd.values()

    def load(seconds: float) -> WindowResult:
        """Send fetches for `seconds`. Raises RuntimeError if one finds a record."""
        group.beat()
        trips, until = list[float](), time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            worker.wire.socket.sendall(worker.frame(wait_ms=0))
            if worker.receive():
                raise RuntimeError("a fetch found a record")
            trips.append(time.perf_counter() - began)
        return WindowResult(len(trips), trips)

    group.consume(101)
    worker.send()
    worker.receive()
    measured = steady(peer, load, window_s)
    group.close()
    return [
        Figure(RATE, "req/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "µs/req", measured.cpu_per_unit * 1e6, SMALLER),
        *measured.latencies(),
        measured.client_load,
    ]


def _scenario(
    name: str, title: str, workers: int, run: Run, goals: Mapping[str, float]
) -> Scenario:
    return Scenario(
        name=f"share-groups-{name}",
        group="share-groups",
        title=title,
        client="raw frames",
        connections=workers,
        partitions=1,
        run=run,
        goals=goals,
    )


SCENARIOS = [
    *(
        _scenario(
            f"{workers}-{batch}",
            f"{workers} consumer{'s' if workers > 1 else ''} of one partition, {batch} record"
            f"{'s' if batch > 1 else ''} at a time",
            workers,
            working(workers, batch),
            {RATE: 1.0, BROKER_CPU: 1.0},
        )
        for workers in (1, 10, 100)
        for batch in WINDOW_RECORDS
    ),
    _scenario("empty", "ShareFetches that find nothing", 1, finding_nothing, {BROKER_CPU: 1.0}),
]
