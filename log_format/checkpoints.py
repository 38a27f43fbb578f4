"""The small text files of a data folder, as far as they are read without a broker.

Owns the layout of Kafka's checkpoint files (version, count, then lines), of `partition.metadata`
and of `meta.properties`. Returns None for a damaged file; never decides what the damage means.
"""

from __future__ import annotations

import re

_VERSION = 0

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
LEADER_EPOCHS = "leader-epoch-checkpoint"


def checkpoint_lines(data: bytes) -> list[str] | None:
    """Return the lines after version and count; None: the file is damaged."""
    try:
        lines = data.decode().split("\n")
        if int(lines[0]) != _VERSION or lines[-1] != "":
            return None
        count = int(lines[1])
    except (ValueError, IndexError):
        return None
    entries = lines[2:-1]
    return entries if len(entries) == count else None


def checkpoint_offsets(data: bytes) -> dict[tuple[str, int], int] | None:
    """Return the offsets by topic and partition; None: the file is damaged."""
    lines = checkpoint_lines(data)
    if lines is None:
        return None
    offsets: dict[tuple[str, int], int] = {}
    try:
        for line in lines:
            topic, partition, offset = line.split(" ")
            offsets[topic, int(partition)] = int(offset)
    except ValueError:
        return None
    return offsets


def topic_id_text(data: bytes) -> str | None:
    """Return the topic id in `partition.metadata`, as Kafka writes it: 22 characters of base64.
    None: there is none."""
    match = re.search(rb"^topic_id: ([\w-]{22})\s*$", data, re.MULTILINE)
    return match[1].decode() if match else None


def cluster_id_text(data: bytes) -> str | None:
    """Return the cluster id in `meta.properties`; None: there is none."""
    match = re.search(rb"^cluster\.id=(\S+)\s*$", data, re.MULTILINE)
    return match[1].decode().replace("\\", "") if match else None
