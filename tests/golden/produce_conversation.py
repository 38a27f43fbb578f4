"""One who asks a broker to append, and keeps what it answers: `produce_cases` says what is asked.

Owns what an answer is when it is kept, and good batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Protocol

from protocol.errors import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
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
from protocol.record_batch import ATTRIBUTES_OFFSET, CRC_OFFSET, crc_of
from protocol.records import Record
from tests.batches import build_batch

NOW_MS = 1_600_000_000_000
CLOSED = "closed"

Batch = bytes | bytearray | None

_ATTRIBUTES, _CRC = Struct(">H"), Struct(">I")


class Call(Protocol):
    """One request on a connection of its own."""

    def __call__(self, request: Any, version: int, client_id: str | None = ..., /) -> Any:
        """The answer; CLOSED where the connection is closed instead."""


def batch(count: int = 1, key: bytes | None = b"k", **options: Any) -> bytearray:
    """A good one."""
    return build_batch([Record(-1, NOW_MS, key, b"v")] * count, **options)


def with_attributes(attributes: int, codec: int) -> bytearray:
    """One with these sixteen bits, of which `codec` is right."""
    one = batch(compression=codec)
    _ATTRIBUTES.pack_into(one, ATTRIBUTES_OFFSET, attributes)
    _CRC.pack_into(one, CRC_OFFSET, crc_of(one, 0, len(one)))
    return one


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
        for index in range(partitions):
            while self._end(name, index).error_code:
                self.pause()
        return name

    def topic_id(self, name: str) -> bytes:
        topic_id: bytes = (
            self.call(MetadataRequest([MetadataRequestTopic(name=name)]), 12).topics[0].topic_id
        )
        return topic_id

    def end(self, topic: str, index: int = 0) -> int:
        """The offset after the last record."""
        found = self._end(topic, index)
        assert found.error_code == 0
        return int(found.offset)

    def _end(self, topic: str, index: int) -> Any:
        asked = ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=-1)])
        return self.call(ListOffsetsRequest(-1, topics=[asked]), 5).topics[0].partitions[0]

    def alter(self, topic: str, **configs: str) -> None:
        """Set configs of a topic, and wait until the broker has applied them."""
        changes = [AlterableConfig(key.replace("_", "."), 0, text) for key, text in configs.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(2, topic, changes)], False)
        assert self.call(request, 1).responses[0].error_code == 0
        for _ in range(20):
            self.pause()

    def offset_at(self, topic: str, timestamp: int) -> list[int]:
        """Error, offset and timestamp by ListOffsets in partition 0; -3: of the latest record."""
        asked = ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=timestamp)])
        found = self.call(ListOffsetsRequest(-1, topics=[asked]), 7).topics[0].partitions[0]
        return [found.error_code, found.offset, found.timestamp]

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
            TopicProduceData(
                topic, ids.get(topic, bytes(16)), [partition_data(*one) for one in partitions]
            )
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

    def last_attributes(self, topic: str) -> int:
        """Of the last batch of partition 0, of which each has one record."""
        asked = FetchPartition(0, fetch_offset=self.end(topic) - 1, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic, partitions=[asked])]
        )
        records = self.call(request, 11).responses[0].partitions[0].records
        (attributes,) = _ATTRIBUTES.unpack_from(records, ATTRIBUTES_OFFSET)
        return int(attributes)


def partition_data(index: int, records: Batch) -> PartitionProduceData:
    return PartitionProduceData(index, None if records is None else memoryview(bytearray(records)))
