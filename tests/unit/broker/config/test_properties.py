"""Java's .properties syntax (expectations from java.util.Properties 17)."""

from __future__ import annotations

import pytest

from broker.config.properties import PropertiesError, parse_properties, repeated_keys


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("# a\n! b\n\n  \t\na=1\n", {"a": "1"}),
        ("a = 1 \nb:2\nc 3\nd\t=\t4", {"a": "1 ", "b": "2", "c": "3", "d": "4"}),
        ("a==b", {"a": "=b"}),
        ("a:=b", {"a": "=b"}),
        ("key\nother=", {"key": "", "other": ""}),
        ("listeners=A://:1,\\\n    B://:2\n", {"listeners": "A://:1,B://:2"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# not a comment\n", {"a": "1# not a comment"}),
        ("a\\ b\\=c=d\\te\\n\\u00e9\\q", {"a b=c": "d\te\néq"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=ends\\", {"a": "ends"}),
    ],
)
def test_a_text_is_read_as_java_reads_it(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text) == found


def test_a_broken_unicode_escape_is_refused() -> None:
    with pytest.raises(PropertiesError, match="Malformed"):
        parse_properties("a=\\u12")


def test_keys_that_are_there_again_are_told_with_the_lines_where_they_begin() -> None:
    text = "a=1\n# a=2\nb=\\\n  a=3\n\na : 4\n\\u0061 5\nB=1\n"
    assert repeated_keys(text) == {"a": [1, 6, 7]}
    assert parse_properties(text) == {"a": "5", "b": "a=3", "B": "1"}
