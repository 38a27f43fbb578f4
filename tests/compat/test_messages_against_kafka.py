"""Every message in every version, byte for byte against Apache Kafka's own classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from protocol.primitives import MessageBuffer
from tests.messages.message_oracle import MessageOracle, OracleRefusal
from tests.messages.message_values import KINDS, Case, Struct, case, cases

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def oracle() -> Iterator[MessageOracle]:
    with MessageOracle() as running:
        yield running


def written(message: Any, version: int) -> bytes:
    out = MessageBuffer()
    message.write(out, version)
    return out.joined()


def every_message() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("message", cases(), ids=lambda c: c.name)


@every_message()
def test_versions_are_kafkas(message: Case, oracle: MessageOracle) -> None:
    assert oracle.version_range(message.name) == (message.versions[0], message.versions[-1])


@every_message()
def test_bytes_are_kafkas(message: Case, oracle: MessageOracle) -> None:
    for version in message.versions:
        for kind in KINDS:
            value = message.instance(version, kind)
            theirs = oracle.encode(message.name, version, message.to_kafka_json(value, version))
            ours = written(value, version)
            assert ours.hex() == theirs.hex(), f"v{version} {kind}"
            assert message.cls.read(memoryview(theirs), 0, version) == (value, len(theirs))


@every_message()
def test_kafka_reads_our_bytes(message: Case, oracle: MessageOracle) -> None:
    for version in message.versions:
        for kind in ("random-1", "nulls", "limits"):
            value = message.instance(version, kind)
            read = oracle.decode(message.name, version, written(value, version))
            said = message.to_kafka_json(value, version)
            assert without_unsent(said, message.struct, version) == read, f"v{version} {kind}"


@every_message()
def test_defaults_are_kafkas(message: Case, oracle: MessageOracle) -> None:
    """Also of the fields that a version does not have: a handler reads them without asking."""
    for version in message.versions:
        ours = message.to_kafka_json(message.cls(), version)
        try:
            theirs = oracle.defaults(message.name, version)
        except OracleRefusal as refusal:
            # A default of null where the version knows no null: Kafka cannot write it either.
            assert "NullPointerException" in str(refusal)
            continue
        assert without_unsent(ours, message.struct, version) == theirs, f"v{version}"


def without_unsent(values: Any, struct: Struct, version: int) -> Any:
    """Kafka's converter leaves tagged fields out that have their default, and empties records."""
    kept = {}
    for field, attribute in struct.at(version):
        name = field["name"][0].lower() + field["name"][1:]
        if name not in values:
            continue
        value = values[name]
        element = field["type"].removeprefix("[]")
        tagged = "taggedVersions" in field
        if tagged and value == _default_in_json(field, struct, attribute, version):
            continue
        if element == "records" and value is not None:
            value = ""
        if element[0].isupper() and value is not None:
            nested = struct.nested(field, attribute)
            if field["type"].startswith("[]"):
                value = [without_unsent(item, nested, version) for item in value]
            else:
                value = without_unsent(value, nested, version)
        kept[name] = value
    return kept


def _default_in_json(field: Any, struct: Struct, attribute: str, version: int) -> Any:
    whole = Case("", {}, struct.cls, struct).to_kafka_json(struct.cls(), version)
    name = field["name"][0].lower() + field["name"][1:]
    return whole.get(name)


def test_kafka_refuses_what_ends_too_soon(oracle: MessageOracle) -> None:
    """The oracle itself can say no: an answer is not simply what was asked for."""
    heartbeat = case("HeartbeatRequest")
    data = written(heartbeat.instance(4, "random-1"), 4)
    with pytest.raises(OracleRefusal):
        oracle.decode("HeartbeatRequest", 4, data[:-1])
