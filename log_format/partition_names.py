"""The names of partition folders: `topic-partition`, and those that a broker has set aside.

Follows Kafka's `UnifiedLog.parseTopicPartitionName`; a topic's name may have dots and dashes.
"""

from __future__ import annotations

_SET_ASIDE = ("-delete", "-future", "-stray")


def partition_of(name: str) -> tuple[str, int] | None:
    """Return topic and partition of a partition folder's name; None for every other name."""
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not number.isdecimal() or not number.isascii():
        return None
    return (topic, int(number)) if str(int(number)) == number else None


def is_set_aside(name: str) -> bool:
    """Return whether a folder is set aside: to be deleted, on the move to another disk, or stray
    (of no topic of the cluster)."""
    return name.endswith(_SET_ASIDE) and "." in name
