"""Faults on demand, on a real broker: errors, delays, answers that never come or come in part.

    with broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders") as fault:
        run_my_app(broker.bootstrap_servers)
    assert fault.met == 2

What can go wrong, by the methods of `broker.faults` and `cluster.faults`:

`fail`              requests are answered with an error; `broker.fail` is the same
`delay`             answers come late
`leave_unanswered`  requests are carried out, and their answers never come
`drop`              requests are neither carried out nor answered
`cut_answers`       a part of the answer comes, and then the connection closes
`disconnect`        the connection closes instead of an answer
`disconnect_all`    all connections of clients close, once; `broker.disconnect_all` is the same
`fill_disk`         nothing can be written any more, until `free_disk`
`clear`             none of it any more

A fault meets requests as they come, whichever client sends them, until it has met `times` of them,
or is lifted. It is lifted by `lift`, by `clear`, at the end of its block where it is used by
`with`, and by a reset. A broker that is started again has none. Which requests are meant is
narrowed by these, which `fail`, `delay`, `leave_unanswered`, `drop`, `cut_answers` and `disconnect`
have in common. Names may be patterns, such as `orders-*`.

`topic`             a topic: a `Topic`, its real name, or the name that the test has given one
                    before; of a request about several topics only this one is refused, and the
                    others are carried out
`group`             a consumer group
`transactional_id`  a transactional id
`client_id`         a client, by its `client.id`
`after`             so many of the requests that are meant go through first
`times`             so many are met; None: all of them
`probability`       each is met by this chance, from 0 to 1
`seed`              of that chance: the same seed gives each client the same faults. Without one it
                    is drawn, and stands in the fault's `seed` and in its repr
`nodes`             True: requests that other brokers and controllers send, and none of clients;
                    for an API that only they use, such as `AlterPartition`, it need not be said

The first fault that meets a request decides; delays add up and go before all else. In a cluster a
fault counts the requests of all nodes together: `times=2` means two, whichever nodes they come to.
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
"""An operation of a broker's control channel."""
Calls = Callable[[], Sequence[Call]]
"""Of the brokers that are there now."""

_POLL_S = 0.005


class Named(Protocol):
    """A topic of `ottla.testing`, which is known by its real name."""

    @property
    def name(self) -> str:
        """As the broker knows it."""


class Meant(TypedDict, total=False):
    """Which requests are meant: see the module."""

    topic: str | Named | None
    group: str | None
    transactional_id: str | None
    client_id: str | None
    after: int
    times: int | None
    probability: float
    seed: int | None
    nodes: bool


class Failing(Meant, total=False):
    """Which requests fail, and how."""

    latency: float
    """Seconds until the error is answered."""
    force: bool
    """Whether it may be an error that Kafka does not give there."""


class Fault:
    """A fault that was asked for. As a context manager it is lifted at the end of the block."""

    def __init__(self, calls: Calls, key: str, text: str, seed: int) -> None:
        self._calls = calls
        self.key = key
        """What the brokers know it by."""
        self._text = text
        self._seen = self._met = 0
        self.seed = seed
        """What chance is drawn from."""

    @property
    def met(self) -> int:
        """How many requests it has met."""
        return self._count()[1]

    @property
    def seen(self) -> int:
        """How many requests were meant, met or not."""
        return self._count()[0]

    def wait(self, count: int = 1, timeout: float = 30.0) -> None:
        """Return when it has met so many requests. Raises DeadlinePassed, with how many it met."""
        deadline = time.monotonic() + timeout
        while (met := self.met) < count:
            if time.monotonic() >= deadline:
                raise DeadlinePassed(
                    f"{self} has met {met} of {count} requests within {timeout} s; "
                    f"it has seen {self.seen} that are meant: does the client ask for that?"
                )
            time.sleep(_POLL_S)

    def lift(self) -> None:
        """No request is met any more. What it left unanswered has its connection closed."""
        self._count()
        for call in self._calls():
            with contextlib.suppress(BrokerGone, Misuse):  # it went with its broker
                call("fault.lift", {"key": self.key})

    def _count(self) -> tuple[int, int]:
        """Seen and met, by all brokers together; as last told, where none has it any more."""
        told = []
        for call in self._calls():
            with contextlib.suppress(BrokerGone, Misuse):
                told.append(call("fault.show", {"key": self.key}))
        found = [one for one in told if one is not None]
        if found:
            self._seen = max(one["seen"] for one in found)
            self._met = max(one["met"] for one in found)
        return self._seen, self._met

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

    `api` is the name of a request, such as `Produce`; None, where it may be: any. An API or an
    error that there is not raises Misuse.
    """

    def __init__(
        self,
        calls: Calls,
        real_name: Callable[[str], str] = str,
        counted_in: Path | None = None,
    ) -> None:
        """`real_name`: of a topic that a test calls by a name of its own. `counted_in`: a folder in
        which several brokers count together."""
        self._calls = calls
        self._real_name = real_name
        self._counted_in = counted_in

    def fail(self, api: str, error: str, **how: Unpack[Failing]) -> Fault:
        """Requests are not carried out, and answered with `error`, by its name in Kafka's protocol:
        `fail("Produce", "NOT_LEADER_OR_FOLLOWER")`.

        The error stands where this API has it: at the top of its answer, or in each topic,
        partition, group or resource that was asked for. `latency`: it is answered so many seconds
        later. An error that Kafka never answers such a request with raises Misuse, which lists
        those that it has; with `force=True` it is answered all the same.
        """
        latency, force = how.pop("latency", 0.0), how.pop("force", False)
        late_ms = latency * 1000 or None
        return self._add("error", api, how, error=error, delay_ms=late_ms, force=force or None)

    def delay(self, api: str | None, seconds: float, **meant: Unpack[Meant]) -> Fault:
        """Latency: requests are carried out at once, and answered so many seconds later, or when
        the fault is lifted."""
        return self._add("delay", api, meant, delay_ms=seconds * 1000)

    def leave_unanswered(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are carried out and never answered: the client's time is up, and the record is
        written all the same. What comes after them on their connections gets no answer either; the
        connections close when the fault is lifted."""
        return self._add("unanswered", api, meant)

    def drop(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are neither carried out nor answered, as if the network had lost them. Their
        connections close when the fault is lifted."""
        return self._add("lost", api, meant)

    def cut_answers(self, api: str | None, *, at: float = 0.5, **meant: Unpack[Meant]) -> Fault:
        """Requests are carried out; the first bytes of their answers come, this share of them, and
        then the connection closes. At least the four bytes of the answer's size come, and never
        the last byte."""
        if not 0 <= at <= 1:
            raise Misuse(f"an answer is cut at a share of its bytes from 0 to 1, not at {at}")
        return self._add("cut", api, meant, cut_at=at)

    def disconnect(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are not carried out, and their connections are closed."""
        return self._add("disconnect", api, meant)

    def disconnect_all(self) -> int:
        """Close the connections of all clients now, once; how many there were."""
        return sum(call("connections.close", {}) for call in self._calls())

    def fill_disk(self, log_dir: str | None = None) -> list[str]:
        """Let no room be left on the disk, or in one log directory; the directories that are full.

        A broker loses a log directory that it cannot write to, and says KAFKA_STORAGE_ERROR for
        what was there. If it was the last one, or that of the metadata, the broker stops, as a
        real one does: give it a second one by `log.dirs`, or restart it, which frees the disk.
        """
        args = {"log_dir": log_dir}
        return [path for call in self._calls() for path in call("disk.fill", args)]

    def free_disk(self) -> None:
        """Let there be room again. A log directory that was lost comes back with a restart."""
        for call in self._calls():
            call("disk.free", {})

    def clear(self) -> None:
        """Lift all faults; the disk has room."""
        for call in self._calls():
            call("fault.clear", {})
            call("disk.free", {})

    def _add(self, deed: str, api: str | None, meant: Meant, **how: Json) -> Fault:
        _check(meant)
        topic, seed = meant.get("topic"), meant.get("seed")
        if seed is None:
            seed = secrets.randbits(32)
        asked: dict[str, Json] = {**how, **meant}
        narrowed = {key: value for key, value in asked.items() if value is not None}
        if topic is not None:
            narrowed["topic"] = self._real_name(topic) if isinstance(topic, str) else topic.name
        args = {"deed": deed, "api": api, **narrowed, "seed": seed}
        fault = Fault(self._calls, secrets.token_hex(8), _shown(args), seed)
        if self._counted_in is not None:
            args["counted_at"] = str(self._counted_in / f"fault-{fault.key}")
        refused, added = None, 0
        for call in self._calls():
            try:
                call("fault.add", {"key": fault.key, **args})
                added += 1
            except Misuse as error:  # of an API that the other nodes serve, maybe
                refused = error
        if not added:
            raise refused or Misuse("no broker runs that could have a fault: start() it")
        return fault


def _check(meant: Meant) -> None:
    """Raises Misuse for a name that there is not, and for a number that cannot be."""
    known = list(Meant.__annotations__)
    for name in meant:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise Misuse(f"a fault is not narrowed by {name}; {hint}")
    probability, times, after = (
        meant.get("probability", 1.0),
        meant.get("times"),
        meant.get("after", 0),
    )
    if not 0 <= probability <= 1:
        raise Misuse(f"a probability is from 0 to 1, not {probability}")
    if after < 0 or (times is not None and times < 1):
        raise Misuse(f"times is 1 or more and after 0 or more, not {times} and {after}")


def _shown(args: Mapping[str, Json]) -> str:
    """A fault in one line; the seed where there is chance."""
    if args.get("probability", 1.0) in (0, 1):
        args = {key: value for key, value in args.items() if key != "seed"}
    shown = (f"{key}={value!r}" for key, value in args.items() if value is not None)
    return f"<Fault {' '.join(shown)}>"
