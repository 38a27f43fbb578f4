"""A client's regular expression for transactional ids, in RE2's syntax as in Kafka (KIP-1152).

RE2 takes a time that follows the lengths of pattern and id; Python's own expressions go back and
try again, and one short pattern could hold the loop for hours. What RE2 has no linear way for, back
references for one, is refused.

Never: used for expressions of our own.
"""

from __future__ import annotations

from collections.abc import Callable

Matches = Callable[[str], bool]


class InvalidPattern(ValueError):
    """It is no expression of RE2, or one that needs too much memory."""


def whole_match(pattern: str) -> Matches:
    """Tells whether all of an id matches `pattern`. Raises InvalidPattern."""
    import re2  # not loaded where nobody asks

    options = re2.Options()
    options.log_errors = False  # it would write to standard error
    try:
        fullmatch = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        raise InvalidPattern(pattern) from error
    return lambda text: fullmatch(text) is not None
