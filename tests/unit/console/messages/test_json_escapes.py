"""JSON without the escapes that hide characters."""

from __future__ import annotations

import json

import pytest

from console.messages.json_escapes import has_escapes, unescaped


@pytest.mark.parametrize(
    ("data", "without"),
    [
        (rb'{"a": "\u6771\u4eac"}', '{"a": "東京"}'),
        (rb' ["\ud83d\ude00\u00e9"]', ' ["😀é"]'),
        (rb'"a\/b\u002f"', '"a/b/"'),
        (rb'"\\u0041 \\\u0041"', r'"\\u0041 \\A"'),
        (rb'"\u0022\u005c\u0000\n\t"', r'"\u0022\u005c\u0000\n\t"'),
        (rb'"A\u0041\udc00B"', r'"AA\udc00B"'),
        (rb"text \u0041", r"text \u0041"),
        (rb'"\u12"', r'"\u12"'),
        (rb'"\u', r'"\u'),
    ],
)
def test_escapes(data: bytes, without: str) -> None:
    assert unescaped(data).decode() == without


def test_the_value_stays_the_same() -> None:
    value = {"a": '東京 \\ " \n \x00 😀', "é": ["\\u0041"]}
    data = json.dumps(value).encode()
    assert json.loads(unescaped(data)) == value


@pytest.mark.parametrize(
    ("data", "has"), [(b"\\u", True), (b"a\\/", True), (b"\\n u /", False), (b"", False)]
)
def test_whether_there_are_escapes(data: bytes, has: bool) -> None:
    assert has_escapes(data) == has
