"""The syntax of Java's .properties files, which Kafka's configuration files use.

Text in, keys and values in file order out. Knows no key and reads no file.

Follows `java.util.Properties.load`: comments with # or !, `=` `:` or blanks between key and value,
a backslash at the end of a line continues it, `\\uXXXX` and the usual escapes; the last of two
equal keys wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|$)", re.DOTALL)


class PropertiesError(ValueError):
    """A line that Java would refuse as well."""


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values of a file's whole text. Raises PropertiesError."""
    found = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        found[_unescaped(key)] = _unescaped(value)
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with continuations joined; comments and blank lines left out."""
    pending: str | None = None
    for natural in re.split(r"\r\n|\n|\r", text):
        line = natural.lstrip(_BLANKS)
        if pending is None and (not line or line[0] in "#!"):
            continue
        joined = (pending or "") + line
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending = joined[:-1]
        else:
            pending = None
            yield joined
    if pending is not None:
        yield pending


def _split(line: str) -> tuple[str, str]:
    """Key and value, still escaped: the first `=`, `:` or blank without a backslash parts them."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    escape = match[1]
    if escape == "u":
        raise PropertiesError("Malformed \\uxxxx encoding.")
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)
