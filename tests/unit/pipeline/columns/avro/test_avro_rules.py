"""What Avro refuses of a schema is refused here, with the same verdict as Avro 1.12 of Java."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.errors import PipelineError

pytest.importorskip("pyspark")


def enum(**more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": ["A"], **more}


def fixed(**more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", **more}


def schema(*fields: Any, **more: Any) -> str:
    """A record: each field is one of JSON, or the type of a field `fN`."""
    found = [
        one if isinstance(one, dict) and "field" in one else {"name": f"f{n}", "type": one}
        for n, one in enumerate(fields)
    ]
    return json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [one.pop("field", {}) | one for one in found],
            **more,
        }
    )


def field(name: str, kind: Any = "int", **more: Any) -> dict[str, Any]:
    return {"field": {"name": name, "type": kind, **more}}


def reason(text: str) -> str | None:
    from pipeline.columns.avro.avro_schema import AvroSchema

    try:
        AvroSchema("x", text)
    except PipelineError as error:
        return str(error).removeprefix("x: ")
    return None


@pytest.mark.parametrize("name", ["a b", "", "1a", "a-b", "a.b", "$a"])
def test_names_of_fields(name: str) -> None:
    shown = json.dumps(name)
    assert reason(schema(field(name))) == (
        f"a field of R: {shown} is no name of Avro: letters, digits and _, no digit first"
    )
    assert "is no name of Avro" in str(reason(schema(enum(symbols=["A", name]))))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (schema("int", name="a b"), 'in the name of the record a b "a b" is no name of Avro'),
        (schema("int", name="x.1y.R"), 'of the record x.1y.R "1y" is no name'),
        (schema("int", namespace="a-b"), 'of the record a-b.R "a-b" is no name'),
        (schema("int", name="R."), '"" is no name'),
        (schema("int", name="int"), "the record int has the name of a type of Avro's own"),
        (schema("int", aliases=["x.q r"]), 'in an alias of R "q r" is no name'),
        (schema("int", aliases="q"), "the aliases of R are no list of names"),
        (schema(field("a", aliases="b")), "the aliases of R.a are no list of names"),
        (schema(field("a", order="up")), "the order of R.a is none of ascending,"),
        (schema(field("a"), field("a")), "the record R has two fields a"),
        (schema(enum(symbols=["A", "A"])), "the enum E has the symbol A twice"),
        (schema(enum(symbols="A")), "the enum E has no symbols: a list of names"),
        (schema(enum(symbols=["A", 3])), "the enum E has no symbols: a list of names"),
        (schema(enum(default="B")), "the default of the enum E is none of its symbols"),
        (schema(fixed()), "the fixed F has no size: a whole number of bytes"),
        (schema(fixed(size=-1)), "the fixed F has no size"),
        (schema(fixed(size="4")), "the fixed F has no size"),
        (schema(fixed(size=True)), "the fixed F has no size"),
        (schema(fixed(size=4), fixed(size=5)), "it defines F twice"),
        (schema(["int", "int"]), 'a union has int twice: ["int", "int"]'),
        (schema(["int", ["long"]]), "a union in a union"),
        (schema([{"type": "array", "items": "int"}, {"type": "array", "items": "long"}]), "array"),
        (schema([fixed(size=1), "F"]), "a union has F twice"),
        (schema({"type": "bytes", "logicalType": "decimal"}), "a decimal has a precision"),
        (
            schema({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 9}),
            "decimal(4,9): its scale is 0 to 4",
        ),
        (
            schema({"type": "bytes", "logicalType": "decimal", "precision": 39}),
            "decimal(39,0): 1 to 38 digits have a column",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(text: str, words: str) -> None:
    assert words in str(reason(text))


@pytest.mark.parametrize(
    "text",
    [
        schema(field("ä"), field("_1"), field("a", aliases=["b c"], order="ignore")),
        schema(field("a"), field("A")),
        schema("int", name="n.int"),
        schema("int", aliases=["x.q"]),
        schema(fixed(size=0), "F", ["F", "null", "int", {"type": "map", "values": "int"}]),
        schema(enum(symbols=["A", "b"], default="b")),
        schema("int", type="error"),
        json.dumps({"type": {"type": "record", "name": "R", "fields": [field("a")["field"]]}}),
    ],
)
def test_what_avro_takes_is_taken(text: str) -> None:
    assert reason(text) is None
