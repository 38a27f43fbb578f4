"""StreamsGroupTopologyDescriptionUpdate (API key 93). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_b = Struct(">b")
_i = Struct(">i")
_ih = Struct(">ih")


class TopologyDescriptionNode(SlicedMessage):
    __slots__ = ("name", "node_type", "source_topics", "sink_topic", "stores", "successors")

    def __init__(
        self,
        name: str = "",
        node_type: int = 0,
        source_topics: list[str] = NEW,
        sink_topic: str | None = None,
        stores: list[str] = NEW,
        successors: list[str] = NEW,
    ) -> None:
        self.name = name
        self.node_type = node_type
        self.source_topics = [] if source_topics is NEW else source_topics
        self.sink_topic = sink_topic
        self.stores = [] if stores is NEW else stores
        self.successors = [] if successors is NEW else successors

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopologyDescriptionNode]:
        source_topics: list[str]
        sink_topic: str | None
        stores: list[str]
        successors: list[str]
        name, pos = p.read_compact_string(buf, pos)
        (node_type,) = _b.unpack_from(buf, pos)
        pos += 1
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        source_topics = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_source_topics, pos = p.read_compact_string(buf, pos)
            source_topics.append(item_source_topics)
        sink_topic, pos = p.read_compact_nullable_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        stores = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_stores, pos = p.read_compact_string(buf, pos)
            stores.append(item_stores)
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        successors = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_successors, pos = p.read_compact_string(buf, pos)
            successors.append(item_successors)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(name, node_type, source_topics, sink_topic, stores, successors), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.name)
        out += _b.pack(self.node_type)
        out += p.uvarint(len(self.source_topics) + 1)
        for item_source_topics in self.source_topics:
            out += p.compact_string(item_source_topics)
        out += p.compact_nullable_string(self.sink_topic)
        out += p.uvarint(len(self.stores) + 1)
        for item_stores in self.stores:
            out += p.compact_string(item_stores)
        out += p.uvarint(len(self.successors) + 1)
        for item_successors in self.successors:
            out += p.compact_string(item_successors)
        out += b"\0"


class TopologyDescriptionSubtopology(SlicedMessage):
    __slots__ = ("subtopology_id", "nodes")

    def __init__(
        self,
        subtopology_id: str = "",
        nodes: list[TopologyDescriptionNode] = NEW,
    ) -> None:
        self.subtopology_id = subtopology_id
        self.nodes = [] if nodes is NEW else nodes

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopologyDescriptionSubtopology]:
        nodes: list[TopologyDescriptionNode]
        subtopology_id, pos = p.read_compact_string(buf, pos)
        n, pos = p.read_compact_array_length(buf, pos, 7)
        if n < 0:
            p.refuse_null_array()
        nodes = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_nodes, pos, stop = yield from TopologyDescriptionNode.read_steps(buf, pos, version, stop)
            nodes.append(item_nodes)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopology_id, nodes), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.subtopology_id)
        out += p.uvarint(len(self.nodes) + 1)
        for item_nodes in self.nodes:
            item_nodes.write(out, version)
        out += b"\0"


class TopologyDescriptionGlobalStore(SlicedMessage):
    __slots__ = ("source", "processor")

    def __init__(
        self,
        source: TopologyDescriptionNode = NEW,
        processor: TopologyDescriptionNode = NEW,
    ) -> None:
        self.source = TopologyDescriptionNode() if source is NEW else source
        self.processor = TopologyDescriptionNode() if processor is NEW else processor

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopologyDescriptionGlobalStore]:
        source, pos, stop = yield from TopologyDescriptionNode.read_steps(buf, pos, version, stop)
        processor, pos, stop = yield from TopologyDescriptionNode.read_steps(buf, pos, version, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(source, processor), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        self.source.write(out, version)
        self.processor.write(out, version)
        out += b"\0"


class TopologyDescription(SlicedMessage):
    __slots__ = ("subtopologies", "global_stores")

    def __init__(
        self,
        subtopologies: list[TopologyDescriptionSubtopology] = NEW,
        global_stores: list[TopologyDescriptionGlobalStore] = NEW,
    ) -> None:
        self.subtopologies = [] if subtopologies is NEW else subtopologies
        self.global_stores = [] if global_stores is NEW else global_stores

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[TopologyDescription]:
        subtopologies: list[TopologyDescriptionSubtopology]
        global_stores: list[TopologyDescriptionGlobalStore]
        n, pos = p.read_compact_array_length(buf, pos, 3)
        if n < 0:
            p.refuse_null_array()
        subtopologies = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_subtopologies, pos, stop = yield from TopologyDescriptionSubtopology.read_steps(buf, pos, version, stop)
            subtopologies.append(item_subtopologies)
        n, pos = p.read_compact_array_length(buf, pos, 15)
        if n < 0:
            p.refuse_null_array()
        global_stores = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_global_stores, pos, stop = yield from TopologyDescriptionGlobalStore.read_steps(buf, pos, version, stop)
            global_stores.append(item_global_stores)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(subtopologies, global_stores), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.subtopologies) + 1)
        for item_subtopologies in self.subtopologies:
            item_subtopologies.write(out, version)
        out += p.uvarint(len(self.global_stores) + 1)
        for item_global_stores in self.global_stores:
            item_global_stores.write(out, version)
        out += b"\0"


class StreamsGroupTopologyDescriptionUpdateRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 93
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("group_id", "member_id", "topology_epoch", "topology_description")

    def __init__(
        self,
        group_id: str = "",
        member_id: str = "",
        topology_epoch: int = 0,
        topology_description: TopologyDescription = NEW,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.topology_epoch = topology_epoch
        self.topology_description = TopologyDescription() if topology_description is NEW else topology_description

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[StreamsGroupTopologyDescriptionUpdateRequest]:
        group_id, pos = p.read_compact_string(buf, pos)
        member_id, pos = p.read_compact_string(buf, pos)
        (topology_epoch,) = _i.unpack_from(buf, pos)
        pos += 4
        topology_description, pos, stop = yield from TopologyDescription.read_steps(buf, pos, version, stop)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(group_id, member_id, topology_epoch, topology_description), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.group_id)
        out += p.compact_string(self.member_id)
        out += _i.pack(self.topology_epoch)
        self.topology_description.write(out, version)
        out += b"\0"


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    API_KEY: ClassVar[int] = 93
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[StreamsGroupTopologyDescriptionUpdateResponse, int]:
        error_message: str | None
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        error_message, pos = p.read_compact_nullable_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, error_message), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.compact_nullable_string(self.error_message)
        out += b"\0"


REQUEST = StreamsGroupTopologyDescriptionUpdateRequest
RESPONSE = StreamsGroupTopologyDescriptionUpdateResponse
