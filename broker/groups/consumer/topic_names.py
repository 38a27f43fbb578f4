"""Which topics an expression of a consumer gives: looked up among all names, in slices.

Owns how much is looked at in one turn of the loop. A name takes some microseconds, with an
expression that was made to be slow 5 ms, and there may be a hundred thousand names. Never: when
something is looked up, or what becomes of it.

Follows KIP-848: the syntax is RE2's, and all of a name has to match; internal topics are found as
others are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from broker.coordinator.name_pattern import InvalidPattern, NamePattern
from storage.log.sliced_work import SlicedWork, Steps

_A_SLICE = 8_000
"""Of names times what the expression is made of: some two milliseconds."""


class TopicNames:
    """Of one node."""

    def __init__(self, work: SlicedWork) -> None:
        self._work = work

    def fault(self, expression: str) -> str | None:
        """Why this is no expression, in Kafka's words; None where it is one."""
        try:
            NamePattern(expression)
        except InvalidPattern as error:
            return str(error)
        return None

    def look_up(
        self,
        expressions: Sequence[str],
        names: Sequence[str],
        done: Callable[[dict[str, list[str]]], None],
    ) -> None:
        """The matching ones of `names`, sorted, by expression; told at once where that is quick.

        One that is no expression gives nothing: another release, whose RE2 takes it, may have
        written it into the log.
        """

        def ended(found: dict[str, list[str]] | None, error: Exception | None) -> None:
            if error is not None:
                raise error
            assert found is not None
            done(found)

        for found in self._work.begin(_found(expressions, names), ended):
            done(found)


def _found(expressions: Sequence[str], names: Sequence[str]) -> Steps[dict[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for expression in expressions:
        try:
            pattern = NamePattern(expression)
        except InvalidPattern:
            found[expression] = []
            continue
        matching: list[str] = []
        for part in _parts(names, max(1, _A_SLICE // pattern.size)):
            matching += [name for name in part if pattern.matches(name)]
            if len(part) < len(names):
                yield None
        found[expression] = sorted(matching)
    return found


def _parts(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))
