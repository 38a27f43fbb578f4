"""The errors in Apache Kafka's log, without those that a busy machine alone causes."""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^(?=\[\d{4}-\d\d-\d\d )", re.MULTILINE)
_ERROR = re.compile(r"\[[^\]]*\] ERROR ")
_OWN = (
    # A busy machine delays events of the controller.
    re.compile(r"Exceptionally slow controller event"),
    # A coordinator's epoch may end while the broker still loads it.
    re.compile(r"Stopped loading records"),
    # A controller registers with itself when it is elected, perhaps before it has learned of that.
    re.compile(r"CONTROLLER_REGISTRATION.*NotControllerException", re.DOTALL),
)


def errors_in(log: str, *expected: str) -> list[str]:
    """Return the log's entries of level ERROR, with exceptions, without the `expected` texts."""
    errors = [entry for entry in _ENTRY.split(log) if _ERROR.match(entry)]
    return [
        entry
        for entry in errors
        if not any(text in entry for text in expected)
        and not any(own.search(entry) for own in _OWN)
    ]
