"""The texts without which no record can match a filter.

A batch that has none of them in its bytes need not be parsed: for `value.status == "PAID"`, the
text is `PAID`. For `value.id == 4711`, it is `4711`, or any number with an exponent. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

import re2

from console.messages.filtering.expressions import (
    STRUCTURED,
    Both,
    Compare,
    Either,
    Expression,
    Field,
    Items,
    Literal,
    TextCall,
)

TEXTS_MAX = 20
DIGITS_MIN, DIGITS_MAX = 3, 40
"""The digits of a number that is looked for: fewer are in nearly each record."""
_EXPONENT = "[0-9][eE][-+0-9]"
"""An expression for the other form of a number."""
_CHANGED_BY_JSON = re.compile(r"[\"\\/\x00-\x1f\x7f]")
_NUMBER_LIKE = re.compile(r"[-+.0-9eE]*")

_Needed = frozenset[str]
"""Expressions of which each record that matches has one."""


def needed_pattern(expression: Expression) -> str | None:
    """Return a regular expression that matches the bytes of each record which matches, unless JSON
    escapes them; None if there is none."""
    needed = _needed(expression)
    return None if needed is None else "|".join(sorted(needed))


def _needed(expression: Expression) -> _Needed | None:
    if isinstance(expression, Both):
        parts = [part for part in map(_needed, expression.conditions) if part is not None]
        return max(parts, key=_shortest, default=None)
    if isinstance(expression, Either):
        return _any_of(map(_needed, expression.conditions))
    if isinstance(expression, Compare) and expression.operator in ("==", "in"):
        return _needed_by_compare(expression)
    if isinstance(expression, TextCall) and _is_stored(expression.subject):
        return _needed_literal(expression.argument, is_part=True)
    return None


def _needed_by_compare(compare: Compare) -> _Needed | None:
    sides = (compare.left, compare.right)
    for field, other in (sides, sides[::-1]):
        if not _is_stored(field):
            continue
        if isinstance(other, Items):
            is_in = compare.operator == "in"
            return _any_of(map(_needed_literal, other.items)) if is_in else None
        return _needed_literal(other)
    return None


def _is_stored(expression: Expression) -> bool:
    """Return whether a field's value is in the bytes of the record."""
    return isinstance(expression, Field) and expression.root in STRUCTURED


def _any_of(parts: Iterable[_Needed | None]) -> _Needed | None:
    """Return the union; None if one of the parts may match without a text."""
    union: set[str] = set()
    for part in parts:
        if part is None:
            return None
        union |= part
    return frozenset(union) if 0 < len(union) <= TEXTS_MAX else None


def _needed_literal(expression: Expression, *, is_part: bool = False) -> _Needed | None:
    """Return what a text or a number is written as; `is_part`: it is a part of a text."""
    if not isinstance(expression, Literal):
        return None
    value = expression.value
    if isinstance(value, str):
        if not value or _CHANGED_BY_JSON.search(value):
            return None
        if not is_part and _NUMBER_LIKE.fullmatch(value):
            return None  # it equals a number, which has several forms
        return frozenset((re2.escape(value),))
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if isinstance(value, Decimal) and abs(value.adjusted()) > DIGITS_MAX:
        return None
    digits = f"{abs(Decimal(value)).normalize():f}"
    if not DIGITS_MIN <= len(digits) <= DIGITS_MAX:
        return None
    return frozenset((re2.escape(digits), _EXPONENT))


def _shortest(needed: _Needed) -> int:
    """Return the length of the shortest text: the longer it is, the fewer records have it."""
    return min(len(text) for text in needed if text != _EXPONENT)
