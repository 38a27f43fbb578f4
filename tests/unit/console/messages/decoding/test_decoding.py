"""Each value is explained by what was meant for it, and stays as it is where nothing was."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from broker.config.start_error import StartError
from command.admin.decode_options import DecodeOptions
from console.messages.decoding import decoding as decoding_file
from console.messages.decoding.decoding import DECODED_BYTES_MAX, Decoding
from protocol.records import Record
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.console.messages.decoding.one_registry import OneRegistry, registry
from tests.unit.console.messages.decoding.protos import AS_DICT, ORDER, order_file
from tests.unit.console.one_console import OneCluster, plain

pytest.importorskip("fastavro")

AVRO = '{"type": "record", "name": "Name", "fields": [{"name": "name", "type": "string"}]}'
ADA = b"\x06Ada"


def decoding(**options: Any) -> Decoding:
    return Decoding(OneCluster(ScriptedCluster(), decode=DecodeOptions(**options)))


def decoded(one: Decoding, value: bytes | None, key: bytes | None = None, topic: str = "t") -> Any:
    return plain(one.shown(topic, 0, Record(1, 2, key, value))).get("decoded")


@pytest.fixture
def avro_file(tmp_path: Path) -> str:
    path = tmp_path / "name.avsc"
    path.write_text(AVRO)
    return str(path)


@pytest.fixture
def proto_file(tmp_path: Path) -> str:
    path = tmp_path / "order.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[order_file()]).SerializeToString())
    return str(path)


@pytest.fixture
def server() -> Iterator[OneRegistry]:
    with registry() as one:
        yield one


def test_nothing_is_meant() -> None:
    assert decoded(decoding(), ADA) is None
    assert plain(decoding().shown("t", 0, Record(1, 2, None, ADA)))["value"]["text"] == "\x06Ada"


def test_avro_by_a_file(avro_file: str) -> None:
    one = decoding(avro=(avro_file,))
    assert decoded(one, ADA, b"\x06Ada") == {
        "value": {"text": '{"name": "Ada"}', "size": 4},
        "schema": "Name",
    }
    assert decoded(one, b"\0\0\0\0\7" + ADA)["value"]["text"] == '{"name": "Ada"}'
    assert "does not match the Avro schema Name" in decoded(one, b"{}")["problem"]
    assert decoded(one, None) is None
    assert decoded(one, b"x" * (DECODED_BYTES_MAX + 1)) is None


def test_a_file_for_one_topic(avro_file: str) -> None:
    one = decoding(avro=(f"names={avro_file}",))
    assert decoded(one, ADA) is None
    assert decoded(one, ADA, topic="names")["schema"] == "Name"


def test_protobuf_by_a_file(proto_file: str) -> None:
    one = decoding(descriptors=proto_file, messages=("shop.Order", "others=shop.Other"))
    found = decoded(one, ORDER)
    assert (json.loads(found["value"]["text"]), found["schema"]) == (AS_DICT, "shop.Order")
    assert decoded(one, b"\x0a\x01x", topic="others")["schema"] == "shop.Other"
    framed = decoded(one, b"\0\0\0\0\7\0" + ORDER)
    assert json.loads(framed["value"]["text"]) == AS_DICT


def test_the_registry_s_three_kinds(server: OneRegistry) -> None:
    text = b64encode(order_file().SerializeToString()).decode()
    server.answers["/schemas/ids/1"] = (200, {"schema": AVRO})
    server.answers["/schemas/ids/2"] = (200, {"schemaType": "PROTOBUF", "schema": text})
    server.answers["/schemas/ids/3"] = (200, {"schemaType": "JSON", "schema": "{}"})
    one = decoding(registry=server.url)
    both = decoded(one, b"\0\0\0\0\2\0" + ORDER, key=b"\0\0\0\0\1" + ADA)
    assert both["key"]["text"] == '{"name": "Ada"}'
    assert json.loads(both["value"]["text"]) == AS_DICT
    assert both["schema"] == "shop.Order, schema 2"
    assert decoded(one, b'\0\0\0\0\3{"a": 1}')["value"]["text"] == '{"a": 1}'
    assert decoded(one, b"\0\0\0\0\3{") == {
        "problem": "the value is not JSON, but schema 3 is a JSON Schema"
    }
    assert decoded(one, b"\0\0\0\0\x09abcd") == {"problem": "the registry has no schema 9"}
    decoded(one, b"\0\0\0\0\1" + ADA)
    assert len(server.asked) == 4


def test_numbers_of_8_bytes_beside_a_registry(server: OneRegistry) -> None:
    server.answers["/schemas/ids/1"] = (200, {"schema": AVRO})
    one = decoding(registry=server.url)
    key = (7).to_bytes(8, "big")
    both = decoded(one, b"\0\0\0\0\1" + ADA, key=key)
    assert (both["key"]["text"], both["schema"]) == ("7", "Name, schema 1")
    assert decoded(one, (1 << 55).to_bytes(8, "big")) == {
        "value": {"text": str(1 << 55), "size": 8},
        "schema": "a number: the registry has no schema 2147483648",
    }
    assert decoded(one, bytes(9)) == {"problem": "the registry has no schema 0"}
    assert [path.partition("?")[0] for path in server.asked] == [
        "/schemas/ids/1",
        "/schemas/ids/2147483648",
    ]


def test_a_file_explains_what_the_registry_does_not(server: OneRegistry, proto_file: str) -> None:
    text = 'syntax = "proto3"; message Order {}'
    server.answers["/schemas/ids/2"] = (200, {"schemaType": "PROTOBUF", "schema": text})
    value = b"\0\0\0\0\2\0" + ORDER
    problem = decoded(decoding(registry=server.url), value)["problem"]
    assert (
        "returns no Protobuf descriptors: give a file of descriptors with --proto-desc" in problem
    )
    own = {"descriptors": proto_file, "messages": ("orders=shop.Order",)}
    both = decoding(registry=server.url, **own)
    found = decoded(both, value, topic="orders")
    assert (json.loads(found["value"]["text"]), found["schema"]) == (AS_DICT, "shop.Order")
    assert decoded(both, value) == {"problem": problem}
    broken = decoded(both, value[:6] + b"\xff", topic="orders")
    assert broken == {"problem": problem}


def test_the_cluster_s_own_topics() -> None:
    key = b"\0\1\0\1g\0\1t\0\0\0\3"
    found = decoded(decoding(), None, key, "__consumer_offsets")
    assert json.loads(found["key"]["text"]) == {
        "type": "1",
        "data": {"group": "g", "topic": "t", "partition": 3},
    }
    assert found["schema"] == "OFFSET_COMMIT, Kafka's own offsets"
    found = decoded(decoding(), None, b"\0\0\0\1t", "__transaction_state")
    assert found["schema"] == "TRANSACTION_LOG, Kafka's own transactions"
    assert decoded(decoding(), b"x", b"y", "__consumer_offsets") is None


def test_options_that_cannot_be(avro_file: str, proto_file: str, tmp_path: Path) -> None:
    for options, reason in (
        ({"avro": (str(tmp_path / "missing"),)}, "No such file"),
        ({"avro": (proto_file,)}, "this is not an Avro schema"),
        ({"descriptors": avro_file, "messages": ("a",)}, "not a descriptor set"),
        ({"descriptors": proto_file, "messages": ("a.B",)}, "a.B: the descriptors have no message"),
        ({"descriptors": proto_file}, "needs --proto-message"),
        ({"messages": ("a",)}, "needs --proto-descriptors"),
        ({"registry": "nowhere"}, "must be a URL"),
    ):
        with pytest.raises(StartError, match=reason):
            decoding(**options)


def test_packages_that_are_missing(avro_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding_file, "find_spec", lambda name: None)
    with pytest.raises(StartError, match="needs fastavro: .* -m pip install fastavro$"):
        decoding(avro=(avro_file,))
    with pytest.raises(StartError, match="needs fastavro and protobuf: .* fastavro protobuf$"):
        decoding(registry="http://localhost:1")
    decoding()
