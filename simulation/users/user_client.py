"""A user's client in a simulated cluster: it works as client libraries do, and reports results.

Each operation is a generator of `SimClient` that returns plain values or raises
`UserOperationFailed`. After a retriable error it tries again until its time-out: with another
leader or coordinator, after a back-off. An idempotent client numbers its batches, so that a batch
that is sent twice is written once; another client may write it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from client.core import groups
from client.core.fetching import bytes_of, fetch_request, visible_records
from client.core.leaders import NO_LEADER, KnownLeaders, Partition
from client.core.offsets import EARLIEST, LATEST, offsets_request
from client.core.offsets import VERSION as LIST_OFFSETS_VERSION
from client.core.operation import (
    Answer,
    Attempts,
    ErrorAnswer,
    NoAnswer,
    RequestStep,
    Steps,
    error_of,
)
from client.core.producing import NewRecord, Producer, batch_of, produce_request
from client.core.retries import ANY
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
from protocol.messages.fetch import FetchRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsRequest
from protocol.records import Record
from simulation.network.sim_network import SimConnection, SimNetwork
from simulation.sim_client import SimClient, Waits
from simulation.users.plain_messages import api_of, plain, request_of, version_of

NO_ANSWER = "NO_ANSWER"
TIMED_OUT = "TIMED_OUT"
REQUEST_TIMEOUT_MS = 3_000.0
"""The time-out of one request; that of real clients is 30 s."""
PRODUCE_TIMEOUT_MS = 2_000
PRODUCE_VERSION = 12
FETCH_VERSION = 12
INIT_PRODUCER_ID_VERSION = 4
CREATE_TOPICS_VERSION = 6
FETCH_BYTES = 1 << 20
OFFSETS = {"earliest": EARLIEST, "latest": LATEST}
_ANY_SIZE = 0x7FFFFFFF
TURN_MS = 1.0
DOUBTS_MS = 10_000.0
"""How long OFFSET_OUT_OF_RANGE is retried: it may come from a leader that was replaced and does not
know it yet. A leader notices within its session, which is three seconds."""


class UserOperationFailed(Exception):
    """The failure of an operation: Kafka's name of an error, NO_ANSWER or TIMED_OUT."""

    def __init__(self, error: str, text: str, *, unsure: bool = False) -> None:
        super().__init__(text)
        self.error = error
        self.unsure = unsure
        """Whether the operation may have been carried out all the same."""


class UserClient(SimClient):
    """A client of a user's scenario."""

    def __init__(
        self, name: str, seed: str, world: SimScheduler, network: SimNetwork, *, idempotent: bool
    ) -> None:
        super().__init__(name, seed, world, network)
        self._idempotent = idempotent
        self._leaders = KnownLeaders()
        self._coordinators: dict[tuple[int, str], int] = {}
        self._producer: tuple[int, int] | None = None
        self._sequences: dict[Partition, int] = {}
        self._turns: dict[Partition, list[object]] = {}
        self._rounds: dict[str, int] = {}
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
        """Return the generator of the operation of this name."""
        return self._operations[name](**args)

    # --- producing -----------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        records: Sequence[Mapping[str, Json]],
        partition: int | None,
        acks: int,
        timeout_ms: float,
    ) -> Waits:
        """Write one batch, and return [partition, first offset]. The offset is -1 if it is unknown:
        with acks=0, or if the batch was sent twice and the log already had it.

        An idempotent client writes to a partition one batch at a time. Raises UserOperationFailed.
        """
        end_ms = self.world.now_ms + timeout_ms
        count = yield from self._partition_count(topic, end_ms)
        place = (topic, self._choose_partition(topic, count, records[0].get("key"), partition))
        if not self._idempotent:
            result = yield from self._produce(place, records, acks, end_ms)
            return result
        turns, turn = self._turns.setdefault(place, []), object()
        turns.append(turn)
        try:
            while turns[0] is not turn:
                yield TURN_MS
            result = yield from self._produce(place, records, acks, end_ms)
        finally:
            turns.remove(turn)
        return result

    def _choose_partition(
        self, topic: str, count: int, key: bytes | None, partition: int | None
    ) -> int:
        """Return the partition of a record: the given one, that of the key, or the next in turn."""
        if partition is not None:
            return partition
        if key is not None:
            return partition_of(key, count)
        turn = self._rounds[topic] = self._rounds.get(topic, -1) + 1
        return turn % count

    def _produce(
        self,
        place: Partition,
        records: Sequence[Mapping[str, Json]],
        acks: int,
        end_ms: float,
    ) -> Waits:
        """Send records as a batch, and return its partition and offset. Raises UserOperationFailed.

        An idempotent client gets a producer id first if it has none. After a failure it forgets the
        id, so that the next batch gets a new one.
        """
        if self._idempotent and self._producer is None:
            yield from self._init_producer(end_ms)
        is_written = False
        try:
            result = yield from self._write(place, self._batch(place, records), acks, end_ms)
            is_written = True
        finally:
            if not is_written:
                self._forget_producer()
        return result

    def _write(self, place: Partition, batch: bytes, acks: int, end_ms: float) -> Waits:
        """Send a batch until it is written, and return its partition and offset, -1 if the offset
        is unknown. With acks=0, send it once. Raises UserOperationFailed."""
        if acks == 0:
            yield from self._send_unanswered(place, batch)
            return [place[1], -1]
        attempts = self._attempts(end_ms)
        steps = self._leaders.at_leader(
            attempts,
            place,
            lambda _: produce_request(place, batch, acks, PRODUCE_TIMEOUT_MS),
            PRODUCE_VERSION,
            code_of=_produce_error,
        )
        action = f"produce to {place[0]}-{place[1]}"
        answer = yield from self._succeeded(attempts, steps, action, _produce_error)
        response = answer.responses[0].partition_responses[0]
        return [place[1], -1 if response.error_code else response.base_offset]

    def _send_unanswered(self, place: Partition, batch: bytes) -> Waits:
        """Send a batch to its leader without waiting for a response. If no leader is known or
        reachable, drop the batch, pause, and look up the topic's leaders for the next batch."""
        leader = self._leaders.of(place).leader
        connection = None if leader == NO_LEADER else self.connection(_address(leader))
        if connection is None:
            yield self.pause_ms()
            with suppress(NoAnswer):
                yield from self._driven(self._leaders.look(place[0]))
            return
        yield from self._hold_back(connection)
        request = produce_request(place, batch, 0, PRODUCE_TIMEOUT_MS)
        connection.send(request, PRODUCE_VERSION, REQUEST_TIMEOUT_MS, answered=False)

    def _init_producer(self, end_ms: float) -> Waits:
        """Get a producer id and epoch, for the next batches. Raises UserOperationFailed if none
        comes until `end_ms`."""
        attempts = self._attempts(end_ms)
        step = RequestStep(InitProducerIdRequest(None, 60_000), INIT_PRODUCER_ID_VERSION)
        steps = attempts.settled(lambda: attempts.request(step))
        answer = yield from self._succeeded(attempts, steps, "a producer id")
        self._producer = (answer.producer_id, answer.producer_epoch)

    def _batch(self, place: Partition, records: Sequence[Mapping[str, Json]]) -> bytes:
        """Return the records as a batch. If there is a producer id, number the batch and advance
        the partition's sequence number."""
        producer = None
        if self._producer is not None:
            sequence = self._sequences.get(place, 0)
            self._sequences[place] = sequence + len(records)
            producer = Producer(*self._producer, sequence)
        new = [NewRecord.of(record) for record in records]
        return bytes(batch_of(new, self.world.wall_ms(), producer=producer))

    def _forget_producer(self) -> None:
        """Forget the producer id, so that the next batch gets a new one. A batch that was not
        written leaves a gap in the sequence numbers."""
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
        """Return [records, next offset, high watermark] when there are `count` records; 0: after
        one Fetch. At most `count` records are returned, if that is not 0.

        Raises UserOperationFailed, with TIMED_OUT if fewer came within `timeout_ms`.
        """
        attempts, place = self._attempts(self.world.now_ms + timeout_ms), (topic, partition)
        doubts_until_ms = self.world.now_ms + DOUBTS_MS
        action = f"fetch of {topic}-{partition} from {offset}"
        fetched: list[Record] = []

        def request_of(epoch: int) -> FetchRequest:
            """Return a Fetch from the present position, for a leader of this epoch."""
            return fetch_request(
                {place: position}, wait_ms, _ANY_SIZE, FETCH_BYTES, int(committed), epoch
            )

        def code_of(answer: Answer) -> int:
            """Return the error of a response. For DOUBTS_MS, OFFSET_OUT_OF_RANGE counts as
            NOT_LEADER_OR_FOLLOWER, which is retried."""
            code = error_of(answer)
            if code == ErrorCode.OFFSET_OUT_OF_RANGE and self.world.now_ms < doubts_until_ms:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            return code

        position = offset
        while True:
            steps = self._leaders.at_leader(
                attempts, place, request_of, FETCH_VERSION, code_of=code_of
            )
            answer = yield from self._succeeded(attempts, steps, action, code_of)
            data = answer.responses[0].partitions[0]
            records, position = visible_records(
                bytes_of(data.records), data.aborted_transactions, position
            )
            fetched += records
            if len(fetched) >= count:
                most = count or len(fetched)
                next_offset = fetched[most].offset if len(fetched) > most else position
                shown = [_record_json(topic, partition, record) for record in fetched[:most]]
                return [shown, next_offset, data.high_watermark]
            if attempts.is_over:
                raise UserOperationFailed(
                    TIMED_OUT, f"{action}: {len(fetched)} of {count} records came"
                )

    def offset(self, topic: str, partition: int, which: str, timeout_ms: float) -> Waits:
        """Return the first offset of a log ("earliest"), or that of its next record ("latest").
        Raises UserOperationFailed if no leader returns it within `timeout_ms`."""
        attempts, place = self._attempts(self.world.now_ms + timeout_ms), (topic, partition)

        def request_of(epoch: int) -> ListOffsetsRequest:
            """Return the ListOffsets for a leader of this epoch."""
            return offsets_request({place: OFFSETS[which]}, epoch=epoch)

        steps = self._leaders.at_leader(attempts, place, request_of, LIST_OFFSETS_VERSION)
        answer = yield from self._succeeded(attempts, steps, f"offsets of {topic}-{partition}")
        return answer.topics[0].partitions[0].offset

    # --- offsets of groups -----------------------------------------------------------------------

    def commit(
        self,
        group: str,
        offsets: Sequence[tuple[str, int, int]],
        member_id: str,
        generation: int,
        timeout_ms: float,
    ) -> Waits:
        """Commit offsets for a group; each is (topic, partition, offset). Raises
        UserOperationFailed if the coordinator does not accept them within `timeout_ms`."""
        attempts = self._attempts(self.world.now_ms + timeout_ms)
        places = {(topic, partition): offset for topic, partition, offset in offsets}
        steps = groups.commit(attempts, group, places, generation, member_id)
        yield from self._succeeded(attempts, steps, f"group {group}")
        return None

    def committed(self, group: str, topic: str, partition: int, timeout_ms: float) -> Waits:
        """Return the committed offset, None if there is none. Raises UserOperationFailed if the
        coordinator does not return it within `timeout_ms`."""
        attempts, place = self._attempts(self.world.now_ms + timeout_ms), (topic, partition)
        steps = groups.committed(attempts, group, [place], stable=True)
        answer = yield from self._succeeded(attempts, steps, f"group {group}")
        return groups.offsets_in(answer.topics).get(place)

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
        """Create a topic, and return when all its partitions have leaders. If it did not exist
        before, TOPIC_ALREADY_EXISTS is success: an earlier try has reached the controller.

        Raises UserOperationFailed with the broker's reason: at once if the error is not retriable,
        else after `timeout_ms`.
        """
        settings = [CreatableTopicConfig(name, value) for name, value in configs.items()]
        wanted = CreatableTopic(topic, partitions, replication, [], settings)
        end_ms, words = self.world.now_ms + timeout_ms, ""

        def code_of(answer: Answer) -> int:
            """Return the error code by which to retry or fail, and keep the broker's reason.

            An existing topic counts as created unless it existed before; too few brokers for now
            are a time-out, which is retried.
            """
            nonlocal words
            code = error_of(answer)
            words = answer.topics[0].error_message or ""
            if code == ErrorCode.TOPIC_ALREADY_EXISTS and not existed:
                return ErrorCode.NONE
            if code == ErrorCode.INVALID_REPLICATION_FACTOR and replication <= len(self.bootstrap):
                return (
                    ErrorCode.REQUEST_TIMED_OUT
                )  # some brokers are down, and will be started again
            return code

        attempts = self._attempts(end_ms)
        step = RequestStep(
            CreateTopicsRequest([wanted], int(REQUEST_TIMEOUT_MS)), CREATE_TOPICS_VERSION
        )
        try:
            steps = attempts.settled(lambda: attempts.request(step), code_of=code_of)
            yield from self._succeeded(attempts, steps, f"topic {topic}", code_of)
        except UserOperationFailed as error:
            text = f"{error} ({words})" if words else str(error)
            raise UserOperationFailed(error.error, text, unsure=error.unsure) from None
        yield from self._partition_count(topic, end_ms)
        return None

    def partitions(self, topic: str, timeout_ms: float) -> Waits:
        """Return how many partitions a topic has, by new metadata, as soon as all have leaders.
        Raises UserOperationFailed after `timeout_ms`."""
        self._leaders.forget(topic)
        count = yield from self._partition_count(topic, self.world.now_ms + timeout_ms)
        return count

    def request(
        self,
        api: str,
        fields: Mapping[str, Json],
        version: int | None,
        broker: int | None,
        timeout_ms: float,
    ) -> Waits:
        """Send any request once, to `broker` or to any broker, and return the whole response.

        Raises UserOperationFailed if no response comes, WrongRequest at unknown names or versions.
        """
        key = api_of(api)
        message, number = request_of(key, fields), version_of(key, version)
        exchange = yield from self._exchange(message, number, broker, timeout_ms)
        if exchange is None or not exchange.ok:
            raise UserOperationFailed(NO_ANSWER, f"{api} was not answered", unsure=True)
        return plain(exchange.response)

    # --- operations of `client.core` -------------------------------------------------------------

    def _attempts(self, end_ms: float) -> Attempts:
        """Return the tries of an operation, which retries until `end_ms` of virtual time, after any
        retriable error or lost response."""
        return Attempts(
            lambda: self.world.now_ms / 1000,
            end_ms / 1000,
            lambda: self.pause_ms() / 1000,
            lambda _: True,
            ANY,
            self._coordinators,
        )

    def _driven(self, steps: Steps[Any]) -> Waits:
        """Run an operation of `client.core`: send its requests, and let its pauses pass. Return its
        result; its exceptions are raised."""
        answer, error = None, None
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            answer, error = None, None
            if not isinstance(step, RequestStep):
                yield step * 1000
                continue
            assert isinstance(step.request, Message)
            exchange = yield from self._exchange(step.request, step.version, step.to)
            if exchange is not None and exchange.ok:
                answer = exchange.response
            else:
                error = NoAnswer(was_sent=exchange is not None)

    def _succeeded(
        self,
        attempts: Attempts,
        steps: Steps[Answer],
        action: str,
        code_of: Callable[[Answer], int] = error_of,
    ) -> Waits:
        """Run an operation, and return its response if `code_of` finds no error. Else raise
        UserOperationFailed: with TIMED_OUT for a retriable error, or with the error's name."""
        try:
            answer = yield from self._driven(steps)
        except NoAnswer:
            code = ErrorCode.NETWORK_EXCEPTION
        except ErrorAnswer as refusal:
            code = ErrorCode(refusal.code)
        else:
            code = ErrorCode(code_of(answer))
            if code is ErrorCode.NONE:
                return answer
        if code not in ANY:
            raise UserOperationFailed(code.name, f"{action}: {code.name}", unsure=attempts.unsure)
        last = "" if attempts.last is None else f", last {attempts.last.name}"
        raise UserOperationFailed(
            TIMED_OUT, f"{action}: no success in its time{last}", unsure=attempts.unsure
        )

    def _partition_count(self, topic: str, end_ms: float) -> Waits:
        """Return how many partitions a topic has, as soon as all have leaders. Raises
        UserOperationFailed at `end_ms`."""
        count = 0
        with suppress(NoAnswer):
            count = yield from self._driven(self._leaders.partitions(self._attempts(end_ms), topic))
        if not count:
            raise UserOperationFailed(TIMED_OUT, f"no broker knows a topic {topic} that is led")
        return count

    def _exchange(
        self,
        request: Message,
        version: int,
        broker: int | None,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
    ) -> Waits:
        """Send a request to one broker, by default to a random one, and return the exchange when it
        is settled; None if the broker refuses connections."""
        address = self.chance.choice(self.bootstrap) if broker is None else _address(broker)
        connection = self.connection(address)
        if connection is None:
            return None
        yield from self._hold_back(connection)
        exchange = connection.send(request, version, timeout_ms)
        yield exchange
        return exchange

    def _hold_back(self, connection: SimConnection) -> Waits:
        """Wait out the throttle time of the broker's last response, as client libraries do
        (KIP-219)."""
        left_ms = connection.quiet_until_ms - self.world.now_ms if connection.open else 0.0
        if left_ms > 0:
            yield left_ms


def _address(broker: int) -> str:
    return f"broker-{broker}"


def _produce_error(answer: Answer) -> int:
    """Return the error of a Produce. A batch that the log already has is no error."""
    code = error_of(answer)
    return ErrorCode.NONE if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER else code


def _record_json(topic: str, partition: int, record: Record) -> Json:
    """Return a record as a list: topic, partition, offset, timestamp, key, value and headers."""
    headers = [[name, value] for name, value in record.headers]
    return [topic, partition, record.offset, record.timestamp, record.key, record.value, headers]
