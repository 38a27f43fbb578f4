"""Every generated message in every version of Kafka's definitions: it reads what it writes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import pytest

from protocol import primitives
from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode
from protocol.message import Message, SlicedMessage, as_dict
from protocol.primitives import MessageBuffer, uvarint
from tests.messages.message_lengths import plain_encoding, wrong_lengths
from tests.messages.message_values import INTEGERS, KINDS, Case, Struct, case, cases

PREFIX_LIMIT_BYTES = 400
LONG_ARRAY = 300
"""Items of a long array, which take at least so many bytes."""


def written(message: Any, version: int) -> bytes:
    out = MessageBuffer()
    message.write(out, version)
    return out.joined()


def every_message() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("message", cases(), ids=lambda c: c.name)


def requests() -> list[Case]:
    """Return the requests that hold arrays."""
    return [one for one in cases() if issubclass(one.cls, SlicedMessage)]


def test_every_definition_has_a_class() -> None:
    assert len(cases()) > 250
    assert sum(len(c.versions) for c in cases()) > 700


@every_message()
def test_class_names_its_versions(message: Case) -> None:
    cls = message.cls
    assert (message.versions[0], message.versions[-1]) == (cls.MIN_VERSION, cls.MAX_VERSION)
    for version in message.versions:
        assert (version >= cls.FLEXIBLE_FROM) == message.is_flexible(version)
    if "apiKey" in message.definition:
        assert message.definition["apiKey"] == cls.API_KEY


@every_message()
def test_fields_are_kafkas(message: Case) -> None:
    def check(struct: Struct) -> None:
        for field, attribute in zip(struct.fields, struct.attributes, strict=True):
            assert attribute.replace("_", "") == field["name"].lower()
            if field["type"].removeprefix("[]")[0].isupper():
                check(struct.nested(field, attribute))

    check(message.struct)


@every_message()
def test_reads_what_it_writes(message: Case) -> None:
    for version in message.versions:
        for kind in KINDS:
            value = message.instance(version, kind)
            data = written(value, version)
            # Bytes around it: a message starts where it is told to and stops at its own end.
            read, end = message.cls.read(memoryview(b"\x7f" * 3 + data + b"\x7f"), 3, version)
            assert read == value, f"v{version} {kind}"
            assert end == 3 + len(data), f"v{version} {kind}"


def grown(message: Message) -> Iterator[Callable[[], None]]:
    """Make each array of a message long in turn, and give what makes it short again."""
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, Message):
            yield from grown(value)
        if not isinstance(value, list) or not value:
            continue
        if isinstance(value[0], Message):
            yield from grown(value[0])
        setattr(message, name, value * LONG_ARRAY)
        yield partial(setattr, message, name, value)


@pytest.mark.parametrize("message", requests(), ids=lambda c: c.name)
def test_long_arrays_of_requests_are_read_in_slices(
    message: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(primitives, "SLICE_BYTES", 64)
    monkeypatch.setattr(primitives, "NUMBERS_BYTES", 64)
    for version in message.versions:
        value = message.instance(version, "random-2")
        short = len(written(value, version))
        for shorten in grown(value):
            data = written(value, version)
            if len(data) - short > LONG_ARRAY:  # else the array is in no request of this version
                steps = message.cls.read_steps(memoryview(data), 0, version, 64)
                slices = 0
                while not (ended := step(steps)):
                    slices += 1
                assert ended[0][:2] == (value, len(data)), f"v{version}"
                assert slices > LONG_ARRAY // 64, f"v{version} with {len(data)} bytes"
            shorten()


def step(steps: Generator[None, None, Any]) -> list[Any]:
    """Take a step; what it comes to in a list if it was the last one."""
    try:
        next(steps)
    except StopIteration as end:
        return [end.value]
    return []


@every_message()
def test_bytes_that_end_too_soon_are_refused(message: Case) -> None:
    for version in message.versions:
        data = memoryview(written(message.instance(version, "random-1"), version))
        step = 1 + len(data) // PREFIX_LIMIT_BYTES
        for length in range(0, len(data), step):
            with pytest.raises(ProtocolError):
                decode(message.cls, data[:length], 0, version)


@every_message()
def test_bytes_are_those_of_a_plain_encoder(message: Case) -> None:
    for version in message.versions:
        for kind in KINDS:
            value = message.instance(version, kind)
            plain = plain_encoding(message, value, version)
            assert written(value, version).hex() == plain.data.hex(), f"v{version} {kind}"


@every_message()
def test_wrong_lengths_are_refused_or_read(message: Case) -> None:
    """Nothing but ProtocolError comes out; null, or a length that still fits, may be legal."""
    for version in message.versions:
        plain = plain_encoding(message, message.instance(version, "random-1"), version)
        for where, data in wrong_lengths(plain):
            try:
                decode(message.cls, memoryview(data), 0, version)
            except ProtocolError:
                continue
            except Exception as error:
                raise AssertionError(f"v{version} {where}: {error!r}") from error


def test_a_length_that_was_not_received_allocates_nothing() -> None:
    refused = 0
    tracemalloc.start()
    try:
        for name in ("FetchRequest", "MetadataResponse", "ProduceRequest", "JoinGroupRequest"):
            message = case(name)
            for version in message.versions:
                plain = plain_encoding(message, message.instance(version, "random-1"), version)
                for where, data in wrong_lengths(plain):
                    if not where.endswith(str(2**31 - 1)):
                        continue
                    tracemalloc.reset_peak()
                    before, _ = tracemalloc.get_traced_memory()
                    try:
                        decode(message.cls, memoryview(data), 0, version)
                    except ProtocolError:
                        refused += 1
                    _, peak = tracemalloc.get_traced_memory()
                    assert peak - before < 100_000, f"v{version} {where}"
    finally:
        tracemalloc.stop()
    assert refused > 100


@every_message()
def test_unknown_tagged_fields_are_passed_over(message: Case) -> None:
    for version in message.versions:
        if not message.is_flexible(version):
            continue
        value = message.instance(version, "defaults")
        data = written(value, version)
        assert data[-1] == 0, "a message of defaults has no tagged fields, at its end"
        unknown = uvarint(2) + uvarint(10_000) + b"\x03abc" + uvarint(10_001) + b"\x00"
        data = data[:-1] + unknown
        assert message.cls.read(memoryview(data), 0, version) == (value, len(data))


def test_unknown_tagged_fields_inside_structs_are_passed_over() -> None:
    cls = case("DeleteTopicsRequest").cls
    by_name = b"\x04abc" + bytes(16)
    data = b"\x02" + by_name + b"\x01\x05\x02hi" + bytes(4) + b"\x00"
    read, end = cls.read(memoryview(data), 0, 6)
    assert end == len(data)
    assert [topic.name for topic in read.topics] == ["abc"]


def test_the_longest_string() -> None:
    header = case("RequestHeader")
    longest = "é" * 16_383 + "x"  # 32767 bytes
    value = header.cls(client_id=longest)
    assert header.cls.read(memoryview(written(value, 2)), 0, 2)[0] == value
    group = case("HeartbeatRequest")
    value = group.cls(group_id=longest)
    assert group.cls.read(memoryview(written(value, 4)), 0, 4)[0] == value


def test_every_kind_reaches_what_it_is_for() -> None:
    """The instances are only worth something if they hold nulls, long arrays and limits."""
    metadata = case("MetadataRequest")
    assert metadata.instance(12, "nulls").topics is None
    assert len(metadata.instance(12, "long").topics) > 127
    produce = case("ProduceRequest")
    nested = produce.instance(9, "long-nested")
    assert len(nested.topic_data) == 1
    assert len(nested.topic_data[0].partition_data) > 127
    heartbeat = case("HeartbeatRequest").instance(4, "limits")
    assert heartbeat.generation_id in INTEGERS["int32"]
    fetch = case("FetchRequest")
    assert any(fetch.instance(17, kind).replica_state is not None for kind in KINDS)


def test_instances_are_the_same_at_every_run() -> None:
    vote = case("VoteRequest")
    first = vote.instance(2, "random-1")
    assert as_dict(first) == as_dict(vote.instance(2, "random-1"))
    assert first != vote.instance(2, "random-2")
