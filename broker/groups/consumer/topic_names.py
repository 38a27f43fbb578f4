"""Which topics an expression of a consumer gives: looked up among all names, in slices.

Owns the order of a look-up: one expression after the other, each read when its turn comes, and then
each name that matched is judged once. A group may have thousands of expressions, and there may be a
hundred thousand names. Never: when something
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
from broker.groups.consumer.membership import Describable, all_of_them
from ground.sliced_work import PIECES_AT_ONCE, Pace, SlicedWork, Steps

_NAMES_A_SLICE = 20_000
"""Names that are looked for in a set within one slice."""


class TopicNames:
    """The topics that expressions match, for the groups of one node.

    `steps_max`: the most steps of an expression (`ottla.regex.max.steps`).
    """

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
        may_describe: Describable,
        done: Callable[[dict[str, list[str]]], None],
    ) -> None:
        """The matching ones of `names` that `may_describe` shows, sorted, by expression; told at
        once where that is quick.

        One that is no expression gives nothing: another release, whose RE2 takes it, may have
        written it into the log.
        """

        def ended(found: dict[str, list[str]] | None, error: Exception | None) -> None:
            if error is not None:
                raise error
            assert found is not None
            done(found)

        for found in self._work.begin(self._shown(expressions, names, may_describe), ended):
            done(found)

    def _shown(
        self, expressions: Sequence[str], names: Sequence[str], may_describe: Describable
    ) -> Steps[dict[str, list[str]]]:
        found = yield from self._found(expressions, names)
        if may_describe is all_of_them:
            return found
        matching = list(dict.fromkeys(name for topics in found.values() for name in topics))
        shown: set[str] = set()
        for start in range(0, len(matching), PIECES_AT_ONCE):
            if start:
                yield None
            shown.update(may_describe(matching[start : start + PIECES_AT_ONCE]))
        pace = Pace(_NAMES_A_SLICE)
        for expression, topics in found.items():
            if pace.is_full(len(topics)):
                yield None
            found[expression] = [name for name in topics if name in shown]
        return found

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
