"""The load under which a broker is killed: producers, a group member, and what they were promised.

Every worker is a thread that keeps on through the deaths of the broker, sends again what it has no
answer to, and writes down what was acknowledged. Values are unique: `worker/number`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient

TOPIC = "under-fire"
PARTITIONS = 2
GROUP = "survivors"
SESSION_MS = 30_000
PAUSE_S = 0.002
"""Between two pieces of work: the broker shares the machine with its load."""
RETRY_S = 0.05

Place = tuple[int, int]
"""Partition and offset."""

LOADING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
NOT_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Worker(threading.Thread):
    """One thread of load. `acknowledged` is where each value is, as it was told."""

    def __init__(self, name: str, port: int) -> None:
        super().__init__(name=name, daemon=True)
        self.port = port
        self.acknowledged: dict[str, Place] = {}
        self.failure: BaseException | None = None
        self.progress = 0
        self._stopping = threading.Event()
        self._client: WireClient | None = None

    def run(self) -> None:
        try:
            self.begin()
            while not self._stopping.is_set():
                self.work()
                time.sleep(PAUSE_S)
        except BaseException as error:  # noqa: BLE001 - told to whoever joins
            self.failure = error
        finally:
            self.end()

    def begin(self) -> None:
        """Before the first piece of work."""

    def work(self) -> None:
        """One piece of work."""
        raise NotImplementedError

    def end(self) -> None:
        """After the last one."""
        self.hang_up()

    def stop(self) -> None:
        """Let it finish what it does, and raise what went wrong in it."""
        self._stopping.set()
        self.join(90)
        assert not self.is_alive(), f"{self.name} does not end"
        if self.failure is not None:
            raise self.failure

    def insist(self, request: Callable[[], Any], version: int) -> Any:
        """The answer to a request that is sent until there is one, over however many deaths."""
        while True:
            try:
                if self._client is None:
                    self._client = WireClient(self.port, self.name, timeout_s=60)
                return self._client.call(request(), version)
            except OSError:
                self.hang_up()
                time.sleep(RETRY_S)

    def hang_up(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


class RawProducer(Worker):
    """Produces batch after batch. Idempotent, it may send each again; plain, it sends each once."""

    def __init__(self, name: str, port: int, *, acks: int, idempotent: bool) -> None:
        super().__init__(name, port)
        self.acks = acks
        self.idempotent = idempotent
        self.sent = 0
        self._producer_id = -1
        self._sequences = dict.fromkeys(range(PARTITIONS), 0)

    def begin(self) -> None:
        if self.idempotent:
            answer = self.insist(lambda: InitProducerIdRequest(None, 60_000), 4)
            assert answer.error_code == 0, answer
            self._producer_id = answer.producer_id

    def work(self) -> None:
        partition = self.sent % PARTITIONS
        values = [f"{self.name}/{self.sent + index}" for index in range(1 + self.sent % 3)]
        self.sent += len(values)
        batch = self._batch(values, partition)
        while True:
            told = self._produce(batch, partition)
            if told is None:
                return  # sent once, and nobody knows
            error = ErrorCode(told.error_code)
            if error is ErrorCode.NONE:
                break
            assert error in NOT_YET, f"{self.name} is told {error!r}"
            time.sleep(RETRY_S)
        for index, value in enumerate(values):
            self.acknowledged[value] = (partition, told.base_offset + index)
        self.progress += 1

    def _batch(self, values: list[str], partition: int) -> bytes:
        now_ms = int(time.time() * 1000)
        sequence = self._sequences[partition] if self.idempotent else -1
        self._sequences[partition] += len(values)
        return bytes(
            build_batch(
                [Record(-1, now_ms, None, value.encode()) for value in values],
                producer_id=self._producer_id,
                producer_epoch=0 if self.idempotent else -1,
                base_sequence=sequence,
            )
        )

    def _produce(self, batch: bytes, partition: int) -> Any:
        data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])]
        request = ProduceRequest(None, self.acks, 10_000, data)
        if self.idempotent:
            answer = self.insist(lambda: request, 9)
            return answer.responses[0].partition_responses[0]
        try:
            if self._client is None:
                self._client = WireClient(self.port, self.name, timeout_s=60)
            return self._client.call(request, 9).responses[0].partition_responses[0]
        except OSError:
            self.hang_up()
            time.sleep(RETRY_S)
            return None


class ConfluentProducer(Worker):
    """librdkafka's idempotent producer, as it comes."""

    def begin(self) -> None:
        self.sent = 0
        self.errors: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{self.port}",
                "enable.idempotence": True,
                "linger.ms": 2,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "error_cb": lambda _error: None,
                "log_level": 0,
            }
        )

    def work(self) -> None:
        for _ in range(10 if len(self._producer) < 200 else 0):
            value = f"{self.name}/{self.sent}"
            self._producer.produce(
                TOPIC, value.encode(), partition=self.sent % PARTITIONS, callback=self._delivered
            )
            self.sent += 1
        self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
            return
        value = (message.value() or b"").decode()
        self.acknowledged[value] = (message.partition(), message.offset())
        self.progress += 1

    def end(self) -> None:
        left = self._producer.flush(60)
        assert not left and not self.errors, (left, self.errors[:3])


class Member(Worker):
    """The one member of a group: it joins once, and its membership must outlive the broker."""

    def __init__(self, name: str, port: int) -> None:
        super().__init__(name, port)
        self.member_id = ""
        self.generation = -1
        self.committed = 0
        self.attempted = 0

    def begin(self) -> None:
        self._patiently(lambda: FindCoordinatorRequest(GROUP), 2)
        joined = self._patiently(self._joining, 3)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        shares = [SyncGroupRequestAssignment(self.member_id, b"everything")]
        self._patiently(
            lambda: SyncGroupRequest(GROUP, self.generation, self.member_id, assignments=shares), 2
        )

    def _joining(self) -> JoinGroupRequest:
        protocols = [JoinGroupRequestProtocol("any", b"anything")]
        return JoinGroupRequest(
            GROUP, SESSION_MS, SESSION_MS, "", None, "not-a-consumer", protocols
        )

    def work(self) -> None:
        """A heartbeat, a commit, and a look at what is committed."""
        beat = self._patiently(lambda: HeartbeatRequest(GROUP, self.generation, self.member_id), 2)
        assert beat.error_code == 0
        self.attempted = self.committed + 1
        part = OffsetCommitRequestPartition(0, self.attempted, -1, f"at {self.attempted}")
        request = OffsetCommitRequest(
            GROUP,
            self.generation,
            self.member_id,
            topics=[OffsetCommitRequestTopic(TOPIC, partitions=[part])],
        )
        self._patiently(lambda: request, 5)
        self.committed = self.attempted
        assert self.look_up() == (self.committed, f"at {self.committed}")
        self.progress += 1

    def look_up(self) -> tuple[int, str]:
        """The committed offset and its metadata."""
        request = OffsetFetchRequest(GROUP, [OffsetFetchRequestTopic(TOPIC, [0])])
        told = self._patiently(lambda: request, 3).topics[0].partitions[0]
        return told.committed_offset, told.metadata

    def _patiently(self, request: Callable[[], Any], version: int) -> Any:
        """The answer, once the coordinator has loaded its log."""
        while True:
            answer = self.insist(request, version)
            error = ErrorCode(error_of(answer))
            if error is ErrorCode.NONE:
                return answer
            assert error in LOADING, f"{self.name} is told {error!r}"
            time.sleep(RETRY_S)


def error_of(answer: Any) -> int:
    """An answer's error, at its top or in its first partition."""
    if hasattr(answer, "error_code"):
        code: int = answer.error_code
        if code:
            return code
    for topic in getattr(answer, "topics", ()):
        for partition in topic.partitions:
            if partition.error_code:
                return int(partition.error_code)
    return 0
