"""Hostile bytes for every message and version: only ProtocolError may come out, and quickly.

Each length of each message is replaced by lies, and golden traffic of real clients is mutated. See
CVE-2022-34917: a tiny frame that claims a huge array.
"""

from __future__ import annotations

import contextlib
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ProtocolError
from protocol.frames.message_codec import (
    decode,
    decode_response,
    read_request_header,
    skip_header_tags,
)
from tests.golden.traffic import ANSWERS, TRAFFIC, mutation
from tests.messages.length_fields import LengthField, lies, recorded
from tests.messages.message_values import Case, case, cases

KINDS = ("random-1", "nulls")
MUTATIONS = 60


def refused(cls: Any, data: bytes, version: int) -> bool:
    """Whether the decoder refuses; anything but ProtocolError comes through and fails the test."""
    try:
        decode(cls, memoryview(data), 0, version)
    except ProtocolError:
        return True
    return False


# --- the instrument itself -----------------------------------------------------------------------


def test_recorded_bytes_are_the_messages_own() -> None:
    from protocol.primitives import MessageBuffer

    for message in cases():
        for version in message.versions:
            value = message.instance(version, "random-1")
            out = MessageBuffer()
            value.write(out, version)
            data, fields = recorded(value, version)
            assert data == out.joined(), f"{message.name} v{version}"
            assert all(field.position + field.width <= len(data) for field in fields)


def test_lengths_are_found() -> None:
    metadata = case("MetadataRequest").cls()
    assert recorded(metadata, 0) == (b"\0\0\0\0", [LengthField(0, 4, "int32")])
    heartbeat = case("HeartbeatRequest").cls("gr", 1, "m")
    assert recorded(heartbeat, 0)[1] == [LengthField(0, 2, "int16"), LengthField(8, 2, "int16")]
    assert recorded(heartbeat, 4)[1] == [
        LengthField(0, 1, "uvarint"),
        LengthField(7, 1, "uvarint"),
        LengthField(9, 1, "uvarint"),
        LengthField(10, 1, "uvarint"),
    ]


# --- lies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", cases(), ids=lambda c: c.name)
def test_lengths_that_lie(message: Case) -> None:
    for version in message.versions:
        for kind in KINDS:
            data, fields = recorded(message.instance(version, kind), version)
            for field in fields:
                for lie in lies(data, field):
                    refused(message.cls, lie, version)


@pytest.mark.parametrize("name", ["ProduceRequest", "FetchRequest", "MetadataRequest"])
def test_one_byte_too_many_is_always_refused(name: str) -> None:
    message = case(name)
    for version in message.versions:
        data, fields = recorded(message.instance(version, "random-1"), version)
        for field in fields:
            if field.form == "int32":
                beyond = (len(data) - field.position - 3).to_bytes(4)
                lie = data[: field.position] + beyond + data[field.position + 4 :]
                assert refused(message.cls, lie, version), f"v{version} {field}"


@pytest.mark.parametrize("message", cases(), ids=lambda c: c.name)
def test_lies_cost_no_memory(message: Case) -> None:
    version = message.versions[-1]
    data, fields = recorded(message.instance(version, "random-2"), version)
    refused(message.cls, data, version)
    tracemalloc.start()
    try:
        for field in fields:
            for lie in lies(data, field):
                refused(message.cls, lie, version)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# --- mutated traffic -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", TRAFFIC, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_mutated_requests(path: Path) -> None:
    rng = random.Random(f"{path.parent.name}/{path.name}")
    frame = path.read_bytes()
    for _ in range(MUTATIONS):
        damaged = memoryview(mutation(rng, frame, rng.choice(TRAFFIC).read_bytes()))
        with contextlib.suppress(ProtocolError):
            key, version, _, _, pos = read_request_header(damaged)
            if key not in ApiKey.__members__.values():
                continue
            try:
                message = messages_of(ApiKey(key)).request
            except (ModuleNotFoundError, AttributeError):
                continue  # keys that Kafka no longer has messages for
            if message.MIN_VERSION <= version <= message.MAX_VERSION:
                if version >= message.FLEXIBLE_FROM:
                    pos = skip_header_tags(damaged, pos)
                decode(message, damaged, pos, version)


@pytest.mark.parametrize("path", ANSWERS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_mutated_responses(path: Path) -> None:
    rng = random.Random(f"{path.parent.name}/{path.name}")
    frame = path.read_bytes()
    name, version = path.stem.removesuffix("_response").rsplit("_v", 1)
    for _ in range(MUTATIONS):
        damaged = memoryview(mutation(rng, frame, rng.choice(ANSWERS).read_bytes()))
        with contextlib.suppress(ProtocolError):
            decode_response(ApiKey[name.upper()], damaged, int(version))
