"""The cluster that a scenario is given: clients, tasks, faults by hand, and virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Protocol

from ottla.testing.errors import SHOW_THE_CALLER, Misuse
from ottla.testing.frames import Json
from ottla.testing.simulation.client import SimulatedClient
from ottla.testing.simulation.driver import Driver, Operation, Task

__tracebackhide__ = SHOW_THE_CALLER

_LOOK_S = 0.05
_LIFE_S = 1.5
_DOWN_S = 0.5
_DEEDS = ("error", "delay", "unanswered", "lost", "cut", "disconnect")


class Clock(Protocol):
    """Who knows what time it is."""

    now: float


class Sayings(Protocol):
    """Who writes the timeline."""

    def say(self, text: str) -> None:
        """One line of it."""


class SimulatedFault:
    """A fault of requests, until it is lifted: see `SimulatedCluster.fail`."""

    def __init__(self, key: str) -> None:
        self.key = key

    async def lift(self) -> int:
        """No request is met any more; how many it has met."""
        return int(await Operation(None, "lift", {"key": self.key}, ""))


class SimulatedCluster:
    """See the module. Brokers are known by their ids: 1, 2, 3 …"""

    def __init__(
        self, seed: int, brokers: int, *, driver: Driver, clock: Clock, timeline: Sayings,
        faulty: bool,
    ) -> None:  # fmt: skip
        self.seed = seed
        self.brokers = list(range(1, brokers + 1))
        """The ids of the brokers."""
        self.random = random.Random(f"{seed}/scenario")
        """For choices of the scenario: the same in each run of a seed."""
        self._driver = driver
        self._clock = clock
        self._timeline = timeline
        self._faulty = faulty
        self._names: dict[str, None] = {}
        self._faults = 0
        self._services = 0

    @property
    def now(self) -> float:
        """Seconds of virtual time since the brokers were started."""
        return self._clock.now

    # --- who takes part --------------------------------------------------------------------------

    def client(self, name: str | None = None, *, idempotent: bool = True) -> SimulatedClient:
        """A client of its own. `name` is its client.id. `idempotent`: its producer numbers its
        batches, as Kafka's does by default; one that does not may write a record twice when an
        answer is lost."""
        if name is None:
            name = f"client-{len(self._names) + 1}"
        if name in self._names and self._driver.current is None:
            raise Misuse(f"there is a client {name} already")
        self._names[name] = None
        if self._driver.current is not None:
            self._driver.current.clients.append(name)
        return SimulatedClient(name, idempotent=idempotent)

    def spawn(self, coroutine: Coroutine[object, object, object], name: str | None = None) -> Task:
        """Let a coroutine run beside the scenario: a task, which can be awaited and killed.

        It ends with the scenario. If it raises and nobody awaits it, the seed fails.
        """
        return self._driver.spawn(coroutine, name or str(getattr(coroutine, "__name__", "task")))

    def service(
        self, start: Callable[[], Coroutine[object, object, object]], name: str | None = None
    ) -> None:
        """Let `start()` run as a process that somebody watches over: where the run has faults, it
        is killed by chance, every 1.5 s on average, and started again within a second. After
        `heal` it is left alone.

        What it keeps must be in the cluster, or in what the scenario calls a disk.
        """
        self._services += 1
        known = name or str(getattr(start, "__name__", f"service-{self._services}"))
        self.spawn(self._watch_over(start, known), f"the watch over {known}")

    async def _watch_over(
        self, start: Callable[[], Coroutine[object, object, object]], name: str
    ) -> None:
        chance = random.Random(f"{self.seed}/service/{name}")
        while True:
            task = self.spawn(start(), name)
            life = chance.expovariate(1 / _LIFE_S)
            while self._faulty and life > 0 and not task.done:
                await self.sleep(min(life, _LOOK_S))
                life -= _LOOK_S
            if task.done or not self._faulty:
                await task
                return
            self._timeline.say(f"{name} is killed")
            task.kill()
            await self.sleep(chance.random() * 2 * _DOWN_S)
            self._timeline.say(f"{name} starts again")

    # --- time ----------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        await Operation(None, "sleep", {"ms": seconds * 1000}, "")

    async def until(
        self, condition: Callable[[], bool], timeout: float = 60.0, what: str = "it"
    ) -> None:
        """Return when `condition()` is true. Raises AssertionError where it is not in time."""
        end = self.now + timeout
        while not condition():
            if self.now > end:
                raise AssertionError(f"{what} is not so within {timeout:g} s")
            await self.sleep(_LOOK_S)

    # --- faults by hand --------------------------------------------------------------------------

    async def kill(self, broker: int) -> None:
        """Process death: what was written stays. It is down until `start` or `heal`."""
        await Operation(None, "kill", {"broker": broker}, "")

    async def stop(self, broker: int) -> None:
        """A clean stop; returns when the process is gone. It is down until `start` or `heal`."""
        await Operation(None, "stop", {"broker": broker}, "")

    async def start(self, broker: int) -> None:
        """Returns when the broker serves."""
        await Operation(None, "start", {"broker": broker}, "")

    async def pause(self, broker: int) -> None:
        """As SIGSTOP: it answers nothing, and nobody is told."""
        await Operation(None, "pause", {"broker": broker}, "")

    async def resume(self, broker: int) -> None:
        """As SIGCONT: all that has become due meanwhile happens at once."""
        await Operation(None, "resume", {"broker": broker}, "")

    async def cut(
        self, one: int | SimulatedClient, other: int | SimulatedClient, *, both: bool = True
    ) -> None:
        """Nothing arrives at `other` from `one` any more, nor the other way where `both`. What is
        sent meanwhile arrives after `mend`, unless its connection was given up."""
        args = {"source": _machine(one), "target": _machine(other), "both": both}
        await Operation(None, "cut", args, "")

    async def mend(self, one: int | SimulatedClient, other: int | SimulatedClient) -> None:
        """The link is whole again, both ways."""
        args = {"source": _machine(one), "target": _machine(other)}
        await Operation(None, "mend", args, "")

    async def slow(
        self, one: int | SimulatedClient, other: int | SimulatedClient, seconds: float
    ) -> None:
        """What goes from `one` to `other` takes up to so much longer, until `heal`."""
        args = {"source": _machine(one), "target": _machine(other), "ms": seconds * 1000}
        await Operation(None, "slow", args, "")

    async def set_clock(self, broker: int, seconds: float) -> None:
        """A broker's clock of the day is so much ahead of the others (behind: negative)."""
        await Operation(None, "clock", {"broker": broker, "ms": round(seconds * 1000)}, "")

    async def fail(
        self,
        api: str | None = None,
        error: str | None = None,
        *,
        deed: str | None = None,
        delay: float = 0.0,
        times: int | None = None,
        after: int = 0,
        probability: float = 1.0,
        topic: str | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
        client_id: str | None = None,
        brokers: list[int] | None = None,
    ) -> SimulatedFault:
        """Let requests of clients fail: `api` by its name, None for any; `error` as Kafka calls it.

        Instead of an error, `deed`: "unanswered" (carried out, and never answered), "lost"
        (neither), "cut" (carried out, and a part of the answer comes), "disconnect", or "delay" by
        `delay` seconds. It meets `times` requests (None: all) in the whole cluster, after `after`
        that go through, each by `probability`, which the seed decides. The rest narrows which
        requests are meant; names may be patterns (`orders-*`).
        """
        deed = deed or ("error" if error else "delay")
        if deed not in _DEEDS:
            raise Misuse(f"no deed {deed}: {', '.join(_DEEDS)}")
        if deed == "error" and error is None:
            raise Misuse("which error? As Kafka calls it, for example NOT_LEADER_OR_FOLLOWER")
        self._faults += 1
        key = f"fault-{self._faults}"
        rule: dict[str, Json] = {
            "api": api,
            "error": error,
            "deed": deed,
            "delay_ms": delay * 1000,
            "times": times,
            "after": after,
            "probability": probability,
            "seed": self.seed + self._faults,
            "topic": topic,
            "group": group,
            "transactional_id": transactional_id,
            "client_id": client_id,
        }
        await Operation(None, "fail", {"key": key, "rule": rule, "brokers": brokers}, "")
        return SimulatedFault(key)

    async def heal(self) -> None:
        """No fault any more, of the run's or by hand; returns when all brokers serve."""
        self._faulty = False
        await Operation(None, "heal", {}, "")

    # --- what only a simulation knows ------------------------------------------------------------

    async def leader(self, topic: str, partition: int = 0) -> int:
        """The leader of a partition, once there is one that serves."""
        args: Mapping[str, Json] = {"topic": topic, "partition": partition}
        return int(await Operation(None, "leader", args, ""))

    async def controller(self) -> int:
        """The active controller, once there is one."""
        return int(await Operation(None, "controller", {}, ""))


def _machine(one: int | SimulatedClient) -> int | str:
    return one.name if isinstance(one, SimulatedClient) else one
