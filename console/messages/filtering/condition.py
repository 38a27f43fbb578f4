"""A filter of records, ready to use: the expression's function, and a text that it needs.

If no record can match without a certain text in its bytes, such as `PAID` for
`value.status == "PAID"`, a batch is first searched for this text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from console.messages.decoding.decoded_parts import DecodedParts
from console.messages.filtering.evaluating import Evaluate, evaluator
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
from console.messages.filtering.parsing import parse
from console.messages.filtering.record_fields import RecordFields
from console.messages.json_escapes import has_escapes
from console.messages.matching import Pattern, compiled, records_with
from protocol.record_batch import RecordBatchHeader
from protocol.records import Record, records_in

_CHANGED_BY_JSON = re.compile(r"[\"\\/\x00-\x1f\x7f]")
_NUMBER_LIKE = re.compile(r"[-+.\deE]*")


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter: `condition.holds(partition, record, decoded)`."""

    texts: tuple[str, ...]
    """The texts that fields are compared with, to be marked on the page."""
    _evaluate: Evaluate
    _needed: Pattern | None

    def holds(self, partition: int, record: Record, decoded: DecodedParts | None) -> bool:
        """Return whether a record matches; `decoded` None: no decoder applies to it."""
        try:
            return self._evaluate(RecordFields(partition, record, decoded)) is True
        except RecursionError:
            return False  # two fields that are nested too deeply were compared

    def candidates(self, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Yield the records of an unpacked body that may match without being decoded.

        Raises CorruptBatch.
        """
        if self._needed is None or has_escapes(body):
            return records_in(header, body)
        return records_with(self._needed.loose, header, body)


def condition_of(text: str) -> Condition:
    """Return the condition of a filter expression. Raises BadFilter."""
    expression = parse(text)
    needed = _needed_text(expression)
    pattern = None if needed is None else compiled(needed, is_regex=False, with_case=True)
    texts = tuple(dict.fromkeys(_compared_texts(expression)))
    return Condition(texts, evaluator(expression), pattern)


def _needed_text(expression: Expression) -> str | None:
    """Return a text that each record which matches has in its bytes, unless JSON escapes it."""
    if isinstance(expression, Both):
        needed = [_needed_text(part) for part in expression.conditions]
        return max((text for text in needed if text is not None), key=len, default=None)
    if isinstance(expression, Compare) and expression.operator == "==":
        sides = (expression.left, expression.right)
    elif isinstance(expression, TextCall):
        sides = (expression.subject, expression.argument)
    else:
        return None
    for field, text in (sides, sides[::-1]):
        if isinstance(field, Field) and field.root in STRUCTURED and isinstance(text, Literal):
            return _unchanged_text(text.value)
    return None


def _unchanged_text(value: object) -> str | None:
    """Return a text that is written in JSON as it is; None for others, and for a text that equals a
    number, which has several forms."""
    if not isinstance(value, str) or not value:
        return None
    if _CHANGED_BY_JSON.search(value) or _NUMBER_LIKE.fullmatch(value):
        return None
    return value


def _compared_texts(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Both | Either):
        for part in expression.conditions:
            yield from _compared_texts(part)
    elif isinstance(expression, Compare) and expression.operator in ("==", "in"):
        yield from _literal_texts(expression.left)
        yield from _literal_texts(expression.right)
    elif isinstance(expression, TextCall):
        yield from _literal_texts(expression.argument)


def _literal_texts(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Literal) and isinstance(expression.value, str) and expression.value:
        yield expression.value
    elif isinstance(expression, Items):
        for item in expression.items:
            yield from _literal_texts(item)
