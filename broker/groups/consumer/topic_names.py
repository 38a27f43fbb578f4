"""The search for the topics that match consumers' regular expressions, in slices.

Owns the order of a search: the expressions one after the other, each compiled just before it is
matched, and then the authorization of each matching name once. A group may have thousands of
expressions, and a cluster a hundred thousand topics. Never decides when to search, or what to do
with the result.

Follows KIP-848: the syntax is RE2's, the whole name must match, and internal topics match like
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker.coordinator.name_pattern import (
    InvalidPattern,
    NamePattern,
    matching_names,
    pace_of_names,
)
from broker.groups.consumer.membership import Describable, all_names
from ground.sliced_work import PIECES_AT_ONCE, Pace, SlicedWork, Steps

_NAMES_A_SLICE = 20_000
"""The number of names that are looked up in a set within one slice."""


class TopicNames:
    """The search for topics by expressions, for the groups of a node.

    `steps_max`: the limit for an expression's steps (`ottla.regex.max.steps`).
    """

    def __init__(self, work: SlicedWork, steps_max: int) -> None:
        self._work = work
        self._steps_max = steps_max

    def fault(self, expression: str) -> str | None:
        """Return the reason why the expression is invalid, in Kafka's words, or None."""
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
        """Call `done` with the matching `names` that pass `may_describe`, sorted, by expression.

        A short search calls `done` within this call. An invalid expression matches nothing: another
        release, whose RE2 accepts it, may have written it to the log.
        """

        def ended(matches: dict[str, list[str]] | None, error: Exception | None) -> None:
            """Pass the matches to `done`, or raise the error of a later slice."""
            if error is not None:
                raise error
            assert matches is not None
            done(matches)

        for matches in self._work.begin(
            self._visible_matches(expressions, names, may_describe), ended
        ):
            done(matches)

    def _visible_matches(
        self, expressions: Sequence[str], names: Sequence[str], may_describe: Describable
    ) -> Steps[dict[str, list[str]]]:
        """Return the matching names of each expression that the client may describe, in slices."""
        matches = yield from self._matching(expressions, names)
        if may_describe is all_names:
            return matches
        matching = list(dict.fromkeys(name for topics in matches.values() for name in topics))
        shown: set[str] = set()
        for start in range(0, len(matching), PIECES_AT_ONCE):
            if start:
                yield None
            shown.update(may_describe(matching[start : start + PIECES_AT_ONCE]))
        pace = Pace(_NAMES_A_SLICE)
        for expression, topics in matches.items():
            if pace.is_full(len(topics)):
                yield None
            matches[expression] = [name for name in topics if name in shown]
        return matches

    def _matching(
        self, expressions: Sequence[str], names: Sequence[str]
    ) -> Steps[dict[str, list[str]]]:
        """Return the sorted matching names of each expression, in slices.

        An invalid expression has none.
        """
        matches: dict[str, list[str]] = {}
        pace = pace_of_names()
        for expression in expressions:
            try:
                pattern = NamePattern(expression, self._steps_max)
            except InvalidPattern:
                matches[expression] = []
                yield None  # an invalid expression may take as long as a valid one
                continue
            if pace.is_full(pattern.compile_cost):
                yield None
            matches[expression] = sorted((yield from matching_names(pattern, names, pace)))
        return matches
