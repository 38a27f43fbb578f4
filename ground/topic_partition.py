"""A partition's name, and the names of its folders.

It never judges a topic's name; the controller did so when the topic was created. Kafka's code is
`UnifiedLog.parseTopicPartitionName`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from log_format.partition_names import partition_of

DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
STRAY_DIR_SUFFIX = "-stray"

_NAME_LENGTH_MAX = 255
_SET_ASIDE = re.compile(r"(\S+-\d+)\.[0-9a-f]{32}(-delete|-future|-stray)", re.ASCII)
"""The folder names that a node of Ottla or Kafka makes for set-aside partitions. A name such as
`t-0.before-delete` is a user's own backup."""


class TopicPartition(NamedTuple):
    """A topic's partition; equal to the plain pair (topic, partition)."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def parse_directory(name: str) -> TopicPartition | None:
    """Return the partition of a folder named `topic-partition`; None for every other name."""
    name_and_index = partition_of(name)
    return TopicPartition(*name_and_index) if name_and_index is not None else None


def is_set_aside(name: str, suffix: str) -> bool:
    """Return whether a node has set this folder aside with `suffix`, to be deleted, moved or kept
    as a stray. Its name is then `topic-partition.`, 32 hexadecimal digits and `suffix`."""
    match = _SET_ASIDE.fullmatch(name)
    return match is not None and match.group(2) == suffix


def set_aside_partition(name: str) -> TopicPartition | None:
    """Return the partition in the name of a folder that a node has set aside; None for all other
    names. If the topic's name was cut because it is long, this is another topic's partition."""
    match = _SET_ASIDE.fullmatch(name)
    return None if match is None else parse_directory(match.group(1))


def set_aside_name(partition: TopicPartition, unique: str, suffix: str) -> str:
    """Return `topic-partition.unique` followed by `suffix`. The topic's name is cut if the whole
    would be too long."""
    tail = f"-{partition.partition}.{unique}{suffix}"
    return partition.topic[: _NAME_LENGTH_MAX - len(tail)] + tail
