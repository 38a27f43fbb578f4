"""Dead letters of share groups (KIP-1191), as Apache Kafka writes them.

`python -m tests.golden.dead_letter_cases` records `dead_letters_kafka.json` anew: records that a
share consumer rejects, or releases too often, with different configs of the group, the dead-letter
topic and the broker. The records lie in partition 2 of 3 of their topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from protocol.compression import Codec
from protocol.messages import share_acknowledge as acknowledge
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.share_fetch import FetchPartition as SharedPartition
from protocol.messages.share_fetch import FetchTopic as SharedTopic
from protocol.messages.share_fetch import ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.record_batch import iterate_batches
from protocol.records import Headers, Record, iterate_records
from tests.batches import build_batch
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "dead_letters_kafka.json"

TOPIC, BROKER, GROUP = 2, 4, 32
PARTITIONS, PARTITION = 3, 2
RELEASE, REJECT = 2, 3
MEMBER = "m"
GIVEN_UP_AFTER = 2
"""The delivery limit of the groups."""

Content: TypeAlias = tuple[bytes | None, bytes | None]
Ask: TypeAlias = Callable[[Any, int], Any]
"""The answer to a request in a version."""
ENABLED = {"errors.deadletterqueue.group.enable": "true"}
COPY = {"errors.deadletterqueue.copy.record.enable": "true"}
AUTO_CREATE = "errors.deadletterqueue.auto.create.topics.enable"
PLAIN: tuple[Content, ...] = ((b"k0", b"v0"), (b"k1", b"v1"), (None, b"v2"), (b"k3", None))
OWN_HEADERS: Headers = (("own", b"header"),)


@dataclass(frozen=True)
class Case:
    """The records of a group's topic, and what becomes of them."""

    name: str
    letters_topic: dict[str, str] | None = field(default_factory=lambda: dict(ENABLED))
    """Configs of the dead-letter topic of two partitions; None: it does not exist."""
    group: dict[str, str] = field(default_factory=dict)
    records: tuple[Content, ...] = PLAIN
    codec: Codec = Codec.NONE
    acknowledgement: int = REJECT
    """REJECT, or RELEASE until the limit."""
    auto_create: bool = False
    prefix: str = "dlq."
    is_transactional: bool = False
    """True: the records are those of a committed transaction, and its marker follows them."""

    @property
    def topic(self) -> str:
        return f"{self.name}-t"

    @property
    def dead_letter_topic(self) -> str:
        return f"{self.prefix}{self.name}"

    @property
    def last_offset(self) -> int:
        return len(self.records) - 1 + self.is_transactional


CASES = (
    Case("missing", letters_topic=None),
    Case("not-enabled", letters_topic={}),
    Case("other-prefix", prefix="letters."),
    Case("compacted", {**ENABLED, "cleanup.policy": "compact"}),
    Case("rejected"),
    Case("released", group=COPY, acknowledgement=RELEASE),
    *(Case(f"copied-{codec.name.lower()}", group=COPY, codec=codec) for codec in Codec),
    Case("log-append-time", {**ENABLED, "message.timestamp.type": "LogAppendTime"}),
    Case("control", group=COPY, is_transactional=True),
    Case(
        "large",
        {**ENABLED, "max.message.bytes": "1000"},
        COPY,
        ((b"k0", b"v0"), (b"k1", bytes(2_000)), (b"k2", b"v2")),
    ),
    Case(
        "too-large-with-headers",
        {**ENABLED, "max.message.bytes": "1000"},
        COPY,
        ((b"k", bytes(900)),),
    ),
    Case("created", None, COPY, auto_create=True),
)


BETTER = ("too-large-with-headers",)
"""Cases in which Apache Kafka loses the letter and Ottla writes one: here because the copy with its
headers is too large for the topic (`tests/differential/differences.toml`)."""


class Scene:
    """The topics and the group of a case, on a broker that has none of them."""

    def __init__(
        self,
        ask: Ask,
        pause: Callable[[float], None] = time.sleep,
        wall_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        """`pause` waits some seconds; `wall_ms` is the clock for timestamps."""
        self.ask = ask
        self._pause = pause
        self._wall_ms = wall_ms

    def until(self, happens: Callable[[], bool]) -> None:
        """Wait for what takes a broker a while."""
        for _ in range(300):
            if happens():
                return
            self._pause(0.1)
        raise TimeoutError

    def prepare(self, case: Case) -> None:
        """Create the topics, set the configs and write the records."""
        self._create(case.topic, PARTITIONS, {})
        if case.letters_topic is not None:
            self._create(case.dead_letter_topic, 2, case.letters_topic)
        names = {
            "errors.deadletterqueue.topic.name": case.dead_letter_topic,
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": str(GIVEN_UP_AFTER),
        }
        self.alter(GROUP, case.name, {**names, **case.group})
        if case.auto_create:
            self.alter(BROKER, "", {AUTO_CREATE: "true"})
        if case.is_transactional:
            self._write_transaction(case)
        else:
            self._write(case)

    def topic_id(self, name: str) -> bytes:
        """The id of a topic; zeros if it does not exist."""
        request = MetadataRequest([MetadataRequestTopic(name=name)], False)
        found: bytes = self.ask(request, 12).topics[0].topic_id
        return found

    def _create(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        texts = [CreatableTopicConfig(key, text) for key, text in configs.items()]
        topic = CreatableTopic(name, partitions, 1, configs=texts)
        (answer,) = self.ask(CreateTopicsRequest([topic], 20_000), 7).topics
        assert answer.error_code == 0, answer.error_message
        self.until(lambda: any(self.topic_id(name)))

    def alter(self, kind: int, name: str, configs: dict[str, str]) -> None:
        """Set configs of a group, or of all brokers."""
        texts = [AlterableConfig(key, 0, text) for key, text in configs.items()]
        resources = [AlterConfigsResource(kind, name, texts)]
        (answer,) = self.ask(IncrementalAlterConfigsRequest(resources), 1).responses
        assert answer.error_code == 0, answer.error_message

    def _write(self, case: Case, producer: tuple[int, int] = (-1, -1)) -> None:
        now_ms = self._wall_ms()
        records = [Record(-1, now_ms, *content, OWN_HEADERS) for content in case.records]
        identity, epoch = producer
        transaction = None if identity < 0 else case.name
        batch = build_batch(
            records,
            compression=case.codec,
            producer_id=identity,
            producer_epoch=epoch,
            base_sequence=-1 if transaction is None else 0,
            is_transactional=transaction is not None,
        )
        partitions = [PartitionProduceData(PARTITION, batch)]
        topic = TopicProduceData(case.topic, partition_data=partitions)
        answer = self.ask(ProduceRequest(transaction, -1, 20_000, [topic]), 12)
        (partition,) = answer.responses[0].partition_responses
        assert partition.error_code == 0, partition.error_message

    def _write_transaction(self, case: Case) -> None:
        found = FindCoordinatorRequest(key_type=1, coordinator_keys=[case.name])
        self.until(lambda: not self.ask(found, 4).coordinators[0].error_code)
        begun: list[Any] = []

        def begins() -> bool:
            begun[:] = [self.ask(InitProducerIdRequest(case.name, 60_000), 5)]
            return not begun[0].error_code

        self.until(begins)
        producer = begun[0].producer_id, begun[0].producer_epoch
        self._write(case, producer)
        assert self.ask(EndTxnRequest(case.name, *producer, True), 5).error_code == 0

    # -- results ---------------------------------------------------------------------------------

    def result(self, case: Case) -> dict[str, Any]:
        """The dead letters by partition, and the topic's own configs."""
        topic = case.dead_letter_topic
        if not any(self.topic_id(topic)):
            return {"exists": False}
        return {
            "exists": True,
            "configs": dict(sorted(self._own_configs(topic))),
            "letters": list(self._letters(topic)),
        }

    def _own_configs(self, topic: str) -> Iterator[tuple[str, str | None]]:
        request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, topic)])
        (answer,) = self.ask(request, 4).results
        yield from ((one.name, one.value) for one in answer.configs if one.config_source == 1)

    def _letters(self, topic: str) -> Iterator[Any]:
        partitions = self.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12)
        for index in range(len(partitions.topics[0].partitions)):
            place = FetchPartition(index, fetch_offset=0, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic, partitions=[place])]
            )
            data = self.ask(request, 11).responses[0].partitions[0].records
            for position, header in iterate_batches(data or b"", allow_partial_tail=True):
                for record in iterate_records(data, position):
                    yield [index, header.attributes, *_texts(record)]


def _texts(record: Record) -> list[Any]:
    """Key, value and headers as text; many zeros in a row as their number."""
    headers = [[name, (value or b"").decode()] for name, value in record.headers]
    return [_text(record.key), _text(record.value), headers]


def _text(data: bytes | None) -> str | None:
    if data is None:
        return None
    return f"{len(data)} zeros" if len(data) > 100 and not any(data) else data.decode("latin-1")


class ShareConsumer:
    """A member of a case's group, on a connection of its own."""

    def __init__(self, scene: Scene, case: Case, ask: Ask) -> None:
        self._scene = scene
        self._case = case
        self._ask = ask
        self._topic_id = scene.topic_id(case.topic)
        self._epoch = 0

    def give_up_all(self) -> None:
        """Reject or release all records until the group has finished them."""
        scene, case = self._scene, self._case
        found = FindCoordinatorRequest(key_type=0, coordinator_keys=[case.name])
        scene.until(lambda: not self._ask(found, 4).coordinators[0].error_code)
        self._join()
        deliveries = 1 if case.acknowledgement == REJECT else GIVEN_UP_AFTER
        for _ in range(deliveries):
            acquired: set[int] = set()
            while len(acquired) <= case.last_offset:
                acquired |= self._fetch()
            self._acknowledge()
        scene.until(lambda: self._lag() == 0)

    def _join(self) -> None:
        member_epoch, case = 0, self._case

        def is_assigned() -> bool:
            nonlocal member_epoch
            names = [case.topic] if member_epoch == 0 else None
            request = ShareGroupHeartbeatRequest(case.name, MEMBER, member_epoch, None, names)
            answer = self._ask(request, 1)
            member_epoch = 0 if answer.error_code else answer.member_epoch
            assigned = answer.assignment and answer.assignment.topic_partitions
            return bool(assigned) and not answer.error_code

        self._scene.until(is_assigned)

    def _fetch(self) -> set[int]:
        """The offsets that the member acquires."""
        request = ShareFetchRequest(
            self._case.name, MEMBER, self._epoch, 500, 1, 1 << 20, 500, 500,
            topics=[SharedTopic(self._topic_id, [SharedPartition(PARTITION)])],
        )  # fmt: skip
        answer = self._ask(request, 2)
        if answer.error_code:
            return set()
        self._epoch += 1
        return {
            offset
            for topic in answer.responses
            for partition in topic.partitions
            for acquired in partition.acquired_records
            for offset in range(acquired.first_offset, acquired.last_offset + 1)
        }

    def _acknowledge(self) -> None:
        batches = [
            acknowledge.AcknowledgementBatch(
                0, self._case.last_offset, [self._case.acknowledgement]
            )
        ]
        partition = acknowledge.AcknowledgePartition(PARTITION, batches)
        topics = [acknowledge.AcknowledgeTopic(self._topic_id, [partition])]
        request = acknowledge.ShareAcknowledgeRequest(
            self._case.name, MEMBER, self._epoch, topics=topics
        )
        answer = self._ask(request, 2)
        errors = [one.error_code for topic in answer.responses for one in topic.partitions]
        assert (answer.error_code, errors) == (0, [0]), answer
        self._epoch += 1

    def _lag(self) -> int:
        groups = [DescribeShareGroupOffsetsRequestGroup(self._case.name, None)]
        answer = self._ask(DescribeShareGroupOffsetsRequest(groups), 1)
        lags = [
            one.lag
            for topic in answer.groups[0].topics
            for one in topic.partitions
            if one.partition_index == PARTITION
        ]
        return int(lags[0]) if lags else -1


def record() -> None:
    """Ask a real broker."""
    from tests.clients.wire_client import WireClient
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    port, results = free_port(), {}
    version = {"share.version": 2}
    with (
        ApacheKafka(port=port, jvm_options=FAST_START, heap="512m", features=version),
        WireClient(port) as client,
    ):
        scene = Scene(client.call)
        for case in CASES:
            scene.prepare(case)
            with WireClient(port) as member:
                ShareConsumer(scene, case, member.call).give_up_all()
            results[case.name] = scene.result(case)
    write_json(RECORDED, results)


if __name__ == "__main__":
    record()
