"""The waits of a job that repeats, for a broker or a schema registry that does not answer.

Owns the wait and its lines. `errors.Unreachable` decides what an outage is.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline.errors import PipelineError, Unreachable, is_of_spark, names_outage, told
from pipeline.spark.waiting import Say

PAUSE_S = 1.0
PAUSE_MAX_S = 60.0
SAID_EVERY_S = 300.0


class Outages:
    """The outages of a job: each has a line when it begins, one every `SAID_EVERY_S` seconds, and
    one when it is over."""

    def __init__(
        self,
        say: Say,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Make the waits of a job that prints its lines with `say`. `now` returns seconds, and
        `sleep` takes them."""
        self._say = say
        self._now = now
        self._sleep = sleep
        self._pause_s = PAUSE_S

    def wait(self, error: Unreachable, ask: Callable[[], None]) -> None:
        """Return when `ask` no longer raises Unreachable. Raises other errors of `ask`.

        `error` began the outage. If outages follow each other without a call of `worked`, each
        waits twice as long before it asks, up to `PAUSE_MAX_S` seconds.
        """
        began = said = self._now()
        self._say(f"waiting: {error}")
        self._sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
        while True:
            try:
                ask()
            except Unreachable as still:
                if self._now() - said >= SAID_EVERY_S:
                    said = self._now()
                    self._say(f"waiting for {duration(said - began)}: {still}")
                self._sleep(PAUSE_S)
            else:
                break
        self._say(f"answered after {duration(self._now() - began)}: going on")

    def worked(self) -> None:
        """Note that the job has done its work: the next outage is the first of its kind."""
        self._pause_s = PAUSE_S


def outage_of(error: Exception, ask: Callable[[], None]) -> Unreachable | None:
    """Return the outage that stopped a job, None if an error has another cause.

    An error of Spark says little about its cause, so `ask` looks whether the servers answer. If
    they do again, the names of the Kafka client's errors in the text decide.
    """
    if isinstance(error, Unreachable):
        return error
    if isinstance(error, PipelineError) or not is_of_spark(error):
        return None
    try:
        ask()
    except Unreachable as outage:
        return outage
    return Unreachable(told(error)) if names_outage(error) else None


def duration(seconds: float) -> str:
    """Return a length of time in words, such as `12 s`, `5 min`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours // 24} days"
