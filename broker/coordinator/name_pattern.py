"""A client's regular expression for names: of transactional ids (KIP-1152), of topics (KIP-848).

Its syntax is RE2's, as in Kafka. RE2's time is linear in the lengths of pattern and name. Python's
`re` backtracks, so that one short pattern could block the loop for hours. RE2 rejects what it
cannot match in linear time, such as back references. Rejected here, too, is a pattern of too many
steps (`pattern_steps`), or one that needs more than `MEMORY_MAX_BYTES`. To compile a pattern then
takes some 5 ms at worst, and to match a name some 6 ns for each byte of it and each part of the
pattern. `matching_names` matches in slices, and moves long matches to a thread.

Kafka uses RE2/J, a port of the RE2 that is used here. Their error texts differ; clients get those
of RE2/J.

Never used for expressions that are not a client's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.coordinator.pattern_steps import count_steps
from ground.sliced_work import Job, Pace, Steps

if TYPE_CHECKING:
    import re2

MEMORY_MAX_BYTES = 1024 * 1024
"""The memory limit of a compiled pattern, with what it caches while it matches."""

_OPTIONS = {
    "log_errors": False,  # RE2 would write them to standard error
    "max_mem": MEMORY_MAX_BYTES,
    "never_capture": True,  # thousands of capture groups would take minutes for each name
}

_TOO_LARGE = "expression too large"
_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": _TOO_LARGE,
    "trailing \\": "trailing backslash at end of expression",
}
"""RE2's error texts, and those of RE2/J for the same errors."""

# The work for one slice of the loop, and for one job of a thread, in the unit of
# `NamePattern.cost_of`: at worst some 2 ms, and some 20 ms.
_A_SLICE = 300_000
_A_JOB = 3_000_000
_A_CALL = 32
"""The cost of a call of RE2, in bytes of a name."""
_A_STEP = 16
"""The cost for RE2 to compile a step of a pattern, in the unit of `NamePattern.cost_of`."""
_LARGE = 2_000
"""The pattern size above which names are grouped into jobs for a thread."""


def re2_options(overrides: Mapping[str, object]) -> re2.Options:
    """Return RE2's default options, with those of `overrides` set by name."""
    import re2  # not loaded before a client sends a pattern

    options = re2.Options()
    for name, value in overrides.items():
        setattr(options, name, value)
    return options


class InvalidPattern(ValueError):
    """A pattern that RE2 rejects, or that is too large. The text says why."""


class NamePattern:
    """A pattern that RE2 has compiled."""

    __slots__ = ("_matcher", "_steps")

    def __init__(self, pattern: str, steps_max: int) -> None:
        """Compile `pattern`.

        Raises InvalidPattern if RE2 rejects it, or if it has more than `steps_max` steps.
        """
        import re2  # not loaded before a client sends a pattern

        self._steps = count_steps(pattern, steps_max)
        if self._steps > steps_max:
            raise InvalidPattern(_TOO_LARGE)
        try:
            self._matcher: re2._Regexp = re2.compile(pattern, re2_options(_OPTIONS))
        except re2.error as error:
            raise InvalidPattern(_reason(error)) from error
        finally:
            re2.purge()  # its cache would keep the last 128 patterns, each with all its memory

    @property
    def size(self) -> int:
        """The number of parts that RE2 compiled; each may look at each byte of a name."""
        size: int = self._matcher.programsize
        return size

    @property
    def compile_cost(self) -> int:
        """The cost of compiling the pattern, in the unit of `cost_of`."""
        return self._steps * _A_STEP

    def cost_of(self, name: str) -> int:
        """Return the most that matching `name` may cost, in units of some 6 ns."""
        return self.size * (_A_CALL + len(name))

    def matches(self, name: str) -> bool:
        """Return whether the pattern matches the whole of `name`."""
        return self._matcher.fullmatch(name.encode()) is not None

    def matching(self, names: Sequence[str]) -> list[str]:
        """Return those of `names` that match."""
        return [name for name in names if self.matches(name)]


def matching_names(pattern: NamePattern, names: Sequence[str], pace: Pace) -> Steps[list[str]]:
    """Return those of `names` that match, in slices of `pace`, which is from `pace_of_names`.

    Names that may take longer than a slice are matched in a thread, by a yielded `Job`; RE2
    releases the interpreter lock while it matches.
    """
    matches: list[str] = []
    for part, cost in _parts(pattern, names):
        if cost > _A_SLICE:
            matches += yield Job(partial(pattern.matching, part))
            continue
        if pace.is_full(cost):
            yield None
        matches += pattern.matching(part)
    return matches


def pace_of_names() -> Pace:
    """Return the pace for `matching_names` and for sums of `NamePattern.compile_cost`."""
    return Pace(_A_SLICE)


def _parts(pattern: NamePattern, names: Sequence[str]) -> Iterator[tuple[list[str], int]]:
    """Yield groups of consecutive names, each with its cost: at most a slice's, or a job's if the
    pattern is large. A single name may cost more."""
    most = _A_JOB if pattern.size > _LARGE else _A_SLICE
    part: list[str] = []
    total = 0
    for name in names:
        cost = pattern.cost_of(name)
        if part and total + cost > most:
            yield part, total
            part, total = [], 0
        part.append(name)
        total += cost
    if part:
        yield part, total


def _reason(error: re2.error) -> str:
    """Return RE2/J's text for an error of RE2, without the part of the pattern that it names."""
    message = error.args[0]
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    reason = text.partition(": ")[0]
    return _WORDS.get(reason, reason)
