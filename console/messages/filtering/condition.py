"""A filter of records, ready to use: the expression's function, and a text that it needs.

If no record can match without one of certain texts (`needed_texts`), a batch is first searched for
these. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from console.messages.decoding.decoded_parts import DecodedParts
from console.messages.filtering.evaluating import Evaluate, evaluator
from console.messages.filtering.expressions import (
    Both,
    Compare,
    Either,
    Expression,
    Items,
    Literal,
    TextCall,
)
from console.messages.filtering.needed_texts import needed_pattern
from console.messages.filtering.parsing import parse
from console.messages.filtering.record_fields import RecordFields
from console.messages.json_escapes import has_escapes
from console.messages.matching import BadPattern, Pattern, compiled, records_with
from protocol.record_batch import RecordBatchHeader
from protocol.records import Record, records_in


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
    needed = needed_pattern(expression)
    pattern = None if needed is None else _compiled(needed)
    texts = tuple(dict.fromkeys(_compared_texts(expression)))
    return Condition(texts, evaluator(expression), pattern)


def _compiled(needed: str) -> Pattern | None:
    try:
        return compiled(needed, is_regex=True, with_case=True)
    except BadPattern:
        return None  # it is too long: each record is parsed


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
