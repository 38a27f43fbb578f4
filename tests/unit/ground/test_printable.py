"""Text from outside: no terminal is steered by it, and no line of a log is forged."""

from __future__ import annotations

import json

import pytest

from ground.printable import in_ascii_json, printable, printable_json, printable_lines

TITLE = "range\x1b]0;owned\x07"
"""Sets the title of a terminal's window."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Grüße, 世界 🙂", "Grüße, 世界 🙂"),
        (TITLE, "range\\x1b]0;owned\\x07"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b2J", "\\x9b2J"),  # a control sequence in one character
        ("\u202eabc", "\\u202eabc"),  # right to left from here on
        ("\udcff", "\\udcff"),  # a byte that is no UTF-8
    ],
)
def test_what_is_not_printable_is_written_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_stay_lines() -> None:
    assert printable_lines(f"one\n{TITLE}\n") == "one\nrange\\x1b]0;owned\\x07\n"


@pytest.mark.parametrize("text", ["plain", TITLE, "\x9b2J", "\u202eabc", "\U000e0001", "é\x7f"])
def test_json_is_the_same_to_a_program(text: str) -> None:
    shown = printable_json({text: [text, None]})
    assert shown.isprintable()
    assert json.loads(shown) == {text: [text, None]}


@pytest.mark.parametrize("text", ["plain", "é", "группа", "🙂"])
def test_ascii_json_is_the_same_to_a_program(text: str) -> None:
    shown = in_ascii_json(json.dumps({text: 1}, ensure_ascii=False))
    assert shown.isascii() and json.loads(shown) == {text: 1}
