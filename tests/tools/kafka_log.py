"""What Apache Kafka complains of in its log, without what a busy machine alone makes it say."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^(?=\[\d{4}-\d\d-\d\d )", re.MULTILINE)
_ERROR = re.compile(r"\[[^\]]*\] ERROR ")
_OWN = (
    # It was not called in time.
    re.compile(r"Exceptionally slow controller event"),
    # The epoch in which it begins to load a coordinator may be over before it has loaded.
    re.compile(r"Stopped loading records"),
    # A node registers with itself as soon as it is elected, which may be before it knows of it.
    re.compile(r"CONTROLLER_REGISTRATION.*NotControllerException", re.DOTALL),
)


def errors_in(log: str, *expected: str) -> list[str]:
    """Entries of level ERROR, each with its exception, but for those with an `expected` text."""
    errors = [one for one in _ENTRY.split(log) if _ERROR.match(one)]
    return [
        one
        for one in errors
        if not any(text in one for text in expected) and not any(own.search(one) for own in _OWN)
    ]
