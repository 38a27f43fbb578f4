"""Faults on demand, on a real broker: errors, delays, answers that never come or come in part.

    with broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders") as fault:
        run_my_app(broker.bootstrap_servers)
    assert fault.met == 2

The methods of `broker.faults` and `cluster.faults`:

`fail`              requests are answered with an error; `broker.fail` is the same
`delay`             answers come late
`leave_unanswered`  requests are carried out, and their answers never come
`drop`              requests are neither carried out nor answered
`cut_answers`       a part of the answer comes, and then the connection closes
`disconnect`        the connection closes instead of an answer
`disconnect_all`    all connections of clients close, once; `broker.disconnect_all` is the same
`fill_disk`         nothing can be written any more, until `free_disk`
`clear`             end all faults

A fault applies to requests of any client, until `times` requests have had it or the fault is
lifted. It is lifted by `lift`, by `clear`, by a reset, or at the end of its `with` block. A broker
that is restarted has no faults.

These arguments of `fail`, `delay`, `leave_unanswered`, `drop`, `cut_answers` and `disconnect`
select the requests that may have a fault. Names may be patterns, such as `orders-*`.

`topic`             a topic: a `Topic`, its real name, or the name that the test gave it earlier. Of
                    a request about several topics, only this one fails; the others are carried out
`group`             a consumer group
`transactional_id`  a transactional id
`client_id`         a client, by its `client.id`
`after`             the number of selected requests that go through first
`times`             the number of requests that have the fault; None: all of them
`probability`       the chance by which each request has the fault, from 0 to 1
`seed`              the seed of that chance: the same seed gives each client the same faults.
                    Without it, a seed is drawn; the fault's `seed` and its repr show it
`nodes`             True: only requests of other brokers and controllers, and none of clients. An
                    API that only nodes use, such as `AlterPartition`, does not need it

If several faults select a request, the fault that was added first applies alone. Only after a
`delay` does the next fault apply too, and the delays of several faults add up. In a cluster a fault
counts the requests to all nodes together: `times=2` means two in total.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypedDict, Unpack

from ottla.testing.errors import SHOW_THE_CALLER, BrokerGone, DeadlinePassed, Misuse
from ottla.testing.frames import Json

__tracebackhide__ = SHOW_THE_CALLER

Call = Callable[[str, Mapping[str, Json]], Json]
"""A function that calls an operation of a broker's control channel."""
Calls = Callable[[], Sequence[Call]]
"""A function that returns the calls of the brokers that run now."""

_POLL_S = 0.005


class Named(Protocol):
    """An object with the real name of a topic, such as a `Topic`."""

    @property
    def name(self) -> str:
        """The topic's name in the broker."""


class RequestFilter(TypedDict, total=False):
    """The arguments that select the requests that may have a fault; the module explains them."""

    topic: str | Named | None
    group: str | None
    transactional_id: str | None
    client_id: str | None
    after: int
    times: int | None
    probability: float
    seed: int | None
    nodes: bool


class FailureOptions(RequestFilter, total=False):
    """The arguments of `fail`: which requests fail, and how."""

    latency: float
    """Seconds until the error is answered."""
    force: bool
    """Whether to allow an error with which Kafka never answers this API."""


class Fault:
    """A fault that a test has requested. As a context manager, it is lifted at the end of the
    block."""

    def __init__(self, calls: Calls, key: str, text: str, seed: int) -> None:
        self._running_calls = calls
        self.key = key
        """The id of the fault in the brokers."""
        self._text = text
        self._last_seen = self._last_met = 0
        self.seed = seed
        """The seed of `probability`."""

    @property
    def met(self) -> int:
        """The number of requests that had this fault, asked of the brokers; after it is lifted, the
        last known number."""
        return self._count()[1]

    @property
    def seen(self) -> int:
        """The number of requests that the fault's arguments select, whether they had the fault or
        not; after it is lifted, the last known number."""
        return self._count()[0]

    def wait(self, count: int = 1, timeout: float = 30.0) -> None:
        """Wait until `count` requests have had the fault. Raises DeadlinePassed after `timeout`
        seconds, with the number of those that have."""
        deadline = time.monotonic() + timeout
        while (met := self.met) < count:
            if time.monotonic() >= deadline:
                raise DeadlinePassed(
                    f"{self} has met {met} of {count} requests within {timeout} s; "
                    f"it has seen {self.seen} that are meant: does the client ask for that?"
                )
            time.sleep(_POLL_S)

    def lift(self) -> None:
        """End the fault: no more requests have it. Its delayed answers are sent at once.
        Connections with requests that it left unanswered are closed."""
        self._count()
        for call in self._running_calls():
            # the broker has ended, and its faults with it
            with contextlib.suppress(BrokerGone, Misuse):
                call("fault.lift", {"key": self.key})

    def _count(self) -> tuple[int, int]:
        """Return `seen` and `met` of all brokers together; if no broker has the fault any more, the
        last known numbers. Brokers that do not run are left out."""
        answers = []
        for call in self._running_calls():
            with contextlib.suppress(BrokerGone, Misuse):
                answers.append(call("fault.show", {"key": self.key}))
        counts = [answer for answer in answers if answer is not None]
        if counts:
            self._last_seen = max(count["seen"] for count in counts)
            self._last_met = max(count["met"] for count in counts)
        return self._last_seen, self._last_met

    def __repr__(self) -> str:
        return self._text

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lift()


class Faults:
    """The faults of one broker, or of all brokers of a cluster that run.

    `api` is the name of a request, such as `Produce`; None, where a method allows it, means any. An
    unknown API or error raises Misuse.
    """

    def __init__(
        self,
        calls: Calls,
        real_name: Callable[[str], str] = str,
        counted_in: Path | None = None,
    ) -> None:
        """Create the faults of the brokers that `calls` reaches. `real_name` maps the test's name
        of a topic to its real name. `counted_in` is a folder in which several brokers count
        together."""
        self._running_calls = calls
        self._real_name = real_name
        self._counted_in = counted_in

    def fail(self, api: str, error: str, **options: Unpack[FailureOptions]) -> Fault:
        """Let requests be answered with `error`, by its name in Kafka's protocol, and change
        nothing: `fail("Produce", "NOT_LEADER_OR_FOLLOWER")`. Return the fault.

        The error is where this API has it: at the top of the answer, or in each topic, partition,
        group or resource of the request. With `latency`, the answer comes after so many seconds.
        Raises Misuse if Kafka never answers this API with this error, and lists the errors that it
        does answer; `force=True` allows any error.
        """
        latency, force = options.pop("latency", 0.0), options.pop("force", False)
        delay_ms = latency * 1000 or None
        return self._add("error", api, options, error=error, delay_ms=delay_ms, force=force or None)

    def delay(self, api: str | None, seconds: float, **filters: Unpack[RequestFilter]) -> Fault:
        """Let requests be carried out at once, and answered `seconds` later, or when the fault is
        lifted. Return the fault."""
        return self._add("delay", api, filters, delay_ms=seconds * 1000)

    def leave_unanswered(self, api: str | None, **filters: Unpack[RequestFilter]) -> Fault:
        """Let requests be carried out and never be answered: a producer times out, although its
        record is written. Return the fault.

        Later requests on the same connections get no answer either. The connections close when the
        fault is lifted.
        """
        return self._add("unanswered", api, filters)

    def drop(self, api: str | None, **filters: Unpack[RequestFilter]) -> Fault:
        """Let requests be dropped, as if the network had lost them: they are neither carried out
        nor answered. Return the fault. The connections of these requests close when the fault is
        lifted."""
        return self._add("lost", api, filters)

    def cut_answers(
        self, api: str | None, *, at: float = 0.5, **filters: Unpack[RequestFilter]
    ) -> Fault:
        """Let requests be carried out, send the first part of the answer (`at` is its share of the
        bytes), and close the connection. Return the fault. The client gets at least the four bytes
        of the answer's size, and never the last byte. Raises Misuse unless `at` is 0 to 1."""
        if not 0 <= at <= 1:
            raise Misuse(f"an answer is cut at a share of its bytes from 0 to 1, not at {at}")
        return self._add("cut", api, filters, cut_at=at)

    def disconnect(self, api: str | None, **filters: Unpack[RequestFilter]) -> Fault:
        """Let the connections of requests be closed instead of carrying the requests out. Return
        the fault."""
        return self._add("disconnect", api, filters)

    def disconnect_all(self) -> int:
        """Close the connections of all clients once, now. Return how many there were."""
        return sum(call("connections.close", {}) for call in self._running_calls())

    def fill_disk(self, log_dir: str | None = None) -> list[str]:
        """Let all writes to the disk, or to one log directory, fail for lack of space. Return the
        full directories.

        A broker loses a log directory to which it cannot write, and answers KAFKA_STORAGE_ERROR for
        its partitions. If that was the last log directory, or the directory of the metadata, the
        broker stops, as it does with a disk that is really full. So give the broker a second
        directory by `log.dirs`, or restart it, which frees the disk. Raises Misuse if the broker
        has no such log directory.
        """
        args = {"log_dir": log_dir}
        return [path for call in self._running_calls() for path in call("disk.fill", args)]

    def free_disk(self) -> None:
        """Let writes succeed again. A log directory that the broker lost comes back with a
        restart."""
        for call in self._running_calls():
            call("disk.free", {})

    def clear(self) -> None:
        """Lift all faults of the brokers that run, and free the disk. Delayed answers and
        connections end as with `Fault.lift`; `met` and `seen` of a fault stay at the number last
        asked for."""
        for call in self._running_calls():
            call("fault.clear", {})
            call("disk.free", {})

    def _add(self, deed: str, api: str | None, filters: RequestFilter, **how: Json) -> Fault:
        """Put a fault on every running broker that serves the API, and return it. `deed` is a value
        of `testbed.faults.rule.Deed`, such as "error". Draws a seed if the filters have none.

        Raises Misuse if no broker accepts the fault or the filters are wrong.
        """
        _check(filters)
        topic, seed = filters.get("topic"), filters.get("seed")
        if seed is None:
            seed = secrets.randbits(32)
        arguments: dict[str, Json] = {**how, **filters}
        set_arguments = {key: value for key, value in arguments.items() if value is not None}
        if topic is not None:
            set_arguments["topic"] = (
                self._real_name(topic) if isinstance(topic, str) else topic.name
            )
        args = {"deed": deed, "api": api, **set_arguments, "seed": seed}
        fault = Fault(self._running_calls, secrets.token_hex(8), _shown(args), seed)
        if self._counted_in is not None:
            args["counted_at"] = str(self._counted_in / f"fault-{fault.key}")
        refusal, added = None, 0
        for call in self._running_calls():
            try:
                call("fault.add", {"key": fault.key, **args})
                added += 1
            except Misuse as error:  # another node may serve this API
                refusal = error
        if not added:
            raise refusal or Misuse("no broker runs that could have a fault: start() it")
        return fault


def _check(filters: RequestFilter) -> None:
    """Raise Misuse if a filter does not exist or has an impossible value."""
    names = list(RequestFilter.__annotations__)
    for name in filters:
        if name not in names:
            similar = get_close_matches(name, names, 1)
            hint = f"did you mean {similar[0]}?" if similar else f"there are {', '.join(names)}"
            raise Misuse(f"a fault is not narrowed by {name}; {hint}")
    probability, times, after = (
        filters.get("probability", 1.0),
        filters.get("times"),
        filters.get("after", 0),
    )
    if not 0 <= probability <= 1:
        raise Misuse(f"a probability is from 0 to 1, not {probability}")
    if after < 0 or (times is not None and times < 1):
        raise Misuse(f"times is 1 or more and after 0 or more, not {times} and {after}")


def _shown(args: Mapping[str, Json]) -> str:
    """Return a fault in one line, with its seed if it has a probability."""
    if args.get("probability", 1.0) in (0, 1):
        args = {key: value for key, value in args.items() if key != "seed"}
    words = (f"{key}={value!r}" for key, value in args.items() if value is not None)
    return f"<Fault {' '.join(words)}>"
