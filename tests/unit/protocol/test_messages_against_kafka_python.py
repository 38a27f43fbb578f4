"""Every message that kafka-python has, against its codec: the same values, the same bytes."""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
import uuid
from typing import Any

import kafka.protocol
import pytest
from kafka.protocol.api_message import ApiMessage

from protocol.primitives import MessageBuffer
from tests.messages.message_values import KINDS, Case, Struct, cases

# kafka-python shows these as sets of bits.
BIT_FIELDS = {"cluster_authorized_operations", "topic_authorized_operations"}
BIT_FIELDS |= {"authorized_operations"}
# kafka-python's name for a field that Kafka has renamed.
OLD_NAMES = {"generation_id_or_member_epoch": "generation_id"}


def kafka_python_classes() -> dict[str, Any]:
    """Message name → kafka-python's class for it."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" in info.name or ".schemas" in info.name:
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, type) and getattr(value, "_json", None):
                found[value._json["name"]] = value
    return found


THEIRS = kafka_python_classes()
COMMON = [case for case in cases() if case.name in THEIRS]


def test_kafka_python_has_most_client_messages() -> None:
    assert len(COMMON) >= 100


@pytest.mark.parametrize("message", COMMON, ids=lambda case: case.name)
def test_values_and_bytes_are_kafka_pythons(message: Case) -> None:
    codec = THEIRS[message.name]
    compared = 0
    for version in message.versions:
        if version > getattr(codec, "max_version", version):
            continue
        for kind in KINDS:
            ours = message.instance(version, kind)
            out = MessageBuffer()
            ours.write(out, version)
            data = out.joined()
            theirs, again = decode_and_encode(codec, data, version, message.is_flexible(version))
            assert_same(ours, theirs, message.struct, version, f"v{version} {kind}")
            assert bytes(again).hex() == data.hex(), f"v{version} {kind}"
            compared += 1
    assert compared


def decode_and_encode(codec: Any, data: bytes, version: int, flexible: bool) -> tuple[Any, bytes]:
    """What kafka-python reads, and what it writes from that."""
    if issubclass(codec, ApiMessage):
        # Not codec.decode: that of ApiVersionsResponse guesses the version.
        decode: Any = ApiMessage.decode
        theirs = decode.__func__(codec, data, version=version)
        theirs._header = None
        return theirs, theirs.encode(version=version)
    if not hasattr(codec, "max_version"):  # the headers
        theirs = codec.decode(io.BytesIO(data), flexible=flexible)
        return theirs, theirs.encode(flexible=flexible)
    theirs = codec.decode(data, version=version, header=False)
    return theirs, theirs.encode(version=version, header=False)


def assert_same(ours: Any, theirs: Any, struct: Struct, version: int, where: str) -> None:
    for field, attribute in struct.at(version):
        their_name = re.sub(r"(?<!^)(?=[A-Z])", "_", field["name"]).lower()
        if their_name in BIT_FIELDS:
            continue
        mine = getattr(ours, attribute)
        if not hasattr(theirs, their_name):
            their_name = OLD_NAMES[their_name]
        other = getattr(theirs, their_name)
        path = f"{where} {attribute}"
        element = field["type"].removeprefix("[]")
        if mine is None or other is None:
            # kafka-python's default of a tagged uuid or struct is None.
            absent = (None, bytes(16)) if "taggedVersions" in field else (None,)
            assert mine in absent and other is None, path
        elif element[0].isupper():
            nested = struct.nested(field, attribute)
            is_array = field["type"].startswith("[]")
            pairs = zip(mine, other, strict=True) if is_array else [(mine, other)]
            for index, (one, two) in enumerate(pairs):
                assert_same(one, two, nested, version, f"{path}[{index}]")
        else:
            assert plain(other) == plain(mine), path


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, uuid.UUID):
        return value.bytes
    return bytes(value) if isinstance(value, memoryview) else value
