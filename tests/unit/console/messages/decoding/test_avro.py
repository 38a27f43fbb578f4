"""Avro's bytes become what was written, and other bytes one line."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from console.messages.decoding.avro import AvroSchema
from console.messages.decoding.wire import Undecodable

fastavro = pytest.importorskip("fastavro")

ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "raw", "type": "bytes"},
    ],
}


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_a_record() -> None:
    value = {"id": 7, "note": "grün", "raw": b"\xff"}
    schema = AvroSchema(json.dumps(ORDER))
    assert schema.decode(written(ORDER, value)) == value
    assert schema.name == "shop.Order"


def test_schemas_that_refer_to_others() -> None:
    item = {
        "type": "record",
        "name": "Item",
        "namespace": "shop",
        "fields": [{"name": "order", "type": "Order"}, {"name": "again", "type": "shop.Order"}],
    }
    value = [
        {"order": {"id": 1, "note": None, "raw": b""}, "again": {"id": 2, "note": "x", "raw": b""}}
    ]
    array = '{"type": "array", "items": "shop.Item"}'
    whole = {
        "type": "array",
        "items": item
        | {"fields": [{"name": "order", "type": ORDER}, {"name": "again", "type": "shop.Order"}]},
    }
    schema = AvroSchema(array, (json.dumps(ORDER), json.dumps(item)))
    assert schema.decode(written(whole, value)) == value
    assert AvroSchema('"string"').decode(b"\x06abc") == "abc"


def test_one_that_holds_itself() -> None:
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    assert AvroSchema('"Node"', (json.dumps(node),)).decode(b"\2\0") == {"next": {"next": None}}


@pytest.mark.parametrize("data", [b"\x0e\x02", b"\x0e\x00\x00more", b"\x0e\x08", b"\xff" * 40])
def test_bytes_that_are_of_something_else(data: bytes) -> None:
    with pytest.raises(Undecodable, match="does not match the Avro schema shop.Order") as failed:
        AvroSchema(json.dumps(ORDER)).decode(data)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("text", ["{", "{}", '{"type": "record"}', '"shop.Missing"', "7"])
def test_what_is_no_schema(text: str) -> None:
    with pytest.raises(Undecodable, match="this is not an Avro schema"):
        AvroSchema(text)
