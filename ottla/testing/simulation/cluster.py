"""The cluster that a scenario gets: clients, tasks, faults that it injects, and virtual time.

`SimulatedCluster` is the scenario's side of `simulation.simulated_cluster.SimulatedCluster`, which
runs in another process: one concept at two layers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
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
    """A clock of virtual time."""

    now: float


class TimelineWriter(Protocol):
    """A writer of the timeline."""

    def say(self, text: str) -> None:
        """Add a line to the timeline of the run, at the present second of virtual time."""


class SimulatedFault:
    """A fault of requests, until it is lifted; see `SimulatedCluster.fail`."""

    def __init__(self, key: str) -> None:
        self.key = key

    async def lift(self) -> int:
        """End the fault, and return how many requests had it; 0 if it was lifted before."""
        return int(await Operation(None, "lift", {"key": self.key}, ""))


class SimulatedCluster:
    """The simulated cluster of a scenario. Brokers are named by their ids: 1, 2, 3 …"""

    def __init__(
        self, seed: int, brokers: int, *, driver: Driver, clock: Clock, timeline: TimelineWriter,
        faulty: bool,
    ) -> None:  # fmt: skip
        """Create the scenario's side of a run of `seed`, whose `brokers` brokers are started
        elsewhere. `faulty`: the run injects random faults."""
        self.seed = seed
        self.brokers = list(range(1, brokers + 1))
        """The ids of the brokers."""
        self.random = random.Random(f"{seed}/scenario")
        """The source of the scenario's random choices, which are the same in each run of a seed."""
        self._driver = driver
        self._clock = clock
        self._timeline = timeline
        self._faulty = faulty
        self._owners: dict[str, Task | None] = {}
        self._faults = 0
        self._services = 0

    @property
    def now(self) -> float:
        """Seconds of virtual time since the brokers were started."""
        return self._clock.now

    # --- clients and tasks -----------------------------------------------------------------------

    def client(self, name: str | None = None, *, idempotent: bool = True) -> SimulatedClient:
        """Return a client with connections of its own. `name` is its client.id; None: a name is
        made up.

        `idempotent`: its producer numbers its batches, as Kafka's does by default. Without it, the
        client may write a record twice when an answer is lost. Raises Misuse if a task that has not
        ended has a client of that name.
        """
        if name is None:
            numbers = count(len(self._owners) + 1)
            name = next(made for n in numbers if (made := f"client-{n}") not in self._owners)
        owner = self._owners.get(name)
        if owner is not None and not owner.done:
            raise Misuse(f"there is a client {name} already: give this one another name")
        self._owners[name] = self._driver.current
        if self._driver.current is not None:
            self._driver.current.clients.append(name)
        return SimulatedClient(name, idempotent=idempotent)

    def spawn(self, coroutine: Coroutine[object, object, object], name: str | None = None) -> Task:
        """Run a coroutine beside the scenario. Return its task, which can be awaited and killed.

        The task begins when the scenario awaits next, and ends with the scenario. If it raises, and
        no other task awaits it, the seed fails. Raises Misuse if `coroutine` is none.
        """
        return self._driver.spawn(coroutine, name or str(getattr(coroutine, "__name__", "task")))

    def service(
        self, start: Callable[[], Coroutine[object, object, object]], name: str | None = None
    ) -> None:
        """Run `start()` as a supervised process. If the run has faults, it is killed at random,
        every 1.5 s on average, and started again within a second. After `heal` it is not killed any
        more.

        A service that returns is not started again; if it raises, the seed fails. The service must
        keep its state in the cluster, or in an object that stands for a disk.
        """
        self._services += 1
        service_name = name or str(getattr(start, "__name__", f"service-{self._services}"))
        self.spawn(self._supervise(start, service_name), f"the watch over {service_name}")

    async def _supervise(
        self, start: Callable[[], Coroutine[object, object, object]], name: str
    ) -> None:
        """Run a task until it ends, killed and started again at random while faults last. Each kill
        and start is a line in the timeline.

        Raises what the task raises.
        """
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
        """Let `seconds` of virtual time pass."""
        await Operation(None, "sleep", {"ms": seconds * 1000}, "")

    async def until(
        self, condition: Callable[[], bool], timeout: float = 60.0, what: str = "it"
    ) -> None:
        """Return when `condition()` is true; it is checked every 0.05 s of virtual time. Raises
        AssertionError if it stays false for `timeout` seconds; `what` names the condition in the
        error."""
        end = self.now + timeout
        while not condition():
            if self.now > end:
                raise AssertionError(f"{what} is not so within {timeout:g} s")
            await self.sleep(_LOOK_S)

    # --- faults by hand --------------------------------------------------------------------------

    async def kill(self, broker: int) -> None:
        """End a broker's process without a clean stop. Written data stays. The broker is down until
        `start` or `heal`. Raises Misuse if there is no such broker."""
        await Operation(None, "kill", {"broker": broker}, "")

    async def stop(self, broker: int) -> None:
        """Stop a broker cleanly, and return when its process has ended. It is down until `start` or
        `heal`. Raises OperationFailed TIMED_OUT after 20 s."""
        await Operation(None, "stop", {"broker": broker}, "")

    async def start(self, broker: int) -> None:
        """Start a broker if it is down, and return when it serves requests. Raises OperationFailed
        TIMED_OUT after 20 s of virtual time, Misuse if there is no such broker."""
        await Operation(None, "start", {"broker": broker}, "")

    async def pause(self, broker: int) -> None:
        """Pause a broker, as SIGSTOP does: it answers nothing, and its connections stay open."""
        await Operation(None, "pause", {"broker": broker}, "")

    async def resume(self, broker: int) -> None:
        """Resume a paused broker, as SIGCONT does: all that became due meanwhile happens at
        once."""
        await Operation(None, "resume", {"broker": broker}, "")

    async def cut(
        self, one: int | SimulatedClient, other: int | SimulatedClient, *, both: bool = True
    ) -> None:
        """Cut the link from `one` to `other`; with `both`, also the link back. Data that is sent
        meanwhile arrives after `mend` or `heal`, unless its connection was closed before."""
        args = {"source": _machine(one), "target": _machine(other), "both": both}
        await Operation(None, "cut", args, "")

    async def mend(self, one: int | SimulatedClient, other: int | SimulatedClient) -> None:
        """Restore the links between `one` and `other`, both ways."""
        args = {"source": _machine(one), "target": _machine(other)}
        await Operation(None, "mend", args, "")

    async def slow(
        self, one: int | SimulatedClient, other: int | SimulatedClient, seconds: float
    ) -> None:
        """Delay all data from `one` to `other` by up to `seconds`, until `heal`."""
        args = {"source": _machine(one), "target": _machine(other), "ms": seconds * 1000}
        await Operation(None, "slow", args, "")

    async def set_clock(self, broker: int, seconds: float) -> None:
        """Set a broker's wall clock `seconds` ahead of the other brokers; a negative number sets it
        behind. Clocks that measure time-outs do not change."""
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
        """Let requests of clients fail, until `lift` of the returned fault or `heal`. `api` is a
        name, None for any; `error` is Kafka's name of the error.

        Instead of an error, `deed` names another fault: "unanswered" (carried out, and never
        answered), "lost" (neither carried out nor answered), "cut" (carried out, and a part of the
        answer comes), "disconnect", or "delay" by `delay` seconds. At most `times` requests (None:
        all) in the whole cluster have the fault, after `after` requests that go through. Each has
        it with `probability`; the seed decides. The other arguments select requests; names may be
        patterns (`orders-*`). `brokers` None: all brokers. Raises Misuse for an unknown API, error
        or deed.
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
        """End all faults, those of the run and those of the scenario. Return when all brokers
        serve. Raises OperationFailed TIMED_OUT after 20 s."""
        self._faulty = False
        await Operation(None, "heal", {}, "")

    # --- knowledge of the simulation -------------------------------------------------------------

    async def leader(self, topic: str, partition: int = 0) -> int:
        """Return the id of the broker that leads a partition, as soon as there is a leader that
        serves. Raises OperationFailed TIMED_OUT after 20 s."""
        args: Mapping[str, Json] = {"topic": topic, "partition": partition}
        return int(await Operation(None, "leader", args, ""))

    async def controller(self) -> int:
        """Return the id of the active controller, as soon as there is one. Raises OperationFailed
        TIMED_OUT after 20 s."""
        return int(await Operation(None, "controller", {}, ""))


def _machine(broker_or_client: int | SimulatedClient) -> int | str:
    """Return the name of a machine in the simulation: a broker's id, or a client's name."""
    return (
        broker_or_client.name if isinstance(broker_or_client, SimulatedClient) else broker_or_client
    )
