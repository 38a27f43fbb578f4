"""Values of a line of JSON keep their text."""

from __future__ import annotations

import json

import pytest

from client.records.batching import parse_json
from client.records.json_texts import item_texts, member_texts

ODD = [
    "12345678901234567890.123456789",
    "1e400",
    "1.50",
    "-0",
    '{"a": 1, "a": 2.0, "b" : [ 1e400, "x\\u0041" ]}',
    "[ 1,2 , [] ]",
    "true",
    '{ "deep": {"k": [{"n": 0.10}]} }',
]


@pytest.mark.parametrize("text", ODD)
def test_a_value_that_is_no_string_is_written_as_it_stands(text: str) -> None:
    line = (
        f' {{"k\\u0065y" : {text}, "value":{text} ,"headers": [{{"key": "h", "value": {text}}}]}} '
    )
    record = parse_json(line.encode())
    assert (record.key, record.value) == (text.encode(), text.encode())
    assert record.headers == (("h", text.encode()),)
    assert parse_json(f'{{"value": 1, "headers": {{"h": {text}}}}}'.encode()).headers == (
        ("h", text.encode()),
    )


@pytest.mark.parametrize("text", ["{}", " { } ", '{"a":1}', '{"a":1, "b":[2]}'])
def test_texts_of_members(text: str) -> None:
    texts = member_texts(text)
    assert {name: json.loads(value) for name, value in texts.items()} == json.loads(text)


@pytest.mark.parametrize("text", ["[]", " [ ] ", "[1]", '["a,]", {"b": ","} , null]'])
def test_texts_of_items(text: str) -> None:
    assert [json.loads(value) for value in item_texts(text)] == json.loads(text)


@pytest.mark.parametrize("text", ["[]", '{"a":1 "b":2}', '{"a" 1}', '{"a":1'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        member_texts(text)


def test_headers_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="a list, or an object"):
        parse_json(b'{"value": "v", "headers": "h"}')
