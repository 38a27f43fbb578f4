"""Runs a scenario's coroutines: one at a time, in one order, with no event loop and no clock.

A coroutine runs until it awaits an operation or a task. When none can run, the simulated world goes
on (`World.step`) until an operation is done. So what happens depends on the scenario and on the
world alone, and the same seed gives the same run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ottla.testing.errors import SHOW_THE_CALLER, Misuse
from ottla.testing.frames import Json

__tracebackhide__ = SHOW_THE_CALLER

_FOREIGN = (
    "a scenario can only await what its cluster and clients give it (cluster.sleep, "
    "client.produce, a task …): {} belongs to an event loop, which has no place in virtual time"
)
STUCK = (
    "the scenario waits for a task that waits for it: no operation is under way, so nothing will "
    "ever happen"
)


class ScenarioStuck(AssertionError):
    """Nobody can go on."""


@dataclass(slots=True, eq=False)
class Operation:
    """Something that the simulated cluster is asked to do; a coroutine awaits it once."""

    client: str | None
    """None: the cluster itself."""
    name: str
    args: Mapping[str, Json]
    shown: str
    """As the timeline shows it; empty: not at all."""
    number: int = 0
    began: float = 0.0
    """Seconds of virtual time, since the brokers were started."""
    ended: float | None = None
    """None: under way, or given up with its task."""
    result: Json = None
    error: Exception | None = None

    def __await__(self) -> Generator[Operation, Json, Json]:
        return (yield self)


class World(Protocol):
    """The simulated cluster, as a driver needs it."""

    def step(
        self, submit: list[Operation], cancel: list[Operation], hang_up: list[str]
    ) -> list[Operation]:
        """Begin and give up operations, let time pass until at least one is done; those."""


@dataclass(slots=True, eq=False)
class Task:
    """A coroutine of `spawn`. Awaiting it gives what the coroutine returns, or raises its error."""

    name: str
    coroutine: Coroutine[object, object, object]
    clients: list[str] = field(default_factory=list)
    """Those that it made: when it is killed, their connections are closed."""
    done: bool = False
    """Whether it has ended, or was killed."""
    result: object = None
    error: BaseException | None = None
    killed: bool = False
    waiters: list[Task] = field(default_factory=list)
    driver: Driver | None = None
    waits_for: Operation | None = None

    def __await__(self) -> Generator[Task, object, object]:
        if not self.done:
            yield self
        if self.killed:
            raise Misuse(f"{self.name} was killed: it has no result")
        if self.error is not None:
            raise self.error
        return self.result

    def kill(self) -> None:
        """The process in which it runs dies: it goes no further, not even into `finally` blocks
        that await, what it asked for is given up, and its clients' connections are closed."""
        if self.driver is not None and not self.done:
            self.driver.kill(self)


class Driver:
    """See the module."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ready: deque[tuple[Task, object, BaseException | None]] = deque()
        self._tasks: list[Task] = []
        self._waiting: dict[Operation, Task] = {}
        self._submit: list[Operation] = []
        self._cancel: list[Operation] = []
        self._hang_up: list[str] = []
        self.current: Task | None = None
        """The task that runs."""

    def spawn(self, coroutine: object, name: str) -> Task:
        """Let a coroutine run beside the others; it begins when the one that runs awaits."""
        if not isinstance(coroutine, Coroutine):
            raise Misuse(f"{name}: {coroutine!r} is no coroutine: call the async function")
        task = Task(name, coroutine, driver=self)
        self._tasks.append(task)
        self._ready.append((task, None, None))
        return task

    def run(self, main: Coroutine[object, object, object]) -> object:
        """Run `main` and what it spawns, until `main` has returned; the rest is killed then.

        Raises what `main` raises, or a task that nobody awaits.
        """
        first = self.spawn(main, "scenario")
        try:
            while self._run_ready(first):
                if not self._waiting and not self._submit:
                    raise ScenarioStuck(STUCK)
                self._step()
        finally:
            for task in self._tasks:
                self._close(task)
        if first.error is not None:
            raise first.error
        return first.result

    def kill(self, task: Task) -> None:
        """See `Task.kill`."""
        self._ready = deque(one for one in self._ready if one[0] is not task)
        operation = task.waits_for
        if operation is not None and self._waiting.pop(operation, None) is not None:
            if operation in self._submit:
                self._submit.remove(operation)
            else:
                self._cancel.append(operation)
        self._hang_up += task.clients
        task.killed = True
        self._end(task)
        if task is self.current:
            raise Misuse(f"{task.name} cannot kill itself: return instead")
        self._close(task)

    # --- one turn ------------------------------------------------------------------------------

    def _run_ready(self, first: Task) -> bool:
        """Let everybody run who can; whether `first` has not ended."""
        while self._ready and not first.done:
            task, value, error = self._ready.popleft()
            if not task.done:
                self._resume(task, value, error)
            if task.error is not None and task is not first and not task.waiters:
                raise task.error
        return not first.done

    def _resume(self, task: Task, value: object, error: BaseException | None) -> None:
        self.current, task.waits_for = task, None
        try:
            if error is not None:
                wanted = task.coroutine.throw(error)
            else:
                wanted = task.coroutine.send(value)
        except StopIteration as end:
            task.result = end.value
            self._end(task)
        except BaseException as raised:  # noqa: BLE001 - told to whoever awaits the task
            task.error = raised
            self._end(task)
        else:
            self._wait(task, wanted)
        finally:
            self.current = None

    def _wait(self, task: Task, wanted: object) -> None:
        if isinstance(wanted, Operation):
            self._waiting[wanted] = task
            task.waits_for = wanted
            self._submit.append(wanted)
        elif isinstance(wanted, Task):
            if wanted.done:
                self._ready.append((task, None, None))
            else:
                wanted.waiters.append(task)
        else:
            refusal = Misuse(_FOREIGN.format(repr(wanted)))
            self._ready.append((task, None, refusal))

    def _end(self, task: Task) -> None:
        task.done = True
        for waiter in task.waiters:
            self._ready.append((waiter, None, None))

    def _step(self) -> None:
        submit, cancel, hang_up = self._submit, self._cancel, self._hang_up
        self._submit, self._cancel, self._hang_up = [], [], []
        for operation in self._world.step(submit, cancel, hang_up):
            task = self._waiting.pop(operation, None)
            if task is not None:
                self._ready.append((task, operation.result, operation.error))

    def _close(self, task: Task) -> None:
        """Let a coroutine end where it stands, whatever it thinks of that."""
        task.done = True
        try:
            task.coroutine.close()
        except (RuntimeError, GeneratorExit):
            return
