"""The exceptions of `ottla.testing`: one line each, which says what happened and what to do.

Both ends of the control channel know the kinds: an error crosses it as its kind and its text.
"""

from __future__ import annotations

from operator import methodcaller


class OttlaError(Exception):
    """The base of all errors about a broker under test."""

    kind = "failed"


class StartFailed(OttlaError, RuntimeError):
    """The broker did not start; the text has its output."""

    kind = "start"


class StopFailed(OttlaError, RuntimeError):
    """The broker did not stop within the time-out, and was killed."""

    kind = "stop"


class BrokerGone(OttlaError):
    """The broker's process has ended: it was stopped, killed, or it crashed."""

    kind = "gone"


class DeadlinePassed(OttlaError, TimeoutError):
    """There was no answer before the deadline."""

    kind = "deadline"


class Misuse(OttlaError, ValueError):
    """A call that cannot work: an argument is wrong, or the broker is not in the state for it."""

    kind = "misuse"


class NotPossible(OttlaError):
    """An operation that the cluster under test does not allow, such as killing a broker that the
    tests did not start."""

    kind = "not possible"


SHOW_THE_CALLER = methodcaller("errisinstance", OttlaError)
"""The value of `__tracebackhide__` in modules whose frames pytest leaves out: these errors are
shown at the line of the test."""

_CLASSES: tuple[type[OttlaError], ...] = (
    StartFailed,
    StopFailed,
    BrokerGone,
    DeadlinePassed,
    Misuse,
    NotPossible,
)


def error_of(kind: str, text: str) -> OttlaError:
    """Return the error for a kind and a text that came over the channel: an OttlaError itself if no
    class has this kind."""
    error_class = next(
        (error_class for error_class in _CLASSES if error_class.kind == kind), OttlaError
    )
    return error_class(text)
