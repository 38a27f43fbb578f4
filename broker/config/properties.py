"""The parser of Java's .properties files, which Kafka's configuration files are.

Takes a text and returns its keys and values in file order, and the repeated keys. It knows no key
and reads no file.

Follows `java.util.Properties.load`. Comments begin with # or !, and `=` `:` or blanks stand between
key and value. A backslash at the end of a line continues it; `\\uXXXX` and the usual escapes are
known. Of two equal keys the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|$)", re.DOTALL)


class PropertiesError(ValueError):
    """A line that Java would reject, too."""


def parse_properties(text: str) -> dict[str, str]:
    """Return the keys and values of a file's whole text. Raises PropertiesError."""
    return {key: value for _, key, value in _entries(text)}


def repeated_keys(text: str) -> dict[str, list[int]]:
    """Return the repeated keys of a file's whole text, with the lines where they begin, from 1."""
    return {key: numbers for key, numbers in lines_of_keys(text).items() if len(numbers) > 1}


def lines_of_keys(text: str) -> dict[str, list[int]]:
    """Return each key of a file's whole text, with the lines where it begins, from 1."""
    lines: dict[str, list[int]] = {}
    for number, key, _ in _entries(text):
        lines.setdefault(key, []).append(number)
    return lines


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the first line, key and value of each entry."""
    for number, line in _logical_lines(text):
        key, value = _split(line)
        yield number, _unescaped(key), _unescaped(value)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines, each with the number of its first natural line.

    Continuation lines are joined; comments and blank lines are left out.
    """
    pending: str | None = None
    begin = 0
    for number, natural in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = natural.lstrip(_BLANKS)
        if pending is None and (not line or line[0] in "#!"):
            continue
        if pending is None:
            begin = number
        joined = (pending or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending = joined[:-1]
        else:
            pending = None
            yield begin, joined
    if pending is not None:
        yield begin, pending


def _split(line: str) -> tuple[str, str]:
    """Split a line at its first `=`, `:` or blank without a backslash into key and value.

    Both stay escaped.
    """
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescaped(text: str) -> str:
    """Return the text with its escapes replaced. Raises PropertiesError."""
    return _ESCAPE.sub(_unescaped_character, text)


def _unescaped_character(match: re.Match[str]) -> str:
    """Return the character that an escape stands for. Raises PropertiesError for a cut `\\u`."""
    escape = match[1]
    if escape == "u":
        raise PropertiesError("Malformed \\uxxxx encoding.")
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)
