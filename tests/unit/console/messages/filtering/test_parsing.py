"""A filter that cannot be used gets one line with the position of the error."""

from __future__ import annotations

import pytest

from console.messages.filtering.expressions import (
    BadFilter,
    Both,
    Compare,
    Either,
    Field,
    Literal,
    Not,
)
from console.messages.filtering.parsing import CHARACTERS_MAX, DEPTH_MAX, parse

A, B, C = (Compare("==", Field("value", (name,)), Literal(1)) for name in "abc")


@pytest.mark.parametrize(
    "text",
    [
        "value.a == 1 || value.b == 1 && !(value.c == 1)",
        "value.a==1 or value.b==1 and not value.c==1",
        'value["a"] == 1 || (value.b == 1 && !!!value.c == 1)',
    ],
)
def test_and_or_not(text: str) -> None:
    assert parse(text) == Either((A, Both((B, Not(C)))))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("value.lines[0].sku", ("lines", 0, "sku")),
        ('value["a-b"]["c.d"]', ("a-b", "c.d")),
        ("value.and.contains", ("and", "contains")),
        ("value", ()),
    ],
)
def test_fields(text: str, path: tuple[str | int, ...]) -> None:
    assert parse(text) == Field("value", path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"a\"b\\\u6771\ud83d\ude00\n"', 'a"b\\東😀\n'),
        (r"'it\'s'", "it's"),
        (r'r"\d+"', r"\d+"),
        ("9007199254740993", 9007199254740993),
        ("-12", -12),
        ("null", None),
        ("true", True),
    ],
)
def test_values(text: str, value: object) -> None:
    assert parse(f"key == {text}") == Compare("==", Field("key"), Literal(value))  # type: ignore[arg-type]


def test_times() -> None:
    expected = Compare(">=", Field("timestamp"), Literal(1764144000000))
    assert parse('timestamp >= "2025-11-26T08:00Z"') == expected
    assert parse("timestamp >= 1764144000000") == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "character 1: the filter ends where a field or a value is expected"),
        ("value.a ==", "character 11: the filter ends"),
        ("value.a = 1", "character 9: write == to compare"),
        ("value.a == 1 & key", "character 14: write && for and"),
        ("value.a == 'PAID", "character 12: the text has no closing quotation mark"),
        ("value.a == 1 2", "character 14: 2 is not expected here"),
        ("status == 1", "character 1: status is no field of a record: value, key, headers"),
        ("value.a == 12x", "character 12: 12x is not understood"),
        ("value.a ~ 1", "character 9: ~ is not understood"),
        ("(value.a == 1", "character 14: a closing parenthesis is expected"),
        ("value.a in [1 2]", "character 15: a comma or a closing bracket is expected"),
        ("value[x]", "character 7: a name or an index is expected"),
        ("value[-1]", "character 7: a name or an index is expected"),
        ("value.", "character 7: a member's name is expected"),
        ("partition.a == 1", "character 11: there is no method a: contains, startsWith"),
        ('value.a.matches("(")', "character 17: this is not a regular expression: missing"),
        ("value.a.matches(key)", "character 17: matches.…. needs a regular expression"),
        (r'value.a == "\d"', r"character 13: \\d is no escape"),
        ('timestamp > "yesterday"', "character 13: a time is written as 2026-11-26T08:00Z"),
        ('timestamp > "2026-99-99"', "character 13: a time is written as"),
        ("1", "a filter is a condition"),
        ("has(1)", "character 5: a field is expected"),
        ("value.a == 1e999999999999999999999", "character 12: this number is too large"),
        ("x" * (CHARACTERS_MAX + 1), "a filter has at most 1000 characters"),
        ("(" * 500, f"more than {DEPTH_MAX} parentheses"),
        ("key in " + "[" * 500, f"more than {DEPTH_MAX} parentheses"),
        ("size(" * 150, f"more than {DEPTH_MAX} parentheses"),
        (" && ".join(['key.matches("a")'] * 5), "at most 4 regular expressions"),
        ('key.matches("' + "a{0,1000}" * 90 + '")', "this expression is too large"),
    ],
)
def test_errors(text: str, reason: str) -> None:
    with pytest.raises(BadFilter, match=reason) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
