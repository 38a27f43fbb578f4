"""A STRING has the text of an object or an array as the record has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark")

from hypothesis import given

from pipeline.columns.json.parsing import JsonParser, Written
from pipeline.columns.json.written_texts import WrittenTexts
from pipeline.columns.schema_text import parse_schema
from tests.unit.pipeline.columns.json.random_values import JSON

KIND = parse_schema(
    "x", "a STRING, s STRUCT<b: STRING, n: INT>, l ARRAY<STRING>, m MAP<STRING, STRING>, n INT"
)


def put(text: str) -> object:
    return WrittenTexts(KIND).put(text, JsonParser().parse(text))


def test_objects_and_arrays_are_kept_as_they_were_written_where_a_text_is_wanted() -> None:
    text = (
        ' { "other" : [1, {}] , "a" : {"x": [1.50 ,2],"a":"}\\""} , "s":{"n":[ 1 ],"b":[ ]}, '
        '"l":[1.0, "x" ,{ } , [[]]],"m" : { "k" : {"y" :1e5} },"n" :{"a" : 1}} '
    )
    value = put(text)
    assert value == {
        "other": ["1", {}],
        "a": '{"x": [1.50 ,2],"a":"}\\""}',
        "s": {"n": ["1"], "b": "[ ]"},
        "l": ["1.0", "x", "{ }", "[[]]"],
        "m": {"k": '{"y" :1e5}'},
        "n": {"a": "1"},
    }
    assert isinstance(value, dict) and type(value["a"]) is Written
    assert put("{}") == put(" { } ") == {}
    strange = '{"s":[1],"l":{"a":2},"m":"x","a":null}'
    assert put(strange) == JsonParser().parse(strange), "of other types"


@given(JSON, JSON)
def test_each_object_and_each_array_is_found(value: Any, other: Any) -> None:
    """Names and texts have brackets, quotes and commas; the parser knows where a text ends."""
    name = 'a,"]}\\{["'
    texts = [json.dumps(one, indent=indent) for one in (value, other) for indent in (None, 1)]
    kind = parse_schema("x", f"`{name}` STRING, l ARRAY<STRING>, m MAP<STRING, ARRAY<STRING>>")
    first, second, third, fourth = texts
    text = (
        f'{{"o" :{second},{json.dumps(name)}\t: {first} ,"l":[{second} , {third}], "p":{fourth},'
        f'"m":{{{json.dumps(name)}:[{fourth}], "k":[]}}, "q":{first}}}'
    )
    parsed: Any = JsonParser().parse(text)
    members: Any = WrittenTexts(kind).put(text, parsed)
    wanted = {
        **parsed,
        name: as_text(value, first, parsed[name]),
        "l": [as_text(value, second, parsed["l"][0]), as_text(other, third, parsed["l"][1])],
        "m": {name: [as_text(other, fourth, parsed["m"][name][0])], "k": []},
    }
    assert members == wanted


def as_text(value: Any, text: str, parsed: Any) -> Any:
    return text if isinstance(value, list | dict) else parsed
