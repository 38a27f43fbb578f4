"""A partition's name, and the folder names that come from it.

Never: judges a topic's name; the controller did when the topic was created.
Kafka's class: `UnifiedLog.parseTopicPartitionName`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from log_format.partition_names import partition_of

DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
STRAY_DIR_SUFFIX = "-stray"

_NAME_LENGTH_MAX = 255
_SET_ASIDE = re.compile(r"\S+-\d+\.[0-9a-f]{32}(-delete|-future|-stray)", re.ASCII)
"""As a node of Ottla or Kafka makes them: `t-0.before-delete` is what a person calls a backup."""


class TopicPartition(NamedTuple):
    """Equal to the plain pair (topic, partition)."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_directory(name: str) -> TopicPartition | None:
    """The partition of a live folder's name; None for every other name."""
    found = partition_of(name)
    return TopicPartition(*found) if found is not None else None


def is_set_aside(name: str, suffix: str) -> bool:
    """Whether a node gave a folder this name: to be deleted, moved or kept as a stray."""
    match = _SET_ASIDE.fullmatch(name)
    return match is not None and match.group(1) == suffix


def future_partition(name: str) -> TopicPartition | None:
    """The partition of a `-future` folder's name; a long topic's is cut, and is another's then."""
    return parse_directory(name.rpartition(".")[0])


def set_aside_name(partition: TopicPartition, unique: str, suffix: str) -> str:
    """`topic-partition.unique-suffix`; a topic's name is cut where the whole would be too long."""
    tail = f"-{partition.partition}.{unique}{suffix}"
    return partition.topic[: _NAME_LENGTH_MAX - len(tail)] + tail
