"""Producers: idempotent ones that try until they know, and plain ones that give up.

Every value is unique and tells who sent it and as which of its sends: `name/number`. A producer
sends a round of batches over one connection without waiting in between, then again those that were
lost, in their order, as Kafka's clients do with up to five requests in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.network.sim_network import Exchange
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.batches import build_batch
from tests.retriable import RETRIABLE
from tests.simulation.sim_actor import REQUEST_TIMEOUT_MS, SimActor, Topic
from tests.simulation.transactions import Txn

IDEMPOTENT = "idempotent"
TOPIC_IDS_FROM = 13
ZSTD_FROM = 7
SETTLED = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
LOST_STATE = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


@dataclass(slots=True, eq=False)
class Batch:
    """Values for one partition, on their way."""

    topic: str
    topic_id: bytes
    partition: int
    values: list[bytes]
    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = -1
    sends: int = 0
    followed: bool = False
    """Whether one with a higher sequence was on its way together with it."""
    codec: int = 0
    error: ErrorCode | None = None
    told_by: str = ""
    txn: Txn | None = None
    in_time: bool = False
    """Whether a broker began with it before the epoch of its transaction was known to be fenced."""

    @property
    def place(self) -> tuple[bytes, int]:
        return self.topic_id, self.partition


@dataclass(slots=True)
class Sending:
    """What watchers are told of a Produce request (`Exchange.about`)."""

    batch: Batch
    acks: int
    idempotent: bool
    results: list[tuple[ErrorCode, int]] = field(default_factory=list)


class SimProducer(SimActor):
    """See the module; `acks` and `idempotent` are the client's configs."""

    def __init__(
        self,
        name: str,
        *where: Any,
        topics: list[str],
        acks: int,
        idempotent: bool,
        think_ms: float,
        trusts_state: bool = True,
        view: SimulatedNodes | None = None,
    ) -> None:
        """`view` tells which leader counts; None: all of them."""
        super().__init__(name, *where)
        self._view = view
        self.names = topics
        self.acks = acks
        self.idempotent = idempotent
        self.think_ms = think_ms
        self.trusts_state = trusts_state
        self.version = self.chance.choice([3, 5, 7, 8, 9, 11, 12, 13])
        self.pipelines = self.chance.random() < 0.5
        """Whether it sends to a partition again while it waits for an answer from there."""
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[tuple[bytes, int], int] = {}
        self.sent = 0

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        if self.idempotent:
            yield from self._init_producer()
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            if self.idempotent and self.chance.random() < 0.02:
                yield from self._init_producer()  # the next life of this client
            batches: dict[tuple[bytes, int, int], Batch] = {}
            for number in range(self.chance.choice([1, 1, 2, 3, 5])):
                place = self._place()
                if place is not None:
                    topic, partition = place
                    key = (topic.topic_id, partition, number if self.pipelines else 0)
                    if key not in batches:
                        batches[key] = self._batch(topic, partition)
            yield from self._deliver(list(batches.values()))

    def _init_producer(self) -> Waits:
        version = self.chance.randint(0, 5)
        self.sequences.clear()
        while True:
            request = InitProducerIdRequest(None, 60_000)
            response = yield from self.call(request, version)
            if response is not None and not response.error_code:
                self.producer_id, self.producer_epoch = response.producer_id, 0
                return
            yield self.pause_ms()

    def _place(self) -> tuple[Topic, int] | None:
        topic = self.topics.get(self.chance.choice(self.names))
        if topic is None or not topic.leaders:
            return None
        return topic, self.chance.choice(sorted(topic.leaders))

    def _batch(self, topic: Topic, partition: int) -> Batch:
        values = []
        for _ in range(self.chance.choice([1, 1, 2, 4])):
            self.sent += 1
            padding = b"." * self.chance.choice([0, 10, 300])
            values.append(f"{self.name}/{self.sent}".encode() + padding)
        batch = Batch(topic.name, topic.topic_id, partition, values)
        batch.codec = self.chance.choice([0, 0, 0, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
        if batch.codec == Codec.ZSTD and self.version < ZSTD_FROM:
            batch.codec = 0
        if self.idempotent:
            key = (topic.topic_id, partition)
            batch.producer_id, batch.producer_epoch = self.producer_id, self.producer_epoch
            batch.sequence = self.sequences.get(key, 0)
            self.sequences[key] = batch.sequence + len(values)
        return batch

    # --- delivery ------------------------------------------------------------------------------

    def _deliver(self, batches: list[Batch]) -> Waits:
        """Send until each is settled; a plain producer gives up after some times."""
        while batches:
            exchanges = [self._send(batch) for batch in batches]
            waiting = [one for one in exchanges if one is not None]
            if self.acks == 0:
                return
            yield waiting
            left: list[Batch] = []
            for batch, exchange in zip(batches, exchanges, strict=True):
                self._take(batch, exchange)
                if batch.error not in SETTLED and self._tries_again(batch, left, batches):
                    left.append(batch)
            batches = left
            if batches:
                yield self.pause_ms()
                yield from self.learn(self.names)
                if self.idempotent and self.producer_id < 0:
                    # Their outcome is unknown for good: sent again, they could be there twice.
                    yield from self._init_producer()
                    return

    def _send(self, batch: Batch) -> Exchange | None:
        batch.sends += 1
        leader = self.topics.leader(batch.topic, batch.partition)
        connection = self.connection(leader) if leader else None
        if connection is None:
            return None
        return connection.send(
            self.request_for(batch),
            self.version,
            REQUEST_TIMEOUT_MS,
            about=Sending(batch, self.acks, self.idempotent),
            answered=self.acks != 0,
        )

    def request_for(self, batch: Batch) -> ProduceRequest:
        """A Produce with one batch."""
        return ProduceRequest(
            None, self.acks, 5_000, [self._topic_data(batch, self._encoded(batch))]
        )

    def _topic_data(self, batch: Batch, records: bytes) -> TopicProduceData:
        data = [PartitionProduceData(batch.partition, records)]
        return TopicProduceData(batch.topic, batch.topic_id, data)

    def _encoded(self, batch: Batch) -> bytes:
        now_ms = self.world.wall_ms()
        records = [Record(-1, now_ms, b"k", value) for value in batch.values]
        built = build_batch(
            records,
            compression=batch.codec,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.sequence,
        )
        return bytes(built)

    def _take(self, batch: Batch, exchange: Exchange | None) -> None:
        if exchange is None or not exchange.ok:
            batch.error = None
            return
        told = exchange.response.responses[0].partition_responses[0]
        batch.error = ErrorCode(told.error_code)
        batch.told_by = exchange.node

    def _tries_again(self, batch: Batch, left: list[Batch], all_sent: list[Batch]) -> bool:
        batch.followed |= any(
            one.place == batch.place and one.sequence > batch.sequence for one in all_sent
        )
        if not self.idempotent:
            return batch.sends < 4 and batch.error in (None, *RETRIED)
        if batch.error is not None and self.is_refused(batch.error):
            return True  # somebody gives it the right again
        if batch.error not in LOST_STATE:
            self._expect_retriable(batch)
            return True
        if any(one.place == batch.place for one in left):
            return True  # the one before it was refused, so this one is out of order
        if self._from_another_past(batch):
            return True
        # A snapshot keeps the last batch of a producer: after a restart the one before it is out
        # of order, though it is there. So is one that was refused for now, once a later one was
        # taken as the first of a producer that the log does not know (KIP-360). As in Kafka.
        if self.trusts_state and not (batch.followed and batch.sends > 1):
            raise Violation(
                "I3",
                f"{self.name} is told {batch.error!r} for sequence {batch.sequence} of "
                f"{batch.topic}-{batch.partition}, sent {batch.sends} times",
            )
        self.producer_id = -1
        return True

    def _from_another_past(self, batch: Batch) -> bool:
        """Whether a leader that was replaced told it: it lacks what its successor acknowledged, and
        what it says is as good as no answer."""
        view = self._view
        if view is None or not batch.told_by:
            return False
        teller = view.at(batch.told_by)
        leads = view.leader(batch.topic, batch.partition) is teller
        return not leads or view.is_replaced(teller, batch.topic, batch.partition)

    def _expect_retriable(self, batch: Batch) -> None:
        if batch.error is not None and batch.error not in RETRIABLE:
            raise Violation("I20", f"{self.name} is told {batch.error!r} for a good batch")


RETRIED = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.REQUEST_TIMED_OUT,
)


class ChurnProducer(SimProducer):
    """Sends by topic id to topics that come and go."""

    def __init__(self, name: str, *where: Any, **options: Any) -> None:
        super().__init__(name, *where, **options)
        self.version = TOPIC_IDS_FROM

    def life(self) -> Waits:
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            if self.chance.random() < 0.3 or not self.topics.everything():
                yield from self.learn(self.names)
            place = self._place()
            if place is not None:
                yield from self._deliver([self._batch(*place)])
