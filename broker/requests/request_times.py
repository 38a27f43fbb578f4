"""The times of requests, by API and by stage: Kafka's `RequestMetrics`.

It owns the counts of each API, and the timestamps of the one request that a connection has under
way. It has no clock (the owner of the connection passes the times), and never knows what a request
means.

The stages are Kafka's, from the moment when a whole frame has come until the kernel has the answer.
A prepared request that is answered at once has two stages, the handling and the send. Usually both
fit into one bucket of each histogram, and then they cost one comparison and three additions. If no
metrics are served, a connection has no `RequestTimes`.

A connection calls `received`, `begun`, `handled`, `answered`, `sending` and `sent` in this order,
each with the seconds of one monotonic clock. Between `received` and `answered`, the request handler
calls `set_metrics` with the metrics of the request's API.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum
from itertools import accumulate
from typing import Protocol

BOUNDS_S = (
    0.0,
    0.0001,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    5.0,
    30.0,
)
"""The upper bounds of the buckets, in seconds; one more bucket is above them. The first bucket
counts the requests that never were in a stage."""
QUICK_S = BOUNDS_S[1]
"""The total time up to which a prepared request counts as quick, in seconds."""


class Stage(Enum):
    """The stages, named as in Kafka, in lower case and without the unit."""

    REQUEST_QUEUE = "requestqueuetime"
    """The time for which the request waits for a handler slot."""
    LOCAL = "localtime"
    """The time for which its handler runs, until the handler has returned or answered."""
    REMOTE = "remotetime"
    """The time for which it waits for other brokers, new records, or a reading thread."""
    RESPONSE_QUEUE = "responsequeuetime"
    """The time for which its answer waits until the event loop sends it."""
    RESPONSE_SEND = "responsesendtime"
    """The time from the start of the send until the kernel has the whole answer."""
    THROTTLE = "throttletime"
    """The time for which a quota holds its client back; not part of the total."""
    TOTAL = "totaltime"
    """The sum of all stages, except the throttle time."""


STAGES = tuple(Stage)
_LOCAL, _SEND, _TOTAL = map(STAGES.index, (Stage.LOCAL, Stage.RESPONSE_SEND, Stage.TOTAL))


class TimedTrace(Protocol):
    """A trace of one request, which gets the times of its stages."""

    def came(self, received_s: float, taken_s: float | None) -> None:
        """Add to the trace the times at which the request came and got a handler slot; None: at
        once."""

    def answered(self, handled_s: float, answered_s: float, *, leaves: bool) -> None:
        """Add to the trace the times at which the handler returned and the answer was ready.
        `leaves`: whether an answer is sent."""

    def sent(self, sending_s: float, sent_s: float) -> None:
        """Add to the trace the times at which the send began and ended."""


class Times:
    """A histogram of the times that requests spent in one stage, since the start."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        """The number of requests in each bucket; not cumulative."""
        self.sum_s = 0.0

    def took(self, seconds: float) -> None:
        """Count one request that spent these `seconds` in the stage."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    def add(self, other: Times) -> None:
        """Add all requests of another histogram."""
        self.counts = [own + others for own, others in zip(self.counts, other.counts, strict=True)]
        self.sum_s += other.sum_s

    def add_quick(self, count: int, sum_s: float) -> None:
        """Add `count` requests that took at most `QUICK_S` each, and `sum_s` seconds together."""
        self.counts[1] += count
        self.sum_s += sum_s

    def add_none(self, count: int) -> None:
        """Add `count` requests that never were in this stage."""
        self.counts[0] += count

    def up_to(self) -> list[int]:
        """Return how many requests took at most as long as each bound of `BOUNDS_S`, and last the
        number of all."""
        return list(accumulate(self.counts))


class RequestMetrics:
    """The counts of one API since the start."""

    __slots__ = ("_quick", "_quick_local_s", "_quick_s", "_times", "errors", "requests")

    def __init__(self) -> None:
        self.requests = 0
        """The number of requests that were handled, or answered as prepared."""
        self.errors = 0
        self._quick = 0
        self._quick_local_s = 0.0
        self._quick_s = 0.0
        self._times: tuple[Times, ...] = ()  # by stage; empty until a request is not quick

    def begun(self) -> None:
        """Count a request that is handled, or was answered as prepared."""
        self.requests += 1

    def failed(self) -> None:
        """Count a request that failed by a bug of Ottla."""
        self.errors += 1

    def at_once(self, local_s: float, total_s: float) -> None:
        """Count the times of a prepared request: it was answered within `local_s`, and sent within
        `total_s`."""
        if total_s <= QUICK_S:
            self._quick += 1
            self._quick_local_s += local_s
            self._quick_s += total_s
        else:
            self.took(0.0, local_s, 0.0, 0.0, total_s - local_s, 0.0, total_s)

    def took(self, *seconds: float) -> None:
        """Count in each stage's histogram the seconds of one request, in the order of `STAGES`."""
        if not self._times:
            self._times = tuple(Times() for _ in STAGES)
        for times, of_stage in zip(self._times, seconds, strict=True):
            times.took(of_stage)

    def times(self, stage: Stage) -> Times:
        """Return a copy of the histogram of a stage."""
        place = STAGES.index(stage)
        copy = Times()
        if self._times:
            copy.add(self._times[place])
        quick_s = {
            _LOCAL: self._quick_local_s,
            _SEND: self._quick_s - self._quick_local_s,
            _TOTAL: self._quick_s,
        }
        if place in quick_s:
            copy.add_quick(self._quick, quick_s[place])
        else:
            copy.add_none(self._quick)
        return copy


class _Answer:
    """A request that is answered, but whose answer is not sent yet."""

    __slots__ = (
        "answered_s",
        "begun_s",
        "handled_s",
        "metrics",
        "received_s",
        "throttle_s",
        "trace",
    )

    def __init__(
        self,
        metrics: RequestMetrics,
        received_s: float,
        begun_s: float,
        handled_s: float,
        answered_s: float,
        throttle_s: float,
        trace: TimedTrace | None = None,
    ) -> None:
        self.trace = trace
        self.metrics = metrics
        self.received_s = received_s
        self.begun_s = begun_s
        self.handled_s = handled_s
        self.answered_s = answered_s
        self.throttle_s = throttle_s

    def count_sent(self, sending_s: float, now_s: float) -> None:
        """Count the seconds of each stage in the metrics of the request, and add the send to its
        trace."""
        self.metrics.took(
            self.begun_s - self.received_s,
            self.handled_s - self.begun_s,
            self.answered_s - self.handled_s,
            sending_s - self.answered_s,
            now_s - sending_s,
            self.throttle_s,
            now_s - self.received_s,
        )
        if self.trace is not None:
            self.trace.sent(sending_s, now_s)


class RequestTimes:
    """The times of the request that a connection has under way, and of those whose answers are not
    sent yet.

    `metrics` is read-only: the metrics in which the last request is counted; None: in none.
    """

    __slots__ = (
        "_begun_s",
        "_handled_s",
        "_leaving",
        "_received_s",
        "_sending",
        "_trace",
        "metrics",
    )

    def __init__(self) -> None:
        self.metrics: RequestMetrics | None = None
        self._received_s = 0.0
        self._begun_s: float | None = None
        self._handled_s: float | None = None
        self._leaving: list[_Answer] = []
        self._sending: list[tuple[float, list[_Answer]]] = []
        """The start of each send, and the answers that it sends."""
        self._trace: TimedTrace | None = None

    def set_metrics(self, metrics: RequestMetrics) -> None:
        """Set the metrics in which the request that has come is counted."""
        self.metrics = metrics

    def set_trace(self, trace: TimedTrace) -> None:
        """Set the trace of the request under way, and add to it when that request came."""
        trace.came(self._received_s, self._begun_s)
        self._trace = trace

    def received(self, now_s: float) -> None:
        """Set the time at which the whole request has come, and clear the times of the request
        before."""
        self.metrics = None
        self._received_s = now_s
        self._begun_s = self._handled_s = None

    def begun(self, now_s: float) -> None:
        """Set the time at which the request's handler began; without it, that is the time of
        receipt."""
        self._begun_s = now_s

    def handled(self, now_s: float) -> None:
        """Set the time at which the handler returned, unless the request is answered already."""
        if self._handled_s is None:
            self._handled_s = now_s

    def answered(self, now_s: float, throttle_s: float = 0.0, *, leaves: bool = True) -> None:
        """Set the time of the answer, and that its client is then held back for `throttle_s`. No
        effect without metrics (`set_metrics`).

        If `leaves`, an answer is sent, and `sending` and `sent` follow. Otherwise the request is
        counted now.
        """
        if self.metrics is None:
            return
        begun_s = self._received_s if self._begun_s is None else self._begun_s
        handled_s = now_s if self._handled_s is None else self._handled_s
        self._handled_s = now_s  # the handler may run on after it has answered
        trace = None
        if self._trace is not None:
            trace, self._trace = self._trace, None
            trace.answered(handled_s, now_s, leaves=leaves)
        answer = _Answer(
            self.metrics,
            self._received_s,
            begun_s,
            handled_s,
            now_s,
            throttle_s,
            trace if leaves else None,
        )
        if leaves:
            self._leaving.append(answer)
        else:
            answer.count_sent(now_s, now_s)

    def leaves_late(self, received_s: float, answered_s: float) -> None:
        """Set the times at which a prepared request came and was answered: the kernel did not take
        the whole answer. `sent` follows."""
        self._received_s = received_s
        self._begun_s = self._handled_s = None
        self.answered(answered_s)
        self.sending(answered_s)

    def put_off(self, received_s: float, handled_s: float) -> None:
        """Set the times at which a prepared request came and its handler returned; its answer comes
        later."""
        self._received_s = received_s
        self.handled(handled_s)

    def sending(self, now_s: float) -> None:
        """Set the time at which the send of all ready answers begins."""
        if self._leaving:
            self._sending.append((now_s, self._leaving))
            self._leaving = []

    def sent(self, now_s: float) -> None:
        """Count in their metrics all answers whose send began: the kernel has them."""
        sending, self._sending = self._sending, []
        for since_s, answers in sending:
            for answer in answers:
                answer.count_sent(since_s, now_s)
