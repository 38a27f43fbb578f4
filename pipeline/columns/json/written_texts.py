"""Objects and arrays as they were written, where a STRING is to have them.

A second look at a text that was parsed already: it walks to each place of a STRING, and steps over
all else. Owns nothing but the way; a record without such a value needs no second look.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import NamedTuple

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from pipeline.columns.json.parsing import Written

_SPACE = r"[ \t\n\r]*"
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
# What is no object and no array, and what separates it from the next value.
_SCALAR = rf"(?:({_TEXT}|[^ \t\n\r{{}}\[\],\"]+){_SPACE},?)?"
_MEMBER = re.compile(rf"{_SPACE}({_TEXT}){_SPACE}:{_SPACE}{_SCALAR}", re.DOTALL)
_ELEMENT = re.compile(f"{_SPACE}{_SCALAR}", re.DOTALL)
_SEPARATOR = re.compile(f"{_SPACE},?")
_OPENING = "{["


class Places(NamedTuple):
    """Where in values of a type a STRING is."""

    is_text: bool
    fields: dict[str, Places]
    """Of a STRUCT, by name: those with a STRING."""
    each: Places | None
    """Of the elements of an ARRAY, or the values of a MAP."""


def places_of(kind: DataType) -> Places | None:
    """Return the places of a type, None where it has no STRING."""
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
    """Finds the texts of objects and arrays in values of a type."""

    def __init__(self, kind: DataType) -> None:
        self._places = places_of(kind)
        self._decode = JSONDecoder(parse_int=str, parse_float=str).raw_decode

    def put(self, text: str, value: object) -> object:
        """Return the value that a parser gave for a text, with `Written` where a STRING is.

        An object or an array that stands where the type has another one stays as it is.
        """
        space = _SEPARATOR.match(text)
        return self._put(text, space.end() if space else 0, value, self._places)[0]

    def _put(
        self, text: str, start: int, value: object, places: Places | None
    ) -> tuple[object, int]:
        """Return the value whose text begins at `start`, and where that ends."""
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
    """Return the place behind the bracket that closes."""
    return _behind_separator(text, at) + 1
