"""The parser of JSON texts, whose values keep each number as the text of that number.

The grammar is that of RFC 8259 alone: no NaN, no comments, no byte order mark, nothing behind the
value. The parser also rejects three things that RFC 8259 allows: a repeated name in an object, half
a surrogate pair, and nesting beyond `DEPTH_MAX`. Owns these rules and the sentences about them;
knows no column.
"""

from __future__ import annotations

import re
from json import JSONDecoder, dumps

_FRAME_BYTES = 5
DEPTH_MAX = 200
"""The most objects and arrays inside each other, in one record."""
SHOWN_MAX = 60
"""The most characters of a value in a reason."""
_SPACE = " \t\n\r"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class Number(str):
    """A number with its text as in the record."""

    __slots__ = ()


class Whole(Number):
    """A number without a fraction and without an exponent."""

    __slots__ = ()


class Fraction(Number):
    """A number with a fraction or an exponent."""

    __slots__ = ()


class Written(str):
    """An object or an array as text, exactly as in the record; made by `written_texts`."""

    __slots__ = ()


class NotJson(Exception):
    """The error for a text that is no JSON."""


class Refused(Exception):
    """The error for JSON that the parser rejects; the message follows `the value `."""


def unframed(data: bytes) -> bytes:
    """Return a value without the frame of Confluent's JSON Schema serializer.

    The frame is a zero byte, with which no JSON text begins, and the four bytes of a schema's id.
    """
    return data[_FRAME_BYTES:] if data[:1] == b"\0" else data


class JsonParser:
    """A parser that may read many texts."""

    def __init__(self) -> None:
        self._decode = JSONDecoder(
            object_pairs_hook=_object,
            parse_int=Whole,
            parse_float=Fraction,
            parse_constant=_refuse_constant,
        ).raw_decode

    def parse(self, text: str) -> object:
        """Return the value of a JSON text: dict, list, str, Number, bool or None.

        Raises NotJson, or Refused for JSON that breaks a rule of this module.
        """
        if text.count("{") + text.count("[") > DEPTH_MAX and _depth(text) > DEPTH_MAX:
            raise Refused(f"has more than {DEPTH_MAX} objects or arrays inside each other")
        body = text.strip(_SPACE)
        value: object
        try:
            value, end = self._decode(body)
        except ValueError as error:
            raise NotJson from error
        if end != len(body):
            raise NotJson
        if "\\u" in text and _SURROGATE.search(text):
            _check_surrogates(value)
        return value


def as_json(value: object) -> str:
    """Return the JSON of a parsed value: without blanks, numbers as in the record."""
    if isinstance(value, dict):
        members = (f"{as_json(name)}:{as_json(inner)}" for name, inner in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_json, value)) + "]"
    if isinstance(value, Number | Written):
        return str(value)
    return dumps(value, ensure_ascii=False)


def shown(value: object) -> str:
    """Return the beginning of a value for a reason: a text without its quotes, other values as
    JSON."""
    return str(value if isinstance(value, str) else as_json(value))[:SHOWN_MAX]


def _object(members: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(members)
    if len(value) != len(members):
        seen: set[str] = set()
        for name, _ in members:
            if name in seen:
                raise Refused(f"has the name {shown(name)} twice in one object")
            seen.add(name)
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(name)


def _depth(text: str) -> int:
    """Return the largest number of brackets that are open at the same time."""
    depth = deepest = 0
    for token in _NESTING.findall(text):
        if token in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "]}":
            depth -= 1
    return deepest


def _check_surrogates(value: object) -> None:
    """Raise Refused if a text or a name has half a surrogate pair, which no text in UTF-8 holds."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left += item.keys()
            left += item.values()
        elif isinstance(item, list):
            left += item
        elif isinstance(item, str) and not item.isascii():
            half = next((c for c in item if "\ud800" <= c <= "\udfff"), None)
            if half is not None:
                raise Refused(f"has half a character: \\u{ord(half):x}")
