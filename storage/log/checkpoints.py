"""The small text files of a log directory and of a partition, as Kafka writes them.

Owns: the formats of offset checkpoints (`recovery-point-offset-checkpoint`,
`log-start-offset-checkpoint`, `replication-offset-checkpoint`, `cleaner-offset-checkpoint`),
`leader-epoch-checkpoint`, `partition.metadata`, `meta.properties`, `.kafka_cleanshutdown`.

Never: decides on the consequence of a missing or damaged file. A decoder returns None for a damaged
one; the caller rebuilds it, or does not start. `ground.filesystem` replaces all files atomically.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from ground.sliced_work import Pace, Steps, in_one_go
from ground.topic_partition import TopicPartition
from log_format.checkpoints import checkpoint_lines, checkpoint_offsets
from protocol.primitives import uuid_from_string, uuid_to_string

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK_FILE = ".lock"

_VERSION = 0

_LINES_A_SLICE = 1_000


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Return an offset checkpoint: lines of version, count, and `topic partition offset` each."""
    return in_one_go(encode_offsets_in_slices(offsets))


def encode_offsets_in_slices(offsets: Mapping[TopicPartition, int]) -> Steps[bytes]:
    """Return an offset checkpoint, in slices of the loop. `offsets` must not change meanwhile."""
    lines = []
    pace = Pace(_LINES_A_SLICE)
    for (topic, partition), offset in offsets.items():
        if pace.is_full():
            yield None
        lines.append(f"{topic} {partition} {offset}")
    return _encode(lines)


def decode_offsets(data: bytes) -> dict[TopicPartition, int] | None:
    """Return the offsets by (topic, partition), None if the file is damaged."""
    offsets = checkpoint_offsets(data)
    if offsets is None:
        return None
    return {TopicPartition(*partition): offset for partition, offset in offsets.items()}


def encode_leader_epochs(entries: Iterable[tuple[int, int]]) -> bytes:
    """Return a leader epoch checkpoint: lines of version, count, and `epoch start_offset` each."""
    return _encode(f"{epoch} {start}" for epoch, start in entries)


def decode_leader_epochs(data: bytes) -> list[tuple[int, int]] | None:
    """Return (epoch, start offset) pairs. None if the file is damaged, an epoch is not above the
    one before, or a start is below it."""
    lines = checkpoint_lines(data)
    if lines is None:
        return None
    entries: list[tuple[int, int]] = []
    try:
        for line in lines:
            epoch, start = line.split(" ")
            entries.append((int(epoch), int(start)))
    except ValueError:
        return None
    for earlier, later in pairwise(entries):
        if later[0] <= earlier[0] or later[1] < earlier[1]:
            return None
    return entries


def _encode(entries: Iterable[str]) -> bytes:
    """Return a checkpoint file: lines of version, number of entries, and each entry."""
    lines = list(entries)
    return "\n".join((str(_VERSION), str(len(lines)), *lines, "")).encode()


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """Return the content of `partition.metadata`, which has the id of the folder's topic.

    A topic that is deleted and created again has the same name, but another id.
    """
    return f"version: {_VERSION}\ntopic_id: {uuid_to_string(topic_id)}".encode()


def decode_partition_metadata(data: bytes) -> bytes | None:
    """Return the topic id (16 bytes) in `partition.metadata`, None if the file is damaged."""
    try:
        fields = dict(line.split(": ", 1) for line in data.decode().split("\n") if line)
        if int(fields["version"]) != _VERSION:
            return None
        return uuid_from_string(fields["topic_id"])
    except (ValueError, KeyError):
        return None


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    """Return the marker of a clean stop, with the broker epoch that ended cleanly (KIP-966)."""
    content = {"version": _VERSION, "brokerEpoch": broker_epoch}
    return json.dumps(content, separators=(",", ":")).encode()


def decode_clean_shutdown(data: bytes) -> int:
    """Return the broker epoch of a clean-shutdown marker, -1 if it has none."""
    try:
        content = json.loads(data)
        epoch = content.get("brokerEpoch", -1) if isinstance(content, dict) else -1
    except ValueError:
        return -1
    return epoch if isinstance(epoch, int) else -1


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The owner of a log directory: cluster id, node id, and the directory's own id (KIP-858)."""

    cluster_id: str
    node_id: int
    directory_id: bytes | None = None


def encode_meta_properties(properties: MetaProperties) -> bytes:
    """Return `meta.properties` version 1: sorted keys, in Java's properties syntax, no date."""
    lines = ["#", f"cluster.id={_escape(properties.cluster_id)}"]
    if properties.directory_id is not None:
        lines.append(f"directory.id={uuid_to_string(properties.directory_id)}")
    lines += [f"node.id={properties.node_id}", "version=1"]
    return ("\n".join(lines) + "\n").encode()


def decode_meta_properties(data: bytes) -> MetaProperties | None:
    """Return the fields of `meta.properties` version 1 (KRaft) or 0 (with `broker.id`).

    None if the file is damaged or incomplete.
    """
    try:
        values = _properties(data.decode())
        version = int(values["version"])
        node = values["node.id"] if version == 1 else values["broker.id"]
        directory = values.get("directory.id")
        return MetaProperties(
            values["cluster.id"],
            int(node),
            uuid_from_string(directory) if directory else None,
        )
    except (ValueError, KeyError):
        return None


def _properties(text: str) -> dict[str, str]:
    """Return the values of `key=value` lines. A backslash before a character quotes it in Java."""
    values = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, _, value = line.partition("=")
        values[key.strip()] = value.strip().replace("\\", "")
    return values


def _escape(value: str) -> str:
    """Quote a value as Java's `Properties.store` does."""
    return "".join("\\" + char if char in ":=#!\\" else char for char in value)
