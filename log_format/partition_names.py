"""Names of partition folders: `topic-partition`, and those that are set aside.

Kafka's `UnifiedLog.parseTopicPartitionName`: a topic's name may have dots and dashes itself.
"""

from __future__ import annotations

_SET_ASIDE = ("-delete", "-future", "-stray")


def partition_of(name: str) -> tuple[str, int] | None:
    """Topic and partition of a live folder's name; None for every other name."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isdecimal() or not number.isascii():
        return None
    return (topic, int(number)) if str(int(number)) == number else None


def is_set_aside(name: str) -> bool:
    """Whether a folder is to be deleted, is on its way to another disk, or belongs to nobody."""
    return name.endswith(_SET_ASIDE) and "." in name
