"""Filter expressions made into functions of a record's fields.

A field that the record lacks is ABSENT, and so is a comparison with it, or of values that have no
order. `&&`, `||` and `!` count ABSENT as unknown, as CEL does with errors. So a record without the
field matches neither a comparison nor its negation. Pure.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isnan
from typing import Any, TypeAlias

from console.answers import ABSENT
from console.messages.decoding.decoded_parts import plain
from console.messages.filtering.expressions import (
    Both,
    Compare,
    Either,
    Expression,
    Field,
    Has,
    Items,
    Literal,
    Matches,
    Not,
    Size,
    TextCall,
)
from console.messages.filtering.record_fields import RecordFields

Evaluate = Callable[[RecordFields], object]
_Order: TypeAlias = Callable[[Any, Any], bool]
_ORDERS: Mapping[str, _Order] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXT_METHODS: Mapping[str, Callable[[str, str], bool]] = {
    "contains": operator.contains,
    "startsWith": str.startswith,
    "endsWith": str.endswith,
}
_NUMBER = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,9})?")
_PLAIN_TYPES = (str, int, Decimal, list, dict, type(None))


def evaluator(expression: Expression) -> Evaluate:
    """Return the function that gives an expression's value for a record."""
    make: Callable[..., Evaluate] = _MAKERS[type(expression)]
    return make(expression)


# --- conditions -----------------------------------------------------------------------------------


def _not(expression: Not) -> Evaluate:
    of = evaluator(expression.condition)

    def evaluate(fields: RecordFields) -> object:
        value = of(fields)
        return not value if isinstance(value, bool) else ABSENT

    return evaluate


def _both(expression: Both) -> Evaluate:
    parts = [evaluator(part) for part in expression.conditions]

    def evaluate(fields: RecordFields) -> object:
        result: object = True
        for part in parts:
            value = part(fields)
            if value is False:
                return False
            if value is not True:
                result = ABSENT
        return result

    return evaluate


def _either(expression: Either) -> Evaluate:
    parts = [evaluator(part) for part in expression.conditions]

    def evaluate(fields: RecordFields) -> object:
        result: object = False
        for part in parts:
            value = part(fields)
            if value is True:
                return True
            if value is not False:
                result = ABSENT
        return result

    return evaluate


def _has(expression: Has) -> Evaluate:
    of = evaluator(expression.field)
    return lambda fields: of(fields) is not ABSENT


def _text_call(expression: TextCall) -> Evaluate:
    method = _TEXT_METHODS[expression.method]
    subject, argument = evaluator(expression.subject), evaluator(expression.argument)

    def evaluate(fields: RecordFields) -> object:
        text, part = subject(fields), argument(fields)
        return method(text, part) if isinstance(text, str) and isinstance(part, str) else ABSENT

    return evaluate


def _matches(expression: Matches) -> Evaluate:
    subject, search = evaluator(expression.subject), expression.pattern.search

    def evaluate(fields: RecordFields) -> object:
        text = subject(fields)
        if not isinstance(text, str):
            return ABSENT
        return search(text.encode("utf-8", "surrogatepass")) is not None

    return evaluate


# --- comparisons ----------------------------------------------------------------------------------


def _compare(expression: Compare) -> Evaluate:
    left, right = evaluator(expression.left), evaluator(expression.right)
    compare = _COMPARISONS.get(expression.operator)
    if compare is None:
        order = _ORDERS[expression.operator]
        return lambda fields: _ordered(order, left(fields), right(fields))
    return lambda fields: compare(left(fields), right(fields))


def _equal(left: object, right: object) -> object:
    if left is ABSENT or right is ABSENT:
        return ABSENT
    left, right = _alike(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def _unequal(left: object, right: object) -> object:
    is_equal = _equal(left, right)
    return not is_equal if isinstance(is_equal, bool) else ABSENT


def _in(left: object, right: object) -> object:
    """Return whether a list has an item, or an object or the headers have a member."""
    if left is ABSENT:
        return ABSENT
    if isinstance(right, dict):
        return isinstance(left, str) and left in right
    if not isinstance(right, list):
        return ABSENT
    return any(_equal(left, item) is True for item in right)


def _ordered(order: _Order, left: object, right: object) -> object:
    left, right = _alike(left, right)
    if (_is_number(left) and _is_number(right)) or (
        isinstance(left, str) and isinstance(right, str)
    ):
        return order(left, right)
    return ABSENT


def _alike(left: object, right: object) -> tuple[object, object]:
    """Return two values for a comparison. A text that is a number is one beside a number, because
    Protobuf's JSON has numbers of 64 bits as texts."""
    if _is_number(left) and isinstance(right, str):
        return left, _from_text(right)
    if _is_number(right) and isinstance(left, str):
        return _from_text(left), right
    return left, right


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _from_text(text: str) -> object:
    return Decimal(text) if _NUMBER.fullmatch(text) else text


# --- values ---------------------------------------------------------------------------------------


def _literal(expression: Literal) -> Evaluate:
    value = expression.value
    return lambda _: value


def _items(expression: Items) -> Evaluate:
    items = [evaluator(item) for item in expression.items]
    return lambda fields: [item(fields) for item in items]


def _size(expression: Size) -> Evaluate:
    of = evaluator(expression.of)

    def evaluate(fields: RecordFields) -> object:
        value = of(fields)
        return len(value) if isinstance(value, str | list | dict) else ABSENT

    return evaluate


def _field(expression: Field) -> Evaluate:
    root: Evaluate = getattr(RecordFields, expression.root)
    path = expression.path
    if not path:
        return lambda fields: _comparable(root(fields))

    def evaluate(fields: RecordFields) -> object:
        value = root(fields)
        for step in path:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step, ABSENT)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return ABSENT
        return _comparable(value)

    return evaluate


def _comparable(value: object) -> object:
    """Return a field's value for comparisons: a double as the decimal number that is shown for it,
    what is no value of JSON as the text that is shown for it."""
    if isinstance(value, float):
        return ABSENT if isnan(value) else Decimal(repr(value))
    if value is ABSENT or isinstance(value, _PLAIN_TYPES):
        return value
    return plain(value)


_COMPARISONS: Mapping[str, Callable[[object, object], object]] = {
    "==": _equal,
    "!=": _unequal,
    "in": _in,
}
_MAKERS: Mapping[type, Callable[..., Evaluate]] = {
    Literal: _literal,
    Items: _items,
    Field: _field,
    Has: _has,
    Size: _size,
    TextCall: _text_call,
    Matches: _matches,
    Compare: _compare,
    Not: _not,
    Both: _both,
    Either: _either,
}
