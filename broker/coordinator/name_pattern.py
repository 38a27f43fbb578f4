"""A client's regular expression for names, in RE2's syntax as in Kafka: of transactional ids
(KIP-1152), of topics (KIP-848).

RE2 takes a time that follows the lengths of pattern and name; Python's own expressions go back and
try again, and one short pattern could hold the loop for hours. What RE2 has no linear way for, back
references for one, is refused. So is a pattern that needs more than `MEMORY_MAX_BYTES`: to read it
takes at most some 12 ms.

Kafka's is RE2/J, ours the library that it was made after, which says the same in other words; here
they are RE2/J's.

Never: used for expressions of our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2

MEMORY_MAX_BYTES = 1024 * 1024
"""Of a pattern made ready, and of what it keeps while it looks."""

_OPTIONS = {
    "log_errors": False,  # it would write to standard error
    "max_mem": MEMORY_MAX_BYTES,
}

_WORDS = {
    "bad repetition operator": "invalid nested repetition operator",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "pattern too large - compile failed": "expression too large",
    "trailing \\": "trailing backslash at end of expression",
}
"""What RE2 says, and RE2/J for it."""


def re2_options(wanted: Mapping[str, object]) -> re2.Options:
    """Options of RE2 by their names; all others are its own."""
    import re2  # not loaded where nobody asks

    options = re2.Options()
    for name, value in wanted.items():
        setattr(options, name, value)
    return options


class InvalidPattern(ValueError):
    """It is no expression of RE2, or one that needs too much memory. The text says why."""


class NamePattern:
    """One that was read."""

    __slots__ = ("_matcher",)

    def __init__(self, pattern: str) -> None:
        """Raises InvalidPattern."""
        import re2  # not loaded where nobody asks

        try:
            self._matcher: re2._Regexp = re2.compile(pattern, re2_options(_OPTIONS))
        except re2.error as error:
            raise InvalidPattern(_reason(error)) from error

    @property
    def size(self) -> int:
        """Steps that it was made into: what one character may cost."""
        size: int = self._matcher.programsize
        return size

    def matches(self, name: str) -> bool:
        """Whether all of it does."""
        return self._matcher.fullmatch(name) is not None


def _reason(error: re2.error) -> str:
    told = error.args[0]
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    reason = text.partition(": ")[0]
    return _WORDS.get(reason, reason)
