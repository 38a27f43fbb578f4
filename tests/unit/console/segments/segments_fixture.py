"""A log directory with a partition whose segments, indexes and checkpoints were written by hand,
and a cluster that says what a login may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from client.cluster import ClusterClient
from console.clusters import Clusters
from console.endpoints import Console
from console.options import ConsoleOptions
from ground.topic_partition import TopicPartition
from log_format.files import Read
from ottla.plugins.authorizer import Operation
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from protocol.record_batch import read_header
from protocol.records import Record
from storage.log.checkpoints import (
    MetaProperties,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from tests.batches import build_batch

CLUSTER_ID = "a-cluster"
TOPIC_ID = bytes(15) + b"\7"
EVERYTHING = (1 << Operation.READ) | (1 << Operation.DESCRIBE) | (1 << Operation.DESCRIBE_CONFIGS)
DESCRIBE = 1 << Operation.DESCRIBE


def reader(data: bytes) -> Read:
    """Bytes as a file is read."""
    return lambda size, position: data[position : position + size]


def batches(first: int, count: int, each: int = 3, *, time: int = 1000) -> list[bytearray]:
    """`count` batches of `each` records, from offset `first` on; a ms between records."""
    found = []
    for number in range(count):
        base = first + number * each
        records = [
            Record(-1, time + number * each + one, b"k%d" % one, b"v" * 20) for one in range(each)
        ]
        found.append(build_batch(records, base_offset=base))
    return found


def write_segment(folder: Path, base: int, parts: Sequence[bytes | bytearray]) -> bytes:
    """The .log with these batches, and indexes with an entry for every second of them."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets, times, position, largest = b"", b"", 0, -1
    for number, part in enumerate(parts):
        header = read_header(part)
        if number % 2:
            offsets += OFFSET_ENTRY.pack(header.last_offset - base, position)
            if header.max_timestamp > largest:
                largest = header.max_timestamp
                times += TIME_ENTRY.pack(largest, header.last_offset - base)
        position += len(part)
    data = b"".join(parts)
    for suffix, content in (("log", data), ("index", offsets), ("timeindex", times)):
        (folder / f"{base:020d}.{suffix}").write_bytes(content)
    return data


def log_directory(
    path: Path,
    *,
    cluster_id: str = CLUSTER_ID,
    node_id: int = 1,
    high_watermark: int | None = None,
) -> Path:
    """With `meta.properties`, and the folder of t-0: two segments of four batches."""
    path.mkdir(parents=True)
    properties = MetaProperties(cluster_id, node_id, bytes(15) + bytes([node_id]))
    (path / "meta.properties").write_bytes(encode_meta_properties(properties))
    folder = path / "t-0"
    write_segment(folder, 0, batches(0, 4))
    write_segment(folder, 12, batches(12, 4, time=2000))
    (folder / "partition.metadata").write_bytes(encode_partition_metadata(TOPIC_ID))
    if high_watermark is not None:
        checkpoint = encode_offsets({TopicPartition("t", 0): high_watermark})
        (path / "replication-offset-checkpoint").write_bytes(checkpoint)
    return path


class SayingCluster:
    """Answers as a cluster would whose topics are allowed so many operations."""

    def __init__(
        self,
        operations: dict[str, int],
        on_cluster: int = 0,
        configs: dict[str, str] | None = None,
    ) -> None:
        self.operations = operations
        self.on_cluster = on_cluster
        self.configs = configs
        """Of topics; None: who asks may not see them."""
        self.asked: list[str] = []

    def call(self, request: Any, _kind: object, _version: object = None) -> object:
        self.asked.append(type(request).__name__)
        if isinstance(request, MetadataRequest):
            return self._metadata(request)
        if isinstance(request, DescribeClusterRequest):
            return DescribeClusterResponse(
                cluster_id=CLUSTER_ID, cluster_authorized_operations=self.on_cluster
            )
        assert isinstance(request, DescribeConfigsRequest)
        return self._configs(request)

    def call_at(self, _node: int, request: Any, kind: object, _version: object = None) -> object:
        return self.call(request, kind)

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = [one.name or "" for one in request.topics or []]
        if request.topics is None:
            names = list(self.operations)
        topics = []
        for name in names:
            bits = self.operations.get(name)
            if bits is None:
                topics.append(MetadataResponseTopic(error_code=3, name=name))
            else:
                topics.append(
                    MetadataResponseTopic(
                        name=name, topic_id=TOPIC_ID, topic_authorized_operations=bits
                    )
                )
        return MetadataResponse(cluster_id=CLUSTER_ID, topics=topics)

    def _configs(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        found = []
        for one in request.resources:
            values = (
                self.configs
                if one.resource_type == 2
                else {"log.retention.check.interval.ms": "7000"}
            )
            found.append(
                DescribeConfigsResult(
                    error_code=0 if values is not None else 29,
                    resource_type=one.resource_type,
                    resource_name=one.resource_name,
                    configs=[
                        DescribeConfigsResourceResult(name=name, value=value, config_source=1)
                        for name, value in (values or {}).items()
                    ],
                )
            )
        return DescribeConfigsResponse(results=found)

    @contextmanager
    def taken(self) -> Iterator[ClusterClient]:
        """As the console gives it to who asks."""
        yield cast(ClusterClient, self)


def console(cluster: SayingCluster, *paths: Path) -> Console:
    """A console whose connection is this cluster."""
    return Console(ConsoleOptions("", data=paths), cast(Clusters, cluster))
