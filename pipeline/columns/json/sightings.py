"""The fields and kinds of values in the JSON of many records, and how often each field is there.

The executors collect a sighting and send it to the driver as text, where sightings are merged; the
order of records changes only the order of names. Whole numbers have several kinds, by the types
that hold them exactly, because a column must hold each number of the sample. Owns these kinds;
`pipeline.columns.inference` derives columns from them.
"""

from __future__ import annotations

import math
from json import dumps, loads
from typing import TypedDict

from pipeline.columns.json.converters import is_exact
from pipeline.columns.json.parsing import Number, Whole

BOOLEAN, TEXT, ARRAY, OBJECT, TOO_DEEP = "boolean", "text", "array", "object", "deep"
LONG, HUGE, BEYOND = "long", "huge", "beyond"
"""The kinds of whole numbers: of 64 bits, of 38 digits, and longer."""
INEXACT = "inexact"
"""The additional kind of a whole number that no DOUBLE holds exactly."""
FRACTION, INFINITE = "fraction", "infinite"
"""The kinds of numbers with a fraction or an exponent: within the range of DOUBLE, and beyond."""
LEVELS_MAX = 32
"""The most STRUCTs and ARRAYs inside each other; deeper values are kept as their text."""
_HUGE_DIGITS, _LONG_DIGITS = 38, 19


class Sighting:
    """The values at one place in the JSON of many records."""

    __slots__ = ("count", "element", "fields", "kinds")

    def __init__(self) -> None:
        self.count = 0
        """The number of values, null as well."""
        self.kinds: set[str] = set()
        self.fields: dict[str, Sighting] = {}
        """The sightings of the objects' fields by name, in the order in which the fields were
        read."""
        self.element: Sighting | None = None
        """The sighting of the arrays' elements."""

    def see(self, value: object, levels: int = LEVELS_MAX) -> None:
        """Add a value that `parsing` gave. `levels` is the number of objects and arrays that may
        still be inside each other."""
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
        """Add the values of another sighting."""
        self.count += other.count
        self.kinds |= other.kinds
        for name, field in other.fields.items():
            self._field(name).merge(field)
        if other.element is not None:
            self._element().merge(other.element)

    def to_text(self) -> str:
        """Return this sighting as JSON, which `sighting_of` reads."""
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
    """Return the sighting whose text `Sighting.to_text` gave."""
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
