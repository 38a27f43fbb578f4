"""How long requests take, by API and by stage: Kafka's `RequestMetrics`.

Owns the counts of each API and the marks of the one request that a connection has under way. Never:
a clock (whoever has the connection says when), or what a request means.

The stages are Kafka's, from the moment when a whole frame is there until its answer has gone to the
kernel. A prepared request that is answered during the call has two of them, its own work and the
send. As a rule both together fit into one bucket of each histogram, and then they cost one
comparison and three additions. Where no metrics are served, a connection has no `RequestTimes`.

`RequestTimes.of` says whose the request is; then `received`, `begun`, `handled`, `answered`,
`sending` and `sent` follow, each with the seconds of one clock that never goes back.
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
"""Upper bounds of the buckets, in seconds; one more is above them. The first one has the requests
that never were in a stage."""
QUICK_S = BOUNDS_S[1]


class Stage(Enum):
    """The stages, by Kafka's names in lower case and without their unit."""

    REQUEST_QUEUE = "requestqueuetime"
    """It waits for a handler slot."""
    LOCAL = "localtime"
    """Its handler runs, or answers."""
    REMOTE = "remotetime"
    """It waits for something else: other brokers, new records, a thread that reads."""
    RESPONSE_QUEUE = "responsequeuetime"
    """Its answer waits until the loop sends it."""
    RESPONSE_SEND = "responsesendtime"
    """Its answer is sent, until the kernel has all of it."""
    THROTTLE = "throttletime"
    """For how long its client is held back by a quota. No part of the total."""
    TOTAL = "totaltime"
    """All but the throttle time."""


STAGES = tuple(Stage)
_LOCAL, _SEND, _TOTAL = map(STAGES.index, (Stage.LOCAL, Stage.RESPONSE_SEND, Stage.TOTAL))


class TimedTrace(Protocol):
    """Somebody who follows one request, and wants to know when it was where."""

    def came(self, received_s: float, taken_s: float | None) -> None:
        """It was there, and had a handler slot; None: at once."""

    def answered(self, handled_s: float, answered_s: float, *, leaves: bool) -> None:
        """Its handler was through, and it had its answer."""

    def sent(self, sending_s: float, sent_s: float) -> None:
        """The answer left."""


class Times:
    """How many requests took how long in one stage. Counts since the start."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        """By bucket: not cumulative."""
        self.sum_s = 0.0

    def took(self, seconds: float) -> None:
        """One request."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds

    def add(self, other: Times) -> None:
        """All of another one's requests."""
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        self.sum_s += other.sum_s

    def add_quick(self, count: int, sum_s: float) -> None:
        """So many that took at most `QUICK_S` each."""
        self.counts[1] += count
        self.sum_s += sum_s

    def add_none(self, count: int) -> None:
        """So many that never were in this stage."""
        self.counts[0] += count

    def up_to(self) -> list[int]:
        """How many took at most as long as each bound, and then all."""
        return list(accumulate(self.counts))


class RequestMetrics:
    """What is counted of one API since the start."""

    __slots__ = ("_quick", "_quick_local_s", "_quick_s", "_times", "errors", "requests")

    def __init__(self) -> None:
        self.requests = 0
        """How many were handled, or answered as prepared."""
        self.errors = 0
        self._quick = 0
        self._quick_local_s = 0.0
        self._quick_s = 0.0
        self._times: tuple[Times, ...] = ()  # by stage, from the first one on that is not quick

    def begun(self) -> None:
        """A request is handled, or was answered as prepared."""
        self.requests += 1

    def failed(self) -> None:
        """A request met a bug of ours."""
        self.errors += 1

    def at_once(self, local_s: float, total_s: float) -> None:
        """A request was answered as prepared within `local_s`, and all was sent within
        `total_s`."""
        if total_s <= QUICK_S:
            self._quick += 1
            self._quick_local_s += local_s
            self._quick_s += total_s
        else:
            self.took(0.0, local_s, 0.0, 0.0, total_s - local_s, 0.0, total_s)

    def took(self, *seconds: float) -> None:
        """A request's times, in the order of `STAGES`."""
        if not self._times:
            self._times = tuple(Times() for _ in STAGES)
        for times, of_stage in zip(self._times, seconds, strict=True):
            times.took(of_stage)

    def times(self, stage: Stage) -> Times:
        """A copy of those of a stage."""
        place = STAGES.index(stage)
        found = Times()
        if self._times:
            found.add(self._times[place])
        quick_s = {
            _LOCAL: self._quick_local_s,
            _SEND: self._quick_s - self._quick_local_s,
            _TOTAL: self._quick_s,
        }
        if place in quick_s:
            found.add_quick(self._quick, quick_s[place])
        else:
            found.add_none(self._quick)
        return found


class _Answer:
    """A request that is answered, and whose answer has not left yet."""

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

    def has_left(self, sending_s: float, now_s: float) -> None:
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
    """The request that a connection has under way, and those whose answers have not left. To be
    read only: `metrics`, where the last one is counted; None: nowhere."""

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
        """Since when, and which."""
        self._trace: TimedTrace | None = None

    def of(self, metrics: RequestMetrics) -> None:
        """The request that has come is counted there."""
        self.metrics = metrics

    def traced(self, trace: TimedTrace) -> None:
        """The request under way is followed."""
        trace.came(self._received_s, self._begun_s)
        self._trace = trace

    def received(self, now_s: float) -> None:
        """All of it is there."""
        self.metrics = None
        self._received_s = now_s
        self._begun_s = self._handled_s = None

    def begun(self, now_s: float) -> None:
        """A handler has it."""
        self._begun_s = now_s

    def handled(self, now_s: float) -> None:
        """The handler has done what it can do at once."""
        if self._handled_s is None:
            self._handled_s = now_s

    def answered(self, now_s: float, throttle_s: float = 0.0, *, leaves: bool = True) -> None:
        """It has its answer, whose sender is then held back for so long. `sending` follows, and
        `sent`, unless there is nothing that leaves."""
        if self.metrics is None:
            return
        begun_s = self._received_s if self._begun_s is None else self._begun_s
        handled_s = now_s if self._handled_s is None else self._handled_s
        self._handled_s = now_s  # the handler may go on behind its answer
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
            answer.has_left(now_s, now_s)

    def leaves_late(self, received_s: float, answered_s: float) -> None:
        """A prepared request came and was answered, and the kernel does not take all of the answer:
        `sent` follows."""
        self._received_s = received_s
        self._begun_s = self._handled_s = None
        self.answered(answered_s)
        self.sending(answered_s)

    def put_off(self, received_s: float, handled_s: float) -> None:
        """A prepared request came then, and its answer comes later."""
        self._received_s = received_s
        self.handled(handled_s)

    def sending(self, now_s: float) -> None:
        """What is answered is being sent from now on."""
        if self._leaving:
            self._sending.append((now_s, self._leaving))
            self._leaving = []

    def sent(self, now_s: float) -> None:
        """The kernel has all that was being sent."""
        sending, self._sending = self._sending, []
        for since_s, answers in sending:
            for answer in answers:
                answer.has_left(since_s, now_s)
