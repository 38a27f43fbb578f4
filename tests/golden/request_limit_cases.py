"""Requests with very many items or tagged fields: what Apache Kafka answers, and what it cuts.

`python -m tests.golden.request_limit_cases` records `request_limits_kafka.json`: whether the broker
answers each frame (true) or closes the connection. `tests/unit/protocol/test_request_limits.py`
reads the same frames by Ottla's codec.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from protocol.primitives import uvarint
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "request_limits_kafka.json"

_FETCH, _METADATA, _OFFSET_FETCH, _JOIN_GROUP, _DESCRIBE_GROUPS = 1, 3, 9, 11, 15
_LIST_GROUPS, _API_VERSIONS, _LIST_CONFIG_RESOURCES = 16, 18, 74
_INTS = {
    "-1": b"\xff\xff\xff\xff\x0f",
    "-2^31": b"\x80\x80\x80\x80\x08",
    "1 - 2^31": b"\x81\x80\x80\x80\x08",
    "2^31 - 1": b"\xff\xff\xff\xff\x07",
}
"""Varints that are very large, or negative as an int."""
_NAMES = b"\x02a\x02b"  # of ApiVersions: the client's software and its version
_FETCH_BODY = struct.pack(">iiii?iibbb", -1, 0, 1, 1_000_000, False, 0, -1, 1, 1, 1)


def _plain(key: int, version: int, body: bytes) -> bytes:
    """A frame without its size and tagged fields."""
    return struct.pack(">hhih", key, version, 7, -1) + body


def _flexible(key: int, version: int, body: bytes, header_tags: bytes = b"\0") -> bytes:
    return _plain(key, version, header_tags + body)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _tags(count: int, first: int = 0) -> bytes:
    """That many tagged fields, all empty."""
    fields = b"".join(uvarint(tag) + b"\0" for tag in range(first, first + count))
    return uvarint(count) + fields


def _long_arrays(count: int) -> Iterator[tuple[str, bytes]]:
    length = struct.pack(">i", count)
    yield "compact texts", _flexible(_LIST_GROUPS, 4, uvarint(count + 1) + b"\x01" * count + b"\0")
    numbers = uvarint(count + 1) + b"\x02" * count
    yield "compact int8", _flexible(_LIST_CONFIG_RESOURCES, 1, numbers + b"\0")
    topics = _text("g") + length + (_text("") + bytes(4)) * count
    yield "structs", _plain(_OFFSET_FETCH, 1, topics)
    partitions = _text("g") + struct.pack(">i", 1) + _text("t") + length + bytes(4 * count)
    yield "int32", _plain(_OFFSET_FETCH, 1, partitions)
    yield "texts", _plain(_DESCRIBE_GROUPS, 0, length + b"\0\0" * count)
    protocol = struct.pack(">i", 1) + _text("r") + length + bytes(count)
    member = _text("h") + struct.pack(">i", 10_000) + _text("") + _text("consumer")
    yield "bytes, which are no array", _plain(_JOIN_GROUP, 0, member + protocol)


def _many_tags(tags: bytes, further: bytes) -> Iterator[tuple[str, bytes]]:
    """`further` begins above the tags that Fetch has."""
    yield "ListGroups", _flexible(_LIST_GROUPS, 4, b"\x01" + tags)
    yield "the header", _flexible(_LIST_GROUPS, 4, b"\x01\0", tags)
    yield "ApiVersions", _flexible(_API_VERSIONS, 3, _NAMES + tags)
    yield "the header of ApiVersions", _flexible(_API_VERSIONS, 3, _NAMES + b"\0", tags)
    yield "an item of Metadata", _flexible(_METADATA, 9, b"\x02\x02t" + tags + bytes(4))
    yield "Fetch", _flexible(_FETCH, 12, _FETCH_BODY + further)


def cases() -> Iterator[tuple[str, bytes]]:
    """(name, frame without its size)."""
    for count in (1_000_000, 1_000_001):
        for name, frame in _long_arrays(count):
            # A million groups or topics are accepted, and take long to answer.
            if count > 1_000_000 or name.startswith(("compact", "bytes")):
                yield f"{count} {name}", frame
    for count in (10_000, 10_001):
        for name, frame in _many_tags(_tags(count), _tags(count, 100)):
            yield f"{count} tagged fields, {name}", frame
    for shown, number in _INTS.items():
        for name, frame in _many_tags(number, number):
            yield f"{shown} tagged fields, {name}", frame
        yield f"the size of a tag {shown}", _flexible(_LIST_GROUPS, 4, b"\x01\x01\x05" + number)
        yield f"length + 1 of an array {shown}", _flexible(_LIST_GROUPS, 4, number + b"\0")
        nullable = _flexible(_METADATA, 9, number + bytes(4))
        yield f"length + 1 of a nullable array {shown}", nullable
    for length in (-1, -2, -(2**31)):
        packed = struct.pack(">i", length)
        yield f"length of an array {length}", _plain(_DESCRIBE_GROUPS, 0, packed)
        yield f"length of a nullable array {length}", _plain(_METADATA, 1, packed)


def _is_answered(port: int, frame: bytes) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            return connection.recv(1) != b""
        except ConnectionError:
            return False


def record() -> None:
    """Ask a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        answered = {name: _is_answered(kafka.port, frame) for name, frame in cases()}
    write_json(RECORDED, answered)


if __name__ == "__main__":
    record()
