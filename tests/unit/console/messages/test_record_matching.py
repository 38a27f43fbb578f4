"""A search finds a record by what the page shows of it, decoded or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command.admin.decode_options import DecodeOptions
from console.messages.decoding.decoding import Decoding
from console.messages.matching import matcher_of
from console.messages.record_matching import RecordMatcher
from protocol.record_batch import HEADER_SIZE, read_header
from protocol.records import RecordBatchBuilder
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.console.messages.decoding.one_registry import registry
from tests.unit.console.one_console import OneCluster

fastavro = pytest.importorskip("fastavro")

ORDER = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["NEW", "PAID"]}},
        ],
    }
)
NEW, PAID = b"\x02\x00", b"\x82\x80\x80\x80\x80\x80\x80\x20\x02"
"""The orders 1 (NEW) and 9007199254740993 (PAID) in Avro."""


def offsets(matcher: RecordMatcher, *values: bytes | None) -> list[int]:
    builder = RecordBatchBuilder()
    for value in values:
        builder.append(b"k", value, 0)
    data = bytes(builder.build())
    return [one.offset for one in matcher.found_in(0, read_header(data), data[HEADER_SIZE:])]


def matcher(text: str, topic: str = "t", **options: Any) -> RecordMatcher:
    decoding = Decoding(OneCluster(ScriptedCluster(), decode=DecodeOptions(**options)))
    return RecordMatcher(matcher_of(text), decoder=decoding.decoder_of(topic))


@pytest.fixture
def avro_file(tmp_path: Path) -> str:
    path = tmp_path / "order.avsc"
    path.write_text(ORDER)
    return str(path)


def test_values_in_avro(avro_file: str) -> None:
    options = {"avro": (f"orders={avro_file}",)}
    paid = matcher("paid", "orders", **options)
    assert paid.decodes
    assert offsets(paid, NEW, PAID, None, b"paid in full") == [1, 3]
    assert offsets(matcher("9007199254740993", "orders", **options), NEW, PAID) == [1]
    elsewhere = matcher("paid", "other", **options)
    assert not elsewhere.decodes
    assert offsets(elsewhere, NEW, PAID) == []


def test_values_with_a_schema_id() -> None:
    frame = b"\0\0\0\0\7"
    with registry() as server:
        server.answers["/schemas/ids/7"] = (200, {"schema": ORDER})
        paid = matcher("PAID", registry=server.url)
        assert offsets(paid, frame + NEW, frame + PAID, b"PAID") == [1, 2]
        assert offsets(paid, b"PAID", b"NEW") == [0]


def test_kafkas_own_topics() -> None:
    key = b"\0\1" + b"\0\2g1" + b"\0\1t" + b"\0\0\0\5"
    builder = RecordBatchBuilder()
    builder.append(key, None, 0)
    data = bytes(builder.build())
    found = matcher('"partition": 5', "__consumer_offsets").found_in(
        0, read_header(data), data[HEADER_SIZE:]
    )
    assert [record.offset for record in found] == [0]


def test_json_schema_keeps_the_numbers_of_the_text() -> None:
    with registry() as server:
        server.answers["/schemas/ids/7"] = (200, {"schemaType": "JSON", "schema": "{}"})
        value = b'\0\0\0\0\7{"a": 0.1000000000000000055, "b": 1e400}'
        assert offsets(matcher("0.1000000000000000055", registry=server.url), value) == [0]
