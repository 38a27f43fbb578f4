"""The small text files of a data folder, as far as who reads it without a broker asks them.

Owns the layout of Kafka's checkpoint files (version, count, then lines), of `partition.metadata`
and of `meta.properties`. Never decides what a missing or damaged file means: None says it is.
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
    """The lines after version and count, when both are right."""
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
    """Offsets by topic and partition; None when the file is damaged."""
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
    """The topic id of `partition.metadata`, as Kafka writes it: 22 letters of base64."""
    found = re.search(rb"^topic_id: ([\w-]{22})\s*$", data, re.MULTILINE)
    return found[1].decode() if found else None


def cluster_id_text(data: bytes) -> str | None:
    """The cluster id of `meta.properties`."""
    found = re.search(rb"^cluster\.id=(\S+)\s*$", data, re.MULTILINE)
    return found[1].decode().replace("\\", "") if found else None
