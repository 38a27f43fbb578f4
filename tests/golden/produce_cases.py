"""What a broker answers to odd Produce requests, and to markers that no coordinator writes: a
conversation with Apache Kafka 4.3.0, kept.

`python -m tests.golden.produce_cases` records `produce_answers_kafka_4_3_0.json` from a real
broker; `tests/unit/broker/apis/test_produce_kafka.py` has it with Ottla. An answer is
[error, base offset, log append time, log start offset] of each partition, by topic and index, or
its error alone: in which order they come is told by nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.record_batch import CRC_OFFSET
from protocol.records import Record, build_batch

RECORDED = Path(__file__).parent / "produce_answers_kafka_4_3_0.json"
NOW_MS = 1_600_000_000_000
CLOSED = "closed"
ADMIN = "__admin_client"
INTERNAL = ("__consumer_offsets", "__transaction_state")
UNUSED, ADMINS = 3, 4  # partitions of those where no coordinator writes meanwhile

Batch = bytes | bytearray | None


class Call(Protocol):
    """One request on a connection of its own."""

    def __call__(self, request: Any, version: int, client_id: str | None = ..., /) -> Any:
        """The answer; CLOSED where the connection is closed instead."""


def batch(count: int = 1, key: bytes | None = b"k", **options: Any) -> bytearray:
    """A good one."""
    return build_batch([Record(-1, NOW_MS, key, b"v")] * count, **options)


def damaged() -> bytearray:
    """One whose checksum is wrong."""
    broken = batch()
    broken[CRC_OFFSET] ^= 1
    return broken


class Conversation:
    """Asks in order, and keeps each answer under its name. `pause` lets the broker work."""

    def __init__(self, call: Call, pause: Callable[[], None]) -> None:
        self.answers: dict[str, Any] = {}
        self.call = call
        self.pause = pause

    def keep(self, name: str, answer: Any) -> None:
        assert name not in self.answers, name
        self.answers[name] = answer

    def until_good(self, request: Any, version: int) -> Any:
        for _ in range(600):
            answer = self.call(request, version)
            if answer.error_code == ErrorCode.NONE:
                return answer
            self.pause()
        raise AssertionError(f"no other answer to {request}")

    def create(self, name: str, partitions: int = 1, **configs: str) -> str:
        overrides = [
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
        ]
        topic = CreatableTopic(name, partitions, 1, configs=overrides)
        assert self.call(CreateTopicsRequest([topic], 30_000), 7).topics[0].error_code == 0
        while (
            not self.call(MetadataRequest([MetadataRequestTopic(name=name)]), 12)
            .topics[0]
            .partitions
        ):
            self.pause()
        return name

    def topic_id(self, name: str) -> bytes:
        topic_id: bytes = (
            self.call(MetadataRequest([MetadataRequestTopic(name=name)]), 12).topics[0].topic_id
        )
        return topic_id

    def end(self, topic: str, index: int = 0) -> int:
        """The offset after the last record."""
        asked = ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=-1)])
        offset: int = (
            self.call(ListOffsetsRequest(-1, topics=[asked]), 5).topics[0].partitions[0].offset
        )
        return offset

    def produce(
        self,
        name: str,
        *topics: tuple[str, Sequence[tuple[int, Batch]]],
        version: int = 12,
        acks: int = 1,
        transactional_id: str | None = None,
        client_id: str | None = "me",
    ) -> None:
        """`topics`: (name, [(index, batch), …]); by their ids from v13 on."""
        ids = {topic: self.topic_id(topic) for topic, _ in topics} if version >= 13 else {}
        data = [
            TopicProduceData(topic, ids.get(topic, bytes(16)), [_data(*one) for one in partitions])
            for topic, partitions in topics
        ]
        request = ProduceRequest(transactional_id, acks, 5_000, data)
        response = self.call(request, version, client_id)
        if response == CLOSED:
            self.keep(name, CLOSED)
            return
        names = {topic_id: topic for topic, topic_id in ids.items()}
        self.keep(
            name,
            sorted(
                [
                    names.get(topic.topic_id, topic.name),
                    one.index,
                    one.error_code,
                    one.base_offset,
                    "now" if one.log_append_time_ms > NOW_MS else one.log_append_time_ms,
                    one.log_start_offset,
                ]
                for topic in response.responses
                for one in topic.partition_responses
            ),
        )

    def mark(
        self,
        name: str,
        topic: str,
        markers: Sequence[tuple[int, int, int, int]],
        version: int,
    ) -> None:
        """Aborts in partition 0."""
        asked = [
            WritableTxnMarker(
                producer_id, epoch, False, [WritableTxnMarkerTopic(topic, [0])], coordinator, level
            )
            for producer_id, epoch, coordinator, level in markers
        ]
        response = self.call(WriteTxnMarkersRequest(asked), version)
        self.keep(
            name,
            sorted(
                [result.producer_id, *(one.error_code for one in marked.partitions)]
                for result in response.markers
                for marked in result.topics
            ),
        )


def _data(index: int, records: Batch) -> PartitionProduceData:
    return PartitionProduceData(index, None if records is None else memoryview(bytearray(records)))


def _to_internal_topics(talk: Conversation) -> None:
    """Only `__admin_client` may; what is no batch is said to be none first."""
    for kind, key in enumerate(("group", "transaction")):
        talk.until_good(FindCoordinatorRequest(key, kind), 3)
    talk.create("plain")
    for topic in INTERNAL:
        ask = partial(_one, talk, topic)
        for version in (3, 7, 8, 9, 12, 13):
            for acks in (-1, 0, 1):
                ask(f"v{version} acks {acks}", batch(), version=version, acks=acks)
        for client_id in (None, "", "admin", ADMIN + "-1", ADMIN.upper()):
            ask(f"by {client_id!r}", batch(), client_id=client_id)
        ask("sixty bytes", batch()[:60])
        ask("two batches", batch() + batch())
        ask("no bytes", b"")
        ask("a wrong checksum", damaged())
        ask("no key", batch(key=None))
        ask("acks 2", batch(), acks=2)
        ask("a partition that is not there", batch(), index=77)
        talk.produce(
            f"{topic} beside another", ("plain", [(0, batch())]), (topic, [(UNUSED, batch())])
        )
        for version in (11, 12):
            name = f"{topic}-{version}"
            made = talk.until_good(InitProducerIdRequest(name, 60_000), 4)
            options = {
                "producer_id": made.producer_id,
                "producer_epoch": made.producer_epoch,
                "base_sequence": 0,
            }
            ask(f"idempotent v{version}", batch(**options), version=version)
            ask(
                f"transactional v{version}",
                batch(**options, is_transactional=True),
                version=version,
                transactional_id=name,
            )
        talk.keep(f"{topic}: its end after all this", talk.end(topic, UNUSED))
        for acks in (-1, 1):
            ask(f"by its admin, acks {acks}", batch(), index=ADMINS, acks=acks, client_id=ADMIN)
        ask("no key, by its admin", batch(key=None), index=ADMINS, client_id=ADMIN)
        ask("by me after its admin", batch(), index=ADMINS)
        talk.keep(f"{topic}: what its admin wrote", talk.end(topic, ADMINS))
    for topic in ("__cluster_metadata", "__share_group_state"):
        _one(talk, topic, "", batch())


MARKERS: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "of the producer id -1": ((-1, 0, 0, 0),),
    "of the epoch -1": ((5, -1, 0, 0),),
    "of no producer": ((-1, -1, 0, 2),),
    "of the transaction version -1": ((6, 0, 0, -1),),
    "of the producer id -2": ((-2, 0, 0, 0),),
    "of the epoch -2": ((7, -2, 0, 0),),
    "of the coordinator epoch -1": ((8, 0, -1, 0),),
    "of the coordinator epoch -2": ((9, 0, -2, 0),),
    "of the transaction version -2": ((10, 0, 0, -2),),
    "of a transaction version to come": ((11, 0, 0, 127),),
    "beside one of a version that is none": ((14, 0, 0, 0), (15, 0, 0, -1), (16, 0, 0, 0)),
    "twice": ((17, 0, 0, 0), (17, 0, 0, 0)),
    "twice, at last an old epoch": ((18, 5, 0, 0), (18, 0, 0, 0)),
    "twice, at first an old epoch": ((18, 0, 0, 0), (18, 7, 0, 0)),
}
"""(producer id, producer epoch, coordinator epoch, transaction version) of each marker."""


def _markers(talk: Conversation) -> None:
    topic = talk.create("marked")
    for place in (topic, "__consumer_offsets", "__transaction_state", "nowhere"):
        for name, markers in MARKERS.items():
            for version in (1, 2):
                talk.mark(f"marker {name}, in {place}, v{version}", place, markers, version)
    talk.keep("after all markers", talk.end(topic))
    beside = (12, 0, 0, 0), (-1, 0, 0, 0), (13, 0, 0, 0)
    talk.mark("markers beside one of no producer", topic, beside, 2)


def _duplicates(talk: Conversation) -> None:
    for topic in (
        talk.create("by-producers-time"),
        talk.create("by-brokers-time", message_timestamp_type="LogAppendTime"),
    ):
        ask = partial(_one, talk, topic, index=0)
        for sequence in range(3):
            ask(f"batch {sequence}", _of_producer(2 * sequence, 2, NOW_MS - 10 * sequence))
        for version in (3, 7, 12):
            for acks in (-1, 1):
                again = _of_producer(2, 2, NOW_MS - 10)
                ask(f"batch 1 again v{version} acks {acks}", again, version=version, acks=acks)
        ask("batch 1 with other times", _of_producer(2, 2, NOW_MS - 500))
        talk.keep(f"{topic}: its end after duplicates", talk.end(topic))


def _of_producer(sequence: int, count: int, timestamp: int) -> bytearray:
    """Its times grow by 1 from `timestamp` on."""
    records = [Record(-1, timestamp + one, b"k", b"v") for one in range(count)]
    return build_batch(records, producer_id=77, producer_epoch=0, base_sequence=sequence)


def _one(
    talk: Conversation, topic: str, name: str, records: Batch, index: int = UNUSED, **options: Any
) -> None:
    talk.produce(f"{topic} {name}".strip(), (topic, [(index, records)]), **options)


def converse(call: Call, pause: Callable[[], None]) -> dict[str, Any]:
    """The whole conversation."""
    talk = Conversation(call, pause)
    _to_internal_topics(talk)
    _markers(talk)
    _duplicates(talk)
    return talk.answers


def record() -> None:
    """Ask a real broker."""
    from tests.apache_kafka import ApacheKafka
    from tests.java_tools import FAST_START
    from tests.wire_client import WireClient

    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:

        def call(request: Any, version: int, client_id: str | None = "me") -> Any:
            with WireClient(kafka.port, client_id) as wire:
                wire.send(request, version)
                try:
                    return wire.receive()
                except ConnectionError:
                    return CLOSED

        answers = converse(call, lambda: time.sleep(0.05))
    RECORDED.write_text(json.dumps(answers, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    record()
