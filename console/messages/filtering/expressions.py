"""The parts of a filter expression, as `parsing` makes them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import re2

ROOTS = ("value", "key", "headers", "partition", "offset", "timestamp", "size")
STRUCTURED = ("value", "key", "headers")
"""The roots that have members."""
TEXT_METHODS = ("contains", "startsWith", "endsWith")


class BadFilter(ValueError):
    """A filter that cannot be used; `str()` is one line, with the position of the error."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, a number, true, false or null."""

    value: str | int | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Items:
    """A list: `["NEW", "PAID"]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record: `value.lines[0].sku`. A step is a member's name or a list's index."""

    root: str
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Has:
    """Whether the record has a field: `has(value.status)`."""

    field: Field


@dataclass(frozen=True, slots=True)
class Size:
    """The length of a text, or the number of items or members: `size(value.lines)`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class TextCall:
    """A method of TEXT_METHODS: `value.name.startsWith("A")`."""

    method: str
    subject: Expression
    argument: Expression


@dataclass(frozen=True, slots=True)
class Matches:
    """A search with a regular expression: `value.name.matches("^A")`."""

    subject: Expression
    pattern: re2._Regexp


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison by ==, !=, <, <=, >, >= or in."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Both:
    """Conditions that all have to hold: `a && b`."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Conditions of which one has to hold: `a || b`."""

    conditions: tuple[Expression, ...]


Expression: TypeAlias = (
    Literal | Items | Field | Has | Size | TextCall | Matches | Compare | Not | Both | Either
)
