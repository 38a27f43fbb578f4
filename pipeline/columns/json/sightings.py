"""What the JSON of many records has at each place: the kinds of its values, and how often a name.

A sighting is gathered by the executors, goes to the driver as a text, and is merged there; the
order of records changes nothing but the order of names. Whole numbers are told apart by what holds
them exactly, because a column must hold each number of the sample. Owns these kinds; which column
comes of them, `pipeline.columns.inference` says.
"""

from __future__ import annotations

import math
from json import dumps, loads
from typing import TypedDict

from pipeline.columns.json.converters import is_exact
from pipeline.columns.json.parsing import Number, Whole

BOOLEAN, TEXT, ARRAY, OBJECT, TOO_DEEP = "boolean", "text", "array", "object", "deep"
LONG, HUGE, BEYOND = "long", "huge", "beyond"
"""Whole numbers: of 64 bits, of 38 digits, and longer ones."""
INEXACT = "inexact"
"""Added to the kind of a whole number that no DOUBLE holds exactly."""
FRACTION, INFINITE = "fraction", "infinite"
"""Numbers with a fraction or an exponent: those that a DOUBLE comes near to, and larger ones."""
LEVELS_MAX = 32
"""STRUCTs and ARRAYs inside each other; what lies deeper is kept as its text."""
_HUGE_DIGITS, _LONG_DIGITS = 38, 19


class Sighting:
    """The values at one place."""

    __slots__ = ("count", "element", "fields", "kinds")

    def __init__(self) -> None:
        self.count = 0
        """Values that were there, null as well."""
        self.kinds: set[str] = set()
        self.fields: dict[str, Sighting] = {}
        """Of the objects, by name, in the order in which they were seen."""
        self.element: Sighting | None = None
        """Of the arrays."""

    def see(self, value: object, levels: int = LEVELS_MAX) -> None:
        """Add a value that `parsing` gave; `levels` may be inside each other."""
        self.count += 1
        if value is None:
            return
        if isinstance(value, dict | list) and levels == 0:
            self.kinds.add(TOO_DEEP)
        elif isinstance(value, dict):
            self.kinds.add(OBJECT)
            for name, item in value.items():
                self._field(name).see(item, levels - 1)
        elif isinstance(value, list):
            self.kinds.add(ARRAY)
            element = self._element()
            for item in value:
                element.see(item, levels - 1)
        elif isinstance(value, Number):
            self.kinds.update(_kinds_of(value))
        else:
            self.kinds.add(BOOLEAN if isinstance(value, bool) else TEXT)

    def merge(self, other: Sighting) -> None:
        """Add what another one has seen."""
        self.count += other.count
        self.kinds |= other.kinds
        for name, field in other.fields.items():
            self._field(name).merge(field)
        if other.element is not None:
            self._element().merge(other.element)

    def to_text(self) -> str:
        """Return all of it as JSON, which `sighting_of` takes."""
        return dumps(_plain(self), separators=(",", ":"))

    def _field(self, name: str) -> Sighting:
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = Sighting()
        return field

    def _element(self) -> Sighting:
        if self.element is None:
            self.element = Sighting()
        return self.element


def sighting_of(text: str) -> Sighting:
    """Return what `Sighting.to_text` gave as a text."""
    return _sighting(loads(text))


def field_count(value: object) -> int:
    """Return how many fields are in a value, at any depth."""
    if isinstance(value, dict):
        return len(value) + sum(map(field_count, value.values()))
    return sum(map(field_count, value)) if isinstance(value, list) else 0


class _Plain(TypedDict):
    """A sighting as JSON."""

    count: int
    kinds: list[str]
    fields: dict[str, _Plain]
    element: _Plain | None


def _plain(sighting: Sighting) -> _Plain:
    return {
        "count": sighting.count,
        "kinds": sorted(sighting.kinds),
        "fields": {name: _plain(field) for name, field in sighting.fields.items()},
        "element": None if sighting.element is None else _plain(sighting.element),
    }


def _sighting(plain: _Plain) -> Sighting:
    sighting = Sighting()
    sighting.count, sighting.kinds = plain["count"], set(plain["kinds"])
    sighting.fields = {name: _sighting(field) for name, field in plain["fields"].items()}
    sighting.element = None if plain["element"] is None else _sighting(plain["element"])
    return sighting


def _kinds_of(number: Number) -> set[str]:
    if not isinstance(number, Whole):
        return {FRACTION if math.isfinite(float(number)) else INFINITE}
    digits = len(number.lstrip("-"))
    if digits > _HUGE_DIGITS:
        kind = BEYOND
    elif digits < _LONG_DIGITS or -(1 << 63) <= int(number) < 1 << 63:
        kind = LONG
    else:
        kind = HUGE
    return {kind} if is_exact(number) else {kind, INEXACT}
