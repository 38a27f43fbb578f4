"""Which topics an expression of a consumer gives: looked up among all names, in slices.

Owns the order of a look-up: one expression after the other, each read when its turn comes. A group
may have thousands of expressions, and there may be a hundred thousand names. Never: when something
is looked up, or what becomes of it.

Follows KIP-848: the syntax is RE2's, and all of a name has to match; internal topics are found as
others are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker.coordinator.name_pattern import (
    InvalidPattern,
    NamePattern,
    matching_names,
    pace_of_names,
)
from storage.log.sliced_work import SlicedWork, Steps


class TopicNames:
    """Of one node. `steps_max`: of an expression (`ottla.regex.max.steps`)."""

    def __init__(self, work: SlicedWork, steps_max: int) -> None:
        self._work = work
        self._steps_max = steps_max

    def fault(self, expression: str) -> str | None:
        """Why this is no expression, in Kafka's words; None where it is one."""
        try:
            NamePattern(expression, self._steps_max)
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

        for found in self._work.begin(self._found(expressions, names), ended):
            done(found)

    def _found(
        self, expressions: Sequence[str], names: Sequence[str]
    ) -> Steps[dict[str, list[str]]]:
        found: dict[str, list[str]] = {}
        pace = pace_of_names()
        for expression in expressions:
            try:
                pattern = NamePattern(expression, self._steps_max)
            except InvalidPattern:
                found[expression] = []
                yield None  # to refuse one may take as long as to read it
                continue
            if pace.is_full(pattern.reading_cost):
                yield None
            found[expression] = sorted((yield from matching_names(pattern, names, pace)))
        return found
