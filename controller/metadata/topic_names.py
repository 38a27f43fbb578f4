"""The rules for topic names.

Owns: the rule for one name, and for two that would share a metric's name ('.' and '_').
Follows `org.apache.kafka.common.internals.Topic`.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_NAME_LENGTH = 249
CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")

_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def topic_name_fault(name: str) -> str | None:
    """Return the text of INVALID_TOPIC_EXCEPTION for a name that no topic may have; None if `name`
    is valid."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed "
            f"length {MAX_NAME_LENGTH}"
        )
    if not _LEGAL.issuperset(name):
        return (
            f"Topic name is invalid: '{name}' contains one or more characters other than "
            "ASCII alphanumerics, '.', '_' and '-'"
        )
    return None


def can_collide(name: str) -> bool:
    """Return whether another name can share the metrics of `name`: it contains `.` or `_`."""
    return "." in name or "_" in name


def normalized(name: str) -> str:
    """Return the form of a name that is equal for colliding names: with `_` for each `.`."""
    return name.replace(".", "_")


def collision_index(names: Iterable[str]) -> dict[str, str]:
    """Return the names that can collide, by their normalized form; of several with one form, the
    last."""
    return {normalized(name): name for name in names if can_collide(name)}


def is_internal(name: str) -> bool:
    """Return whether the topic is one of INTERNAL_TOPICS, in which the broker itself keeps its
    state."""
    return name in INTERNAL_TOPICS
