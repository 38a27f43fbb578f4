"""A user's client in a simulated cluster: it does as client libraries do, and says what came of it.

Each operation is a generator of `SimClient`, and gives plain values, or raises `NotDone`. Where the
error may pass it asks again, for as long as its time-out says: with another leader or coordinator,
after a back-off. An idempotent client numbers its batches, so that what it sends twice is written
once; one that is not may write it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from client.core.fetching import bytes_of, visible_records
from client.records.partitioning import partition_of
from ground.sim_scheduler import SimScheduler
from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataResponse
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record, RecordBatchBuilder
from simulation.network.sim_network import SimConnection, SimNetwork
from simulation.sim_client import SimClient, Waits
from simulation.users.plain_messages import api_of, plain, request_of, version_of

NO_ANSWER = "NO_ANSWER"
TIMED_OUT = "TIMED_OUT"
REQUEST_TIMEOUT_MS = 3_000.0
"""How long one request is waited for: what real clients do in 30 s."""
PRODUCE_VERSION = 12
FETCH_VERSION = 12
LIST_OFFSETS_VERSION = 7
OFFSET_COMMIT_VERSION = 9
OFFSET_FETCH_VERSION = 7
FIND_COORDINATOR_VERSION = 3
INIT_PRODUCER_ID_VERSION = 4
CREATE_TOPICS_VERSION = 6
FETCH_BYTES = 1 << 20
EARLIEST, LATEST = -2, -1
OFFSETS = {"earliest": EARLIEST, "latest": LATEST}
TURN_MS = 1.0
DOUBTS_MS = 10_000.0
"""A leader that was replaced, and does not know it yet, may not have the offset that is asked for:
longer than a session of three seconds none is."""
RETRIED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
MAYBE_DONE = (
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
)
"""After these it may have been written, or be written yet."""


class NotDone(Exception):
    """An operation ended with an error, by Kafka's name or NO_ANSWER or TIMED_OUT."""

    def __init__(self, error: str, text: str, *, unsure: bool = False) -> None:
        super().__init__(text)
        self.error = error
        self.unsure = unsure
        """Whether it may have been done all the same."""


class UserClient(SimClient):
    """See the module."""

    def __init__(
        self, name: str, seed: str, world: SimScheduler, network: SimNetwork, *, idempotent: bool
    ) -> None:
        super().__init__(name, seed, world, network)
        self._idempotent = idempotent
        self._producer: tuple[int, int] | None = None
        self._sequences: dict[tuple[str, int], int] = {}
        self._turns: dict[tuple[str, int], list[object]] = {}
        self._rounds: dict[str, int] = {}
        self._coordinators: dict[str, str] = {}
        self._newest: dict[tuple[bytes, int], tuple[int, str]] = {}
        """Leader epoch and leader of each partition, as somebody told of the newest epoch."""
        self._operations: dict[str, Callable[..., Waits]] = {
            "produce": self.produce,
            "fetch": self.fetch,
            "offset": self.offset,
            "commit": self.commit,
            "committed": self.committed,
            "create_topic": self.create_topic,
            "partitions": self.partitions,
            "request": self.request,
        }

    def operation(self, name: str, args: Mapping[str, Json]) -> Waits:
        """One by its name."""
        return self._operations[name](**args)

    def take_metadata(self, response: MetadataResponse) -> None:
        """Learn from Metadata, but not what is older than what is known (KIP-320)."""
        super().take_metadata(response)
        for topic in self.topics.everything():
            for partition, epoch in list(topic.epochs.items()):
                place = (topic.topic_id, partition)
                told = (epoch, topic.leaders.get(partition, ""))
                newest = self._newest.get(place, told)
                if newest[0] > epoch:
                    topic.epochs[partition], topic.leaders[partition] = newest
                else:
                    self._newest[place] = told

    # --- producing -----------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        records: Sequence[Mapping[str, Json]],
        partition: int | None,
        acks: int,
        timeout_ms: float,
    ) -> Waits:
        """One batch into one partition: [partition, first offset]. The offset is -1 where nobody
        knows it: with acks=0, or where the batch had been written before and was asked for again.
        """
        end_ms = self.world.now_ms + timeout_ms
        yield from self._known(topic, end_ms)
        place = (topic, self._choose(topic, records, partition))
        if not self._idempotent:
            result = yield from self._produce(place, records, acks, end_ms)
            return result
        turns, me = self._turns.setdefault(place, []), object()
        turns.append(me)
        try:
            while turns[0] is not me:
                yield TURN_MS
            result = yield from self._produce(place, records, acks, end_ms)
        finally:
            turns.remove(me)
        return result

    def _choose(
        self, topic: str, records: Sequence[Mapping[str, Json]], partition: int | None
    ) -> int:
        known = self.topics.get(topic)
        count = len(known.leaders) if known is not None else 1
        key = records[0].get("key")
        if partition is not None:
            return partition
        if key is not None:
            return partition_of(key, count)
        turn = self._rounds[topic] = self._rounds.get(topic, -1) + 1
        return turn % count

    def _produce(
        self,
        place: tuple[str, int],
        records: Sequence[Mapping[str, Json]],
        acks: int,
        end_ms: float,
    ) -> Waits:
        if self._idempotent and self._producer is None:
            yield from self._init(end_ms)
        is_written = False
        try:
            result = yield from self._write(place, self._batch(place, records), acks, end_ms)
            is_written = True
        finally:
            if not is_written:
                self._forget_producer()
        return result

    def _write(self, place: tuple[str, int], batch: bytes, acks: int, end_ms: float) -> Waits:
        state, what = _Attempts(end_ms), f"produce to {place[0]}-{place[1]}"
        while True:
            request = _produce_request(place, batch, acks)
            answer = yield from self._at_leader(place, request, state, answered=acks != 0)
            if acks == 0:
                return [place[1], -1]
            if answer is None:
                if state.is_over(self.world.now_ms):
                    raise state.failure(what)
                continue
            told = answer.responses[0].partition_responses[0]
            error = ErrorCode(told.error_code)
            if error in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                return [place[1], told.base_offset if error is ErrorCode.NONE else -1]
            yield from self._after(error, state, what)

    def _init(self, end_ms: float) -> Waits:
        state = _Attempts(end_ms)
        while self._producer is None:
            request = InitProducerIdRequest(None, 60_000)
            answer = yield from self._anywhere(request, INIT_PRODUCER_ID_VERSION, state)
            if answer is None:
                continue
            if answer.error_code:
                yield from self._after(ErrorCode(answer.error_code), state, "a producer id")
                continue
            self._producer = (answer.producer_id, answer.producer_epoch)

    def _batch(self, place: tuple[str, int], records: Sequence[Mapping[str, Json]]) -> bytes:
        builder = RecordBatchBuilder()
        if self._producer is not None:
            sequence = self._sequences.get(place, 0)
            self._sequences[place] = sequence + len(records)
            producer_id, epoch = self._producer
            builder = RecordBatchBuilder(
                producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
            )
        for one in records:
            time_ms = one.get("timestamp")
            headers = [(name, value) for name, value in one.get("headers") or ()]
            now_ms = self.world.wall_ms()
            builder.append(
                one.get("key"), one.get("value"), now_ms if time_ms is None else time_ms, headers
            )
        return bytes(builder.build())

    def _forget_producer(self) -> None:
        """A batch that is given up leaves a gap in the numbers: begin with new ones."""
        self._producer = None
        self._sequences.clear()

    # --- consuming -----------------------------------------------------------------------------

    def fetch(
        self,
        topic: str,
        partition: int,
        offset: int,
        count: int,
        committed: bool,
        wait_ms: int,
        timeout_ms: float,
    ) -> Waits:
        """[records, where to go on, high watermark]. Waits until there are `count`; 0: one Fetch is
        enough. What came within `timeout_ms` where that is less is TIMED_OUT."""
        state = _Attempts(self.world.now_ms + timeout_ms)
        doubts_until_ms = self.world.now_ms + DOUBTS_MS
        place, what = (topic, partition), f"fetch of {topic}-{partition} from {offset}"
        found: list[Record] = []
        while True:
            epoch = self.topics.epoch(topic, partition)
            request = _fetch_request(place, epoch, offset, wait_ms, committed)
            answer = yield from self._at_leader(place, request, state)
            if answer is not None:
                data = answer.responses[0].partitions[0]
                error = ErrorCode(data.error_code)
                if error is ErrorCode.OFFSET_OUT_OF_RANGE and self.world.now_ms < doubts_until_ms:
                    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
                if error is not ErrorCode.NONE:
                    yield from self._after(error, state, what)
                    continue
                records, offset = visible_records(
                    bytes_of(data.records), data.aborted_transactions, offset
                )
                found += records
                if len(found) >= count:
                    most = count or len(found)
                    where = found[most].offset if len(found) > most else offset
                    shown = [_shown(topic, partition, one) for one in found[:most]]
                    return [shown, where, data.high_watermark]
            if state.is_over(self.world.now_ms):
                if answer is not None or not state.lost:
                    raise NotDone(TIMED_OUT, f"{what}: {len(found)} of {count} records came")
                raise state.failure(what)

    def offset(self, topic: str, partition: int, which: str, timeout_ms: float) -> Waits:
        """The first offset of a log, or the next one: "earliest", "latest"."""
        state, place = _Attempts(self.world.now_ms + timeout_ms), (topic, partition)
        while True:
            epoch = self.topics.epoch(topic, partition)
            one = ListOffsetsPartition(partition, epoch, OFFSETS[which])
            asked = ListOffsetsTopic(topic, [one])
            answer = yield from self._at_leader(place, ListOffsetsRequest(-1, 0, [asked]), state)
            if answer is None:
                if state.is_over(self.world.now_ms):
                    raise state.failure(f"offsets of {topic}-{partition}")
                continue
            told = answer.topics[0].partitions[0]
            if not told.error_code:
                return told.offset
            yield from self._after(ErrorCode(told.error_code), state, f"offsets of {topic}")

    # --- offsets of groups -----------------------------------------------------------------------

    def commit(
        self,
        group: str,
        offsets: Sequence[tuple[str, int, int]],
        member_id: str,
        generation: int,
        timeout_ms: float,
    ) -> Waits:
        """(topic, partition, offset) each; nothing."""
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for topic, partition, offset in offsets:
            one = OffsetCommitRequestPartition(partition, offset)
            topics.setdefault(topic, []).append(one)
        named = [OffsetCommitRequestTopic(name, partitions=found) for name, found in topics.items()]
        request = OffsetCommitRequest(group, generation, member_id, topics=named)

        def error(answer: Json) -> int:
            codes = [one.error_code for topic in answer.topics for one in topic.partitions]
            return next((code for code in codes if code), 0)

        yield from self._coordinated(group, request, OFFSET_COMMIT_VERSION, timeout_ms, error)
        return None

    def committed(self, group: str, topic: str, partition: int, timeout_ms: float) -> Waits:
        """The committed offset; None where there is none."""
        asked = [OffsetFetchRequestTopic(topic, [partition])]
        request = OffsetFetchRequest(group, asked, require_stable=True)

        def error(answer: Json) -> int:
            return int(answer.error_code or answer.topics[0].partitions[0].error_code)

        answer = yield from self._coordinated(
            group, request, OFFSET_FETCH_VERSION, timeout_ms, error
        )
        offset = answer.topics[0].partitions[0].committed_offset
        return None if offset < 0 else offset

    def _coordinated(
        self,
        group: str,
        request: Message,
        version: int,
        timeout_ms: float,
        error: Callable[[Json], int],
    ) -> Waits:
        state, what = _Attempts(self.world.now_ms + timeout_ms), f"group {group}"
        while True:
            if state.is_over(self.world.now_ms):
                raise state.failure(what)
            address = self._coordinators.get(group)
            if address is None:
                yield from self._find_coordinator(group, state)
                continue
            answer = yield from self._send(request, version, address, state=state)
            if answer is None:
                self._coordinators.pop(group, None)
                continue
            code = ErrorCode(error(answer))
            if code is ErrorCode.NONE:
                return answer
            self._coordinators.pop(group, None)
            yield from self._after(code, state, what)

    def _find_coordinator(self, group: str, state: _Attempts) -> Waits:
        request = FindCoordinatorRequest(group, 0)
        answer = yield from self._send(request, FIND_COORDINATOR_VERSION, None)
        if answer is None:
            return
        if answer.error_code:
            yield from self._after(ErrorCode(answer.error_code), state, f"group {group}")
        else:
            self._coordinators[group] = answer.host

    # --- topics, and anything else ---------------------------------------------------------------

    def create_topic(
        self,
        topic: str,
        partitions: int,
        replication: int,
        configs: Mapping[str, str],
        timeout_ms: float,
        *,
        existed: bool = False,
    ) -> Waits:
        """Made, and led; nothing. One that `existed` before is refused: else it is this one, which
        a broker has asked the controller for twice."""
        settings = [CreatableTopicConfig(name, value) for name, value in configs.items()]
        wanted = CreatableTopic(topic, partitions, replication, [], settings)
        state = _Attempts(self.world.now_ms + timeout_ms)
        while True:
            request = CreateTopicsRequest([wanted], int(REQUEST_TIMEOUT_MS))
            answer = yield from self._anywhere(request, CREATE_TOPICS_VERSION, state)
            if answer is None:
                continue
            error = ErrorCode(answer.topics[0].error_code)
            if error is ErrorCode.NONE or (error is ErrorCode.TOPIC_ALREADY_EXISTS and not existed):
                break
            why = answer.topics[0].error_message or ""
            if error is ErrorCode.INVALID_REPLICATION_FACTOR and replication <= len(self.bootstrap):
                error = ErrorCode.REQUEST_TIMED_OUT  # some are down, and will come back
            yield from self._after(error, state, f"topic {topic} {why}".strip())
        yield from self._known(topic, state.end_ms)
        return None

    def partitions(self, topic: str, timeout_ms: float) -> Waits:
        """How many a topic has."""
        self.topics.forget(topic)
        yield from self._known(topic, self.world.now_ms + timeout_ms)
        known = self.topics.get(topic)
        return len(known.leaders) if known is not None else 0

    def request(
        self,
        api: str,
        fields: Mapping[str, Json],
        version: int | None,
        broker: int | None,
        timeout_ms: float,
    ) -> Waits:
        """Any request once, to `broker` or any; the whole answer."""
        key = api_of(api)
        message, number = request_of(key, fields), version_of(key, version)
        address = None if broker is None else f"broker-{broker}"
        answer = yield from self._send(message, number, address, timeout_ms)
        if answer is None:
            raise NotDone(NO_ANSWER, f"{api} was not answered", unsure=True)
        return plain(answer)

    # --- asking --------------------------------------------------------------------------------

    def _send(
        self,
        request: Message,
        version: int,
        address: str | None,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
        state: _Attempts | None = None,
    ) -> Waits:
        """The answer of one broker, by default of any; None where there is none."""
        if address is None:
            address = self.chance.choice(self.bootstrap)
        connection = self.connection(address)
        sent = connection is not None
        yield from self._hold_back(connection)
        answer = yield from self.call(request, version, address, timeout_ms=timeout_ms)
        if state is not None and sent and answer is None:
            state.lost = True
        return answer

    def _hold_back(self, connection: SimConnection | None) -> Waits:
        """Wait for as long as the broker has asked for, as client libraries do (KIP-219)."""
        if connection is not None and connection.open:
            left_ms = connection.quiet_until_ms - self.world.now_ms
            if left_ms > 0:
                yield left_ms

    def _anywhere(self, request: Message, version: int, state: _Attempts) -> Waits:
        """The answer of any broker; None: ask again. Raises where the time is over."""
        if state.is_over(self.world.now_ms):
            raise state.failure(type(request).__name__)
        answer = yield from self._send(request, version, None, state=state)
        return answer

    def _at_leader(
        self, place: tuple[str, int], request: Message, state: _Attempts, *, answered: bool = True
    ) -> Waits:
        """The answer of a partition's leader; None where it is lost, or nobody knows the leader."""
        topic, partition = place
        address = self.topics.leader(topic, partition)
        connection = self.connection(address) if address else None
        if connection is None:
            yield self.pause_ms()
            yield from self._learn(topic, state)
            return None
        version = _VERSIONS[type(request)]
        yield from self._hold_back(connection)
        exchange = connection.send(request, version, REQUEST_TIMEOUT_MS, answered=answered)
        if not answered:
            return None
        yield exchange
        if exchange.ok:
            return exchange.response
        state.lost = True
        yield self.pause_ms()
        yield from self._learn(topic, state)
        return None

    def _after(self, error: ErrorCode, state: _Attempts, what: str) -> Waits:
        """Get ready to ask again; raises where that would not help."""
        state.lost |= error in MAYBE_DONE
        state.last = error
        if error not in RETRIED:
            raise NotDone(error.name, f"{what}: {error.name}", unsure=state.lost)
        if state.is_over(self.world.now_ms):
            raise state.failure(what)
        yield self.pause_ms()
        for topic in [one.name for one in self.topics.everything()]:
            yield from self._learn(topic, state)

    def _learn(self, topic: str, state: _Attempts) -> Waits:
        """One look at the metadata, which may fail."""
        if not state.is_over(self.world.now_ms):
            yield from self.look([topic], REQUEST_TIMEOUT_MS)

    def _known(self, topic: str, end_ms: float) -> Waits:
        """Until a topic is known, with a leader for each partition."""
        while True:
            known = self.topics.get(topic)
            if known is not None and known.leaders and all(known.leaders.values()):
                return
            if self.world.now_ms > end_ms:
                raise NotDone(TIMED_OUT, f"no broker knows a topic {topic} that is led")
            yield from self.look([topic], REQUEST_TIMEOUT_MS)
            if self.topics.get(topic) is None:
                yield self.pause_ms()


class _Attempts:
    """How far the tries of one operation have come."""

    __slots__ = ("end_ms", "last", "lost")

    def __init__(self, end_ms: float) -> None:
        self.end_ms = end_ms
        self.lost = False
        """Whether one of them may have been carried out."""
        self.last: ErrorCode | None = None

    def is_over(self, now_ms: float) -> bool:
        return now_ms >= self.end_ms

    def failure(self, what: str) -> NotDone:
        """The time is over."""
        why = f", last {self.last.name}" if self.last is not None else ""
        return NotDone(TIMED_OUT, f"{what}: no success in its time{why}", unsure=self.lost)


def _produce_request(place: tuple[str, int], batch: bytes, acks: int) -> ProduceRequest:
    part = PartitionProduceData(place[1], batch)
    topic = TopicProduceData(place[0], partition_data=[part])
    return ProduceRequest(None, acks, int(REQUEST_TIMEOUT_MS) - 1_000, [topic])


def _fetch_request(
    place: tuple[str, int], epoch: int, offset: int, wait_ms: int, committed: bool
) -> FetchRequest:
    part = FetchPartition(place[1], epoch, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    return FetchRequest(
        max_wait_ms=wait_ms, min_bytes=1, isolation_level=int(committed),
        topics=[FetchTopic(place[0], partitions=[part])],
    )  # fmt: skip


def _shown(topic: str, partition: int, record: Record) -> Json:
    headers = [[name, value] for name, value in record.headers]
    return [topic, partition, record.offset, record.timestamp, record.key, record.value, headers]


_VERSIONS: dict[type[Message], int] = {
    ProduceRequest: PRODUCE_VERSION,
    FetchRequest: FETCH_VERSION,
    ListOffsetsRequest: LIST_OFFSETS_VERSION,
}
