"""The exact texts of objects and arrays in JSON, for STRING columns that keep them.

The walk reads a parsed text a second time: it goes to each place of a STRING, and skips all other
values. A record without an object or an array at such a place is read only once.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import NamedTuple

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from pipeline.columns.json.parsing import Written

_SPACE = r"[ \t\n\r]*"
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# A value that is neither object nor array, with the separator before the next value.
_SCALAR = rf"(?:({_TEXT}|[^ \t\n\r{{}}\[\],\"]+){_SPACE},?)?"
_MEMBER = re.compile(rf"{_SPACE}({_TEXT}){_SPACE}:{_SPACE}{_SCALAR}", re.DOTALL)
_ELEMENT = re.compile(f"{_SPACE}{_SCALAR}", re.DOTALL)
_SEPARATOR = re.compile(f"{_SPACE},?")
_OPENING = "{["


class Places(NamedTuple):
    """The places of STRINGs in values of a type."""

    is_text: bool
    fields: dict[str, Places]
    """The places in the fields of a STRUCT, by name, for fields with a STRING."""
    each: Places | None
    """The places in each element of an ARRAY, or in each value of a MAP."""


def places_of(kind: DataType) -> Places | None:
    """Return the places of STRINGs in a type, None if there is no STRING."""
    if isinstance(kind, StringType):
        return Places(True, {}, None)
    if isinstance(kind, StructType):
        inner = {field.name: places_of(field.dataType) for field in kind}
        fields = {name: places for name, places in inner.items() if places is not None}
        return Places(False, fields, None) if fields else None
    if isinstance(kind, ArrayType | MapType):
        each = places_of(kind.elementType if isinstance(kind, ArrayType) else kind.valueType)
        return None if each is None else Places(False, {}, each)
    return None


class WrittenTexts:
    """A finder of the texts of objects and arrays in values of a type."""

    def __init__(self, kind: DataType) -> None:
        self._places = places_of(kind)
        self._decode = JSONDecoder(parse_int=str, parse_float=str).raw_decode

    def put(self, text: str, value: object) -> object:
        """Return `value`, parsed from `text`, with a `Written` at each STRING's place.

        An object or an array stays as it is if the type has a value of another kind there.
        """
        space = _SEPARATOR.match(text)
        return self._put(text, space.end() if space else 0, value, self._places)[0]

    def _put(
        self, text: str, start: int, value: object, places: Places | None
    ) -> tuple[object, int]:
        """Return the value whose text begins at `start`, and the index of its end."""
        if places is not None and not places.is_text:
            if isinstance(value, dict) and (places.fields or places.each):
                return self._put_in_object(text, start, value, places)
            if isinstance(value, list) and places.each:
                return self._put_in_array(text, start, value, places.each)
        _, end = self._decode(text, start)
        return (Written(text[start:end]) if places and places.is_text else value), end

    def _put_in_object(
        self, text: str, start: int, value: dict[str, object], places: Places
    ) -> tuple[object, int]:
        members, at = dict(value), start + 1
        while member := _MEMBER.match(text, at):
            at = member.end()
            if member[2] is None:
                name = member[1][1:-1]
                if "\\" in name:
                    name, _ = self._decode(member[1])
                inner = places.fields.get(name, places.each)
                members[name], at = self._put(text, at, value[name], inner)
                at = _behind_separator(text, at)
        return members, _behind_bracket(text, at)

    def _put_in_array(
        self, text: str, start: int, value: list[object], each: Places
    ) -> tuple[object, int]:
        elements, at = list(value), start + 1
        for index, element in enumerate(value):
            scalar = _ELEMENT.match(text, at)
            assert scalar is not None, "it may be empty"
            at = scalar.end()
            if scalar[1] is None:
                elements[index], at = self._put(text, at, element, each)
                at = _behind_separator(text, at)
        return elements, _behind_bracket(text, at)


def _behind_separator(text: str, at: int) -> int:
    separator = _SEPARATOR.match(text, at)
    assert separator is not None, "it may be empty"
    return separator.end()


def _behind_bracket(text: str, at: int) -> int:
    """Return the index behind the closing bracket and the separator after the bracket."""
    return _behind_separator(text, at) + 1
