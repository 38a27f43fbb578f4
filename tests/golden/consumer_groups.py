"""Conversations with a group coordinator about consumer and share groups: those of Apache Kafka.

`consumer_groups_kafka.json` and `share_groups_kafka.json` hold for each scenario its steps: a topic
that is made, grows or goes, a config of the group, or a request with Kafka's answer and the records
that Kafka wrote for it, batch by batch. Names stand for what a run makes up: `g` for the group,
`id:t` for the id of topic `t`. Messages stand without fields that have their defaults, and without
what says nothing of groups. Where the order of a list says nothing, it is sorted.
"""

from __future__ import annotations

import json
import typing
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any

from broker.groups.group_records import read_group_record
from protocol.message import Message
from protocol.primitives import uuid_from_string, uuid_to_string

FOLDER = Path(__file__).parent
FILES = (FOLDER / "consumer_groups_kafka.json", FOLDER / "share_groups_kafka.json")

DROPPED = ("error_message", "throttle_time_ms", "authorized_operations", "client_host")
CHANCE = ("commit_timestamp", "assignment_timestamp", "timestamp", "version")
SORTED_BY = ("member_id", "topic_id", "topic_name", "name", "group_id", "partition_index")


@cache
def scenarios_of(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The steps of each scenario of a file, by name."""
    return {one["scenario"]: one["steps"] for one in json.loads(file.read_text())}


@cache
def scenarios() -> dict[str, list[dict[str, Any]]]:
    """The steps of each scenario of all files, by name."""
    return {name: steps for file in FILES for name, steps in scenarios_of(file).items()}


class Names:
    """What stands for the ids of a run."""

    def __init__(self) -> None:
        self.ids: dict[bytes, str] = {}

    def named(self, topic_id: bytes) -> str:
        """How a topic's id is written."""
        return self.ids.get(topic_id) or uuid_to_string(topic_id)

    def id_of(self, text: str) -> bytes:
        """The id of a topic, as it is written."""
        for topic_id, name in self.ids.items():
            if name == text:
                return topic_id
        return uuid_from_string(text)


def message(kind: type[Any], fields: dict[str, Any], names: Names) -> Any:
    """A message, or a part of one, from what is written of it."""
    hints = _hints(kind)
    return kind(**{name: _read(hints[name], value, names) for name, value in fields.items()})


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(kind.__init__)


def _read(hint: Any, value: Any, names: Names) -> Any:
    if isinstance(value, list):
        (item,) = [one for one in _parts(hint) if one is not list and one is not type(None)]
        return [_read(item, one, names) for one in value]
    if isinstance(value, dict):
        if "bytes" in value:
            return b"z" * value["bytes"]
        (kind,) = [one for one in _parts(hint) if issubclass(one, Message)]
        return message(kind, value, names)
    if isinstance(value, str) and bytes in _parts(hint):
        return names.id_of(value)
    return value


def _parts(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (list, UnionType, typing.Union):
        found: list[Any] = []
        for one in typing.get_args(hint):
            found += _parts(one)
        return found
    return [hint]


def plain(value: Any, names: Names) -> Any:
    """How a message is written."""
    if isinstance(value, Message):
        default = type(value)()
        return {
            name: plain(field, names)
            for name in value.__slots__
            if name not in DROPPED
            and name not in CHANCE
            and (field := getattr(value, name)) != getattr(default, name)
        }
    if isinstance(value, list):
        return in_order([plain(one, names) for one in value])
    if isinstance(value, bytes):
        return names.named(value) if len(value) == 16 else {"bytes": len(value)}
    return value


def in_order(items: list[Any]) -> list[Any]:
    """A list whose order says nothing."""
    for key in SORTED_BY:
        if items and all(isinstance(one, dict) and key in one for one in items):
            return sorted(items, key=lambda one: str(one[key]))
    return sorted(items) if all(isinstance(one, str) for one in items) else items


def written(key: bytes, value: bytes | None, names: Names) -> list[Any]:
    """How a record is written: type, key, value or None. Of a metadata hash only whether it is."""
    read = read_group_record(key, value)
    assert isinstance(read, tuple)
    said = None if read[1] is None else plain(read[1], names)
    if said is not None and "metadata_hash" in said:
        said["metadata_hash"] = True
    return [int.from_bytes(key[:2], "big"), plain(read[0], names), said]
