"""Answers made comparable, and what differs between two of them.

Ids that a broker draws are told by the order in which they came (`Labels`): two brokers agree where
each of their ids stands for the same label, so equal ids must stay equal and different ones must
not become equal. Times of today become `<now>`, a broker's own address and folder a word. Owns the
labels of one broker in one sequence. Never asks a broker.
"""

from __future__ import annotations

import copy
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from protocol.message import Message
from protocol.record_batch import CorruptBatch, crc_is_valid, read_header
from protocol.records import iterate_records

UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LABEL = re.compile(r"<(.+) (\d+)>")
DRAWN_MEMBER = re.compile(r"[A-Za-z0-9_-]{22}")
"""The id of a classic member that a coordinator makes for a group of the consumer protocol."""
FOREIGN = re.compile(r"d\d+-")
IDS = {
    "topic_id": "topic",
    "producer_id": "producer",
    "session_id": "session",
    "cluster_id": "cluster",
    "replica_directory_id": "directory",
    "log_dir": "directory",
}
NOT_DRAWN = (None, 0, -1, "", bytes(16), bytes(range(16)))
TEXTS = ("error_message", "acknowledge_error_message", "batch_index_error_message", "documentation")
IDENTITY = (
    *("name", "topic", "topic_name", "topic_id", "group_id", "key", "transactional_id"),
    *("resource_type", "resource_name", "partition_index", "partition", "index", "partition_id"),
    *("member_id", "group_instance_id", "producer_id", "api_key", "feature", "node_id", "user"),
)
OF_ONE_BROKER = {
    "DESCRIBE_QUORUM": ("log_end_offset", "high_watermark", "leader_epoch"),
    "API_VERSIONS": ("finalized_features_epoch",),
    # A coordinator learns of a new topic, and of its end, some time after Metadata.
    "DESCRIBE_SHARE_GROUP_OFFSETS": ("topic_id",),
    "DELETE_SHARE_GROUP_OFFSETS": ("topic_id",),
    "DESCRIBE_LOG_DIRS": ("total_bytes", "usable_bytes", "partition_size"),
}
"""Numbers and ids that tell of the broker's own life."""
KEEPS_ORDER = ("records", "replica_nodes", "isr_nodes", "replicas")
TODAY_MS = 48 * 3_600_000


@dataclass(frozen=True)
class Unlabelled:
    """An id that was not seen before."""

    kind: str
    value: Any


class Labels:
    """The ids of one broker, told by kind and order."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, Any], str] = {}
        self._counts: dict[str, int] = {}

    def known(self, kind: str, value: Any) -> str | Unlabelled:
        return self._labels.get((kind, value)) or Unlabelled(kind, value)

    def give(self, one: Unlabelled) -> str:
        key = (one.kind, one.value)
        if key not in self._labels:
            self._counts[one.kind] = self._counts.get(one.kind, -1) + 1
            self._labels[key] = f"<{one.kind} {self._counts[one.kind]}>"
        return self._labels[key]


class Comparable:
    """Makes the answers of one broker comparable."""

    def __init__(
        self, namespace: str, port: int, controller_port: int = 0, *, texts: bool = False
    ) -> None:
        self.labels = Labels()
        self._namespace = namespace
        self._ports = {port: "<port>", controller_port: "<port of the controller>"}
        self._texts = texts
        self._own: tuple[str, ...] = ()

    def tree(self, api: str, message: Message) -> Any:
        """Plain values without what may differ, lists in an order of their own."""
        self._own = OF_ONE_BROKER.get(api, ())
        plain = self._plain("", message)
        if api == "FETCH":
            plain["responses"] = _merged(plain["responses"])
        if api == "SHARE_FETCH":
            plain["responses"] = _without_silent(plain["responses"])
        if api == "LIST_OFFSETS":
            _without_the_clock(plain["topics"])
        return self._label(_sorted(plain, ""))

    def tree_alone(self, api: str, message: Message) -> Any:
        """As `tree`, where the other broker has no answer: no id keeps its label."""
        kept, self.labels = self.labels, copy.deepcopy(self.labels)
        try:
            return self.tree(api, message)
        finally:
            self.labels = kept

    def _plain(self, name: str, value: Any) -> Any:
        if isinstance(value, Message):
            return {one: self._plain(one, getattr(value, one)) for one in value.__slots__}
        if isinstance(value, list):
            return [self._plain(name, item) for item in value if not self._is_foreign(item)]
        if isinstance(value, memoryview):
            value = bytes(value)
        if name in TEXTS and not self._texts and isinstance(value, str):
            return "<text>" if value else ""
        if name == "topic_id" and name in self._own:
            return "<own>"
        if name in IDS and value not in NOT_DRAWN:
            return self.labels.known(IDS[name], value)
        if name == "records" and isinstance(value, bytes):
            return [self._plain("", batch) for batch in batches_of(value)]
        if isinstance(value, dict):
            return {one: self._plain(one, item) for one, item in value.items()}
        return self._scalar(name, value)

    def _is_foreign(self, item: Any) -> bool:
        """Whether it is about something of another sequence: where everything is listed."""
        for name in ("name", "topic", "group_id", "transactional_id", "resource_name", "user"):
            text = getattr(item, name, None)
            if isinstance(text, str) and FOREIGN.match(text):
                return not text.startswith(self._namespace)
        return False

    def _scalar(self, name: str, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, str):
            if name == "member_id" and DRAWN_MEMBER.fullmatch(value):
                return self.labels.known("member", value)
            return self._text(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if name in self._own:
                return "<own>"
            if name == "port" and value in self._ports:
                return self._ports[value]
            if abs(value - time.time() * 1000) < TODAY_MS:
                return "<now>"
        return value

    def _text(self, text: str) -> Any:
        text = text.replace(self._namespace, "~")
        found = UUID_TEXT.search(text)
        if found is None:
            return text
        # What stands before a drawn id (a client's id) is compared, too.
        return self.labels.known(f"{text[: found.start()]}uuid", found.group())

    def _label(self, value: Any) -> Any:
        if isinstance(value, Unlabelled):
            return self.labels.give(value)
        if isinstance(value, dict):
            return {name: self._label(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._label(item) for item in _without_ids_of_equals(value)]
        return value


def _without_ids_of_equals(items: list[Any]) -> list[Any]:
    """Items that differ only in new ids, in no order, do not tell which id is whose. Items that
    are the same also by their ids differ in nothing."""
    keys = Counter(repr(_sort_key(item)) for item in {repr(item): item for item in items}.values())
    return [_without_ids(item) if keys[repr(_sort_key(item))] > 1 else item for item in items]


def _without_ids(value: Any) -> Any:
    if isinstance(value, Unlabelled):
        return f"<a new {value.kind}>"
    if isinstance(value, dict):
        return {name: _without_ids(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_ids(item) for item in value]
    return value


def batches_of(data: bytes) -> list[dict[str, Any]]:
    """Every batch of a record set: its header and its records, or bytes where there are none."""
    found: list[dict[str, Any]] = []
    position = 0
    while position < len(data):
        try:
            header = read_header(data, position)
            end = position + header.size_in_bytes
            if end > len(data):
                raise CorruptBatch("cut")
        except CorruptBatch:
            found.append({"cut": True})
            break
        fields = header._asdict()
        for name in ("crc", "size_in_bytes", "length", "batch_length"):
            fields.pop(name, None)
        fields["crc_is_valid"] = crc_is_valid(data, position, header)
        fields["records"] = _records_of(data[position:end])
        found.append(fields)
        position = end
    return found


def _records_of(batch: bytes) -> Any:
    try:
        return [_record(one) for one in iterate_records(batch)]
    except (CorruptBatch, ValueError):
        return batch[61:].hex()


def _record(record: Any) -> dict[str, Any]:
    fields = record._asdict()
    fields["headers"] = [[name, value] for name, value in record.headers]
    return fields


def _without_the_clock(topics: list[dict[str, Any]]) -> None:
    """Which of several records has the broker's latest time depends on how many of them it took in
    one millisecond."""
    for topic in topics:
        for partition in topic["partitions"]:
            if partition["timestamp"] == "<now>":
                partition["offset"] = "<by the clock>"


def _merged(topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A topic once: Fetch names it as often as others come between its partitions."""
    found: dict[Any, dict[str, Any]] = {}
    for topic in topics:
        own = found.setdefault((topic["topic"], topic["topic_id"]), {**topic, "partitions": []})
        own["partitions"] += topic["partitions"]
    return list(found.values())


def _without_silent(topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Topics without the partitions that have neither records nor an error: ShareFetch names those
    whose group state was read in time."""
    spoken = ("error_code", "acknowledge_error_code", "records", "acquired_records")
    for topic in topics:
        topic["partitions"] = [
            one for one in topic["partitions"] if any(one[name] for name in spoken)
        ]
    return [topic for topic in topics if topic["partitions"]]


def _sorted(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {one: _sorted(item, one) for one, item in value.items()}
    if isinstance(value, list):
        items = [_sorted(item, name) for item in value]
        return items if name in KEEPS_ORDER else sorted(items, key=_sort_key)
    return value


def _sort_key(value: Any) -> Any:
    if isinstance(value, dict):
        names = [one for one in IDENTITY if one in value]
        rest = [one for one in value if one not in IDENTITY]
        return (4, tuple(_sort_key(value[one]) for one in (*names, *rest)))
    if isinstance(value, list):
        return (3, tuple(_sort_key(item) for item in value))
    if value is None:
        return (0, "")
    if isinstance(value, Unlabelled):
        return (0, value.kind)
    if isinstance(value, str):
        label = LABEL.fullmatch(value)
        return (0, label[1], int(label[2])) if label else (2, value)
    return (1, value)


@dataclass(frozen=True)
class Difference:
    """One field in which the answers differ; `path` is where, "" for the answer as a whole."""

    path: str
    kafka: Any
    ottla: Any

    @property
    def place(self) -> str:
        """The path without positions."""
        return re.sub(r"\[\d+\]", "[]", self.path)

    def __str__(self) -> str:
        return f"{self.path or 'the answer'}: Kafka {self.kafka!r}, Ottla {self.ottla!r}"


def differences(kafka: Any, ottla: Any, path: str = "") -> list[Difference]:
    """Field by field; a list of another length is one difference."""
    if isinstance(kafka, dict) and isinstance(ottla, dict) and kafka.keys() == ottla.keys():
        return [
            one
            for name in kafka
            for one in differences(kafka[name], ottla[name], f"{path}.{name}" if path else name)
        ]
    if isinstance(kafka, list) and isinstance(ottla, list) and len(kafka) == len(ottla):
        return [
            one
            for index, pair in enumerate(zip(kafka, ottla, strict=True))
            for one in differences(*pair, f"{path}[{index}]")
        ]
    same = type(kafka) is type(ottla) and kafka == ottla
    return [] if same else [Difference(path, kafka, ottla)]
