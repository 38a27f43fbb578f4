"""WriteTxnMarkers (API key 27). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_i = Struct(">i")
_ih = Struct(">ih")
_q = Struct(">q")
_qhT = Struct(">qh?")


class WritableTxnMarkerTopic(SlicedMessage):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = NEW,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is NEW else partition_indexes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[WritableTxnMarkerTopic]:
        partition_indexes: list[int]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        partition_indexes, pos, stop = yield from p.read_numbers(buf, pos, n, "i", 4, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partition_indexes), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partition_indexes) + 1)
        out += Struct(f">{len(self.partition_indexes)}i").pack(*self.partition_indexes)
        out += b"\0"


class WritableTxnMarker(SlicedMessage):
    __slots__ = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")

    def __init__(
        self,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = NEW,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics = [] if topics is NEW else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[WritableTxnMarker]:
        topics: list[WritableTxnMarkerTopic]
        producer_id, producer_epoch, transaction_result = _qhT.unpack_from(buf, pos)
        pos += 11
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_topics, pos, stop = yield from WritableTxnMarkerTopic.read_steps(buf, pos, version, stop)
            topics.append(item_topics)
        (coordinator_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        if version == 2:
            (transaction_version,) = _b.unpack_from(buf, pos)
            pos += 1
        else:
            transaction_version = 0
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(producer_id, producer_epoch, transaction_result, topics, coordinator_epoch, transaction_version), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _qhT.pack(self.producer_id, self.producer_epoch, self.transaction_result)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += _i.pack(self.coordinator_epoch)
        if version == 2:
            out += _b.pack(self.transaction_version)
        out += b"\0"


class WriteTxnMarkersRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("markers",)

    def __init__(
        self,
        markers: list[WritableTxnMarker] = NEW,
    ) -> None:
        self.markers = [] if markers is NEW else markers

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[WriteTxnMarkersRequest]:
        markers: list[WritableTxnMarker]
        n, pos = p.read_compact_array_length(buf, pos, 17)
        if n < 0:
            p.refuse_null_array()
        markers = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_markers, pos, stop = yield from WritableTxnMarker.read_steps(buf, pos, version, stop)
            markers.append(item_markers)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(markers), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.markers) + 1)
        for item_markers in self.markers:
            item_markers.write(out, version)
        out += b"\0"


class WritableTxnMarkerPartitionResult(Message):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[WritableTxnMarkerPartitionResult, int]:
        partition_index, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(partition_index, error_code), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.partition_index, self.error_code)
        out += b"\0"


class WritableTxnMarkerTopicResult(Message):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = NEW,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is NEW else partitions

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[WritableTxnMarkerTopicResult, int]:
        partitions: list[WritableTxnMarkerPartitionResult]
        name, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        partitions = []
        for _ in range(n):
            item_partitions, pos = WritableTxnMarkerPartitionResult.read(buf, pos, version)
            partitions.append(item_partitions)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, partitions), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += p.uvarint(len(self.partitions) + 1)
        for item_partitions in self.partitions:
            item_partitions.write(out, version)
        out += b"\0"


class WritableTxnMarkerResult(Message):
    __slots__ = ("producer_id", "topics")

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = NEW,
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is NEW else topics

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[WritableTxnMarkerResult, int]:
        topics: list[WritableTxnMarkerTopicResult]
        (producer_id,) = _q.unpack_from(buf, pos)
        pos += 8
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        topics = []
        for _ in range(n):
            item_topics, pos = WritableTxnMarkerTopicResult.read(buf, pos, version)
            topics.append(item_topics)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(producer_id, topics), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _q.pack(self.producer_id)
        out += p.uvarint(len(self.topics) + 1)
        for item_topics in self.topics:
            item_topics.write(out, version)
        out += b"\0"


class WriteTxnMarkersResponse(Message):
    API_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 1

    __slots__ = ("markers",)

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = NEW,
    ) -> None:
        self.markers = [] if markers is NEW else markers

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[WriteTxnMarkersResponse, int]:
        markers: list[WritableTxnMarkerResult]
        n, pos = p.read_compact_array_length(buf, pos, 10)
        if n < 0:
            p.refuse_null_array()
        markers = []
        for _ in range(n):
            item_markers, pos = WritableTxnMarkerResult.read(buf, pos, version)
            markers.append(item_markers)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(markers), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.markers) + 1)
        for item_markers in self.markers:
            item_markers.write(out, version)
        out += b"\0"


REQUEST = WriteTxnMarkersRequest
RESPONSE = WriteTxnMarkersResponse
