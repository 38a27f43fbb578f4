"""Faults on demand, on a real broker: errors, delays, answers that never come or come in part.

    with broker.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times=2, topic="orders") as fault:
        run_my_app(broker.bootstrap_servers)
    assert fault.met == 2

A fault meets requests as they come, whichever client sends them, until it has met `times` of them,
or is lifted. Which requests it means is narrowed by these, which all faults have:

`topic`             a topic, or a pattern such as `orders-*`; of a request about several topics only
                    this one is refused, and the others are carried out
`group`             a consumer group
`transactional_id`  a transactional id
`client_id`         a client, by its `client.id`
`after`             so many of the requests that are meant go through first
`times`             so many are met; None: all of them
`probability`       each is met by this chance, from 0 to 1
`seed`              of that chance: the same seed gives each client the same faults. Without one it
                    is drawn, and stands in the fault's `seed` and in its repr
`nodes`             requests that other brokers and controllers send, and none of clients

The first fault that meets a request decides; delays add up and go before all else.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, TypedDict, Unpack

from ottla.testing.errors import BrokerGone, DeadlinePassed, Misuse
from ottla.testing.frames import Json

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


class Fault:
    """A fault that was asked for. As a context manager it is lifted at the end of the block."""

    def __init__(self, calls: Calls, key: str, text: str, seed: int) -> None:
        self._calls = calls
        self.key = key
        """What the brokers know it by."""
        self._text = text
        self._counts: dict[Call, tuple[int, int]] = {}
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

    def wait(self, count: int = 1, timeout: float = 10.0) -> None:
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
        """Seen and met, by all brokers; by one that is gone as it was last told."""
        for call in self._calls():
            with contextlib.suppress(BrokerGone, Misuse):
                told = call("fault.show", {"key": self.key})
                if told is not None:
                    self._counts[call] = told["seen"], told["met"]
        counts = self._counts.values()
        return sum(seen for seen, _ in counts), sum(met for _, met in counts)

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
    """The faults of one broker, or of all brokers of a cluster, each of which counts by itself.

    `api` is the name of a request, such as `Produce`; None: any.
    """

    def __init__(self, calls: Calls, real_name: Callable[[str], str] = str) -> None:
        """`real_name`: of a topic that a test calls by a name of its own."""
        self._calls = calls
        self._real_name = real_name

    def fail(self, api: str, error: str, **meant: Unpack[Meant]) -> Fault:
        """Requests are not carried out, and answered with `error`, which stands where this API has
        it: `fail("Produce", "NOT_LEADER_OR_FOLLOWER")`."""
        return self._add("error", api, meant, error=error)

    def delay(self, api: str | None, seconds: float, **meant: Unpack[Meant]) -> Fault:
        """Requests are carried out at once, and answered so much later."""
        return self._add("delay", api, meant, delay_ms=seconds * 1000)

    def leave_unanswered(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are carried out and never answered: the client's time is up, and the record is
        written all the same."""
        return self._add("unanswered", api, meant)

    def lose(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are neither carried out nor answered."""
        return self._add("lost", api, meant)

    def cut_answers(self, api: str | None, *, at: float = 0.5, **meant: Unpack[Meant]) -> Fault:
        """Requests are carried out; the first bytes of their answers come, this share of them, and
        then the connection closes."""
        if not 0 <= at <= 1:
            raise Misuse(f"an answer is cut at a share of its bytes from 0 to 1, not at {at}")
        return self._add("cut", api, meant, cut_at=at)

    def disconnect(self, api: str | None, **meant: Unpack[Meant]) -> Fault:
        """Requests are not carried out, and their connections are closed."""
        return self._add("disconnect", api, meant)

    def disconnect_all(self) -> int:
        """Close the connections of all clients now; how many there were."""
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
        probability, topic, seed = (
            meant.get("probability", 1.0),
            meant.get("topic"),
            meant.get("seed"),
        )
        if not 0 <= probability <= 1:
            raise Misuse(f"a probability is from 0 to 1, not {probability}")
        if seed is None:
            seed = secrets.randbits(32)
        narrowed: dict[str, Json] = {
            key: value for key, value in meant.items() if value is not None
        }
        if topic is not None:
            narrowed["topic"] = self._real_name(topic) if isinstance(topic, str) else topic.name
        args = {"deed": deed, "api": api, **how, **narrowed, "seed": seed}
        fault = Fault(self._calls, secrets.token_hex(8), _shown(args), seed)
        for call in self._calls():
            call("fault.add", {"key": fault.key, **args})
        return fault


def _shown(args: Mapping[str, Json]) -> str:
    """A fault in one line; the seed where there is chance."""
    if args.get("probability", 1.0) in (0, 1):
        args = {key: value for key, value in args.items() if key != "seed"}
    shown = (f"{key}={value!r}" for key, value in args.items() if value is not None)
    return f"<Fault {' '.join(shown)}>"
