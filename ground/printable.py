"""Conversion of foreign text to text that is harmless in a terminal and in a line of a log.

A client's texts (an assignor's name, an id, a record's key) may contain control characters. These
can move a terminal's cursor, set its title, begin a new line, or turn the direction of the text.
Each character that `str.isprintable` rejects is written as an escape of Python, `\\x1b`.
"""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """Return `text` with escapes for all characters that are not printable, line ends included."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def printable_lines(text: str) -> str:
    """Return `text` of several lines, such as a traceback, with each line made printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


def printable_json(value: object) -> str:
    """Return `value` as one line of JSON: the same for a program, and harmless to a terminal.

    A value that JSON cannot hold is written as its `str`; as a key of a dict it raises TypeError.
    """
    return with_json_escapes(json.dumps(value, ensure_ascii=False, default=str))


def with_json_escapes(text: str) -> str:
    """Return one line of JSON with JSON's escapes for all characters that are not printable."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


def in_ascii_json(text: str) -> str:
    """Return lines of JSON with JSON's escapes for all characters that are not ASCII."""
    return "".join(
        character if character.isascii() else json.dumps(character)[1:-1] for character in text
    )
