"""Text from outside, made harmless for a terminal and for a line of a log.

What a client names (an assignor, an id, a record's key) may hold control characters: to move a
terminal's cursor, to set its title, to begin a new line, to turn the direction of the text. Each
character that `str.isprintable` refuses is written as Python writes it in a literal, `\\x1b`.
"""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """Return `text` with escapes in place of what is not printable, line ends included."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def printable_lines(text: str) -> str:
    """Return `text` of several lines, such as a traceback, each of them printable."""
    return "\n".join(printable(line) for line in text.split("\n"))


def printable_json(value: object) -> str:
    """Return `value` as JSON of one line: the same to a program, and harmless to a terminal.

    Raises TypeError for what JSON cannot hold.
    """
    return with_json_escapes(json.dumps(value, ensure_ascii=False, default=str))


def with_json_escapes(text: str) -> str:
    """Return one line of JSON with JSON's escapes in place of what is not printable."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def in_ascii_json(text: str) -> str:
    """Return lines of JSON with JSON's escapes in place of what is not ASCII."""
    return "".join(one if one.isascii() else json.dumps(one)[1:-1] for one in text)
