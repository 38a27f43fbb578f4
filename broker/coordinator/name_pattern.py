"""A client's regular expression for names, in RE2's syntax as in Kafka: of transactional ids
(KIP-1152), of topics (KIP-848).

RE2 takes a time that follows the lengths of pattern and name; Python's own expressions go back and
try again, and one short pattern could hold the loop for hours. What RE2 has no linear way for, back
references for one, is refused. So is a pattern of too many steps (`pattern_steps`), or one that
needs more than `MEMORY_MAX_BYTES`: to read one takes some 5 ms at worst, and a name some 6 ns for
each byte and each part of the pattern. `matching_names` does that in slices, and what is long in a
thread.

Kafka's is RE2/J, ours the library that it was made after, which says the same in other words; here
they are RE2/J's.

Never: used for expressions of our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from broker.coordinator.pattern_steps import steps_of
from ground.sliced_work import Job, Pace, Steps

if TYPE_CHECKING:
    import re2

MEMORY_MAX_BYTES = 1024 * 1024
"""Of a pattern made ready, and of what it keeps while it looks."""

_OPTIONS = {
    "log_errors": False,  # it would write to standard error
    "max_mem": MEMORY_MAX_BYTES,
    "never_capture": True,  # thousands of groups would take minutes for each name
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
"""What RE2 says, and RE2/J for it."""

# How much one turn of the loop does, and a thread at once, in `NamePattern.cost_of`: at worst some
# 2 ms, and some 20 ms.
_A_SLICE = 300_000
_A_JOB = 3_000_000
_A_CALL = 32
"""What it costs to ask RE2 at all, in bytes of a name."""
_A_STEP = 16
"""What RE2 needs to read a step of a pattern, in units of a cost."""
_LARGE = 2_000
"""Parts of a pattern from which on a thread looks for its names."""


def re2_options(wanted: Mapping[str, object]) -> re2.Options:
    """Options of RE2 by their names; all others are its own."""
    import re2  # not loaded where nobody asks

    options = re2.Options()
    for name, value in wanted.items():
        setattr(options, name, value)
    return options


class InvalidPattern(ValueError):
    """An expression that RE2 does not read, or that is too large. The text says why."""


class NamePattern:
    """One that was read."""

    __slots__ = ("_matcher", "_steps")

    def __init__(self, pattern: str, steps_max: int) -> None:
        """Raises InvalidPattern, also where there are more than `steps_max`."""
        import re2  # not loaded where nobody asks

        self._steps = steps_of(pattern, steps_max)
        if self._steps > steps_max:
            raise InvalidPattern(_TOO_LARGE)
        try:
            self._matcher: re2._Regexp = re2.compile(pattern, re2_options(_OPTIONS))
        except re2.error as error:
            raise InvalidPattern(_reason(error)) from error
        finally:
            re2.purge()  # it would keep the last 128, each with all its memory

    @property
    def size(self) -> int:
        """Parts that it was made into: each of them may look at each byte of a name."""
        size: int = self._matcher.programsize
        return size

    @property
    def reading_cost(self) -> int:
        """Return the cost of reading the pattern, in the unit of `cost_of`."""
        return self._steps * _A_STEP

    def cost_of(self, name: str) -> int:
        """Return the most that matching `name` may cost, in units of some 6 ns."""
        return self.size * (_A_CALL + len(name))

    def matches(self, name: str) -> bool:
        """Whether all of it does."""
        return self._matcher.fullmatch(name.encode()) is not None

    def matching(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that match."""
        return [name for name in names if self.matches(name)]


def matching_names(pattern: NamePattern, names: Sequence[str], pace: Pace) -> Steps[list[str]]:
    """Those of `names` that match, looked for in slices of `pace`, which `pace_of_names` gave.

    A thread matches what may take longer than a slice: RE2 does not hold the interpreter lock then.
    """
    found: list[str] = []
    for part, cost in _parts(pattern, names):
        if cost > _A_SLICE:
            found += yield Job(partial(pattern.matching, part))
            continue
        if pace.is_full(cost):
            yield None
        found += pattern.matching(part)
    return found


def pace_of_names() -> Pace:
    """The pace of a slice of `matching_names` and of `NamePattern.reading_cost`."""
    return Pace(_A_SLICE)


def _parts(pattern: NamePattern, names: Sequence[str]) -> Iterator[tuple[list[str], int]]:
    """The names in groups, with the cost of each: as much as a slice may have, or a job."""
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
    told = error.args[0]
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    reason = text.partition(": ")[0]
    return _WORDS.get(reason, reason)
