"""What `ottla.testing` raises: one line that says what happened, and what to do.

Both ends of the control channel know the kinds: an error crosses it as its kind and its text.
"""

from __future__ import annotations

from operator import methodcaller


class OttlaError(Exception):
    """Something about a broker under test; the subclasses say what."""

    kind = "failed"


class StartFailed(OttlaError, RuntimeError):
    """The broker did not start; what it said is in the text."""

    kind = "start"


class StopFailed(OttlaError, RuntimeError):
    """The broker did not stop in time, and was killed."""

    kind = "stop"


class BrokerGone(OttlaError):
    """The broker's process has ended: it was stopped, killed, or it crashed."""

    kind = "gone"


class DeadlinePassed(OttlaError, TimeoutError):
    """No answer within the time that was given."""

    kind = "deadline"


class Misuse(OttlaError, ValueError):
    """What was asked cannot be: an argument is wrong, or the broker is not in the state for it."""

    kind = "misuse"


class NotPossible(OttlaError):
    """This cannot be done with what the tests run against, such as a cluster that is not ours."""

    kind = "not possible"


SHOW_THE_CALLER = methodcaller("errisinstance", OttlaError)
"""What a module sets `__tracebackhide__` to: pytest shows these errors at the line of the test."""

_CLASSES: tuple[type[OttlaError], ...] = (
    StartFailed,
    StopFailed,
    BrokerGone,
    DeadlinePassed,
    Misuse,
    NotPossible,
)


def error_of(kind: str, text: str) -> OttlaError:
    """The error that came over the channel as this kind."""
    found = next((one for one in _CLASSES if one.kind == kind), OttlaError)
    return found(text)
