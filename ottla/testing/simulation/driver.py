"""The driver of a scenario's coroutines: one runs at a time, in a fixed order, with no event loop.

A coroutine runs until it awaits an operation or a task. When no coroutine can run, the driver
advances the simulated world (`World.step`) until an operation is done. No real clock is read. So
what happens depends only on the scenario and the world, and the same seed gives the same run.
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
    """The tasks of the scenario wait for each other, so none can ever continue."""


@dataclass(slots=True, eq=False)
class Operation:
    """An operation of the simulated cluster. A coroutine awaits it once."""

    client: str | None
    """The client's name; None: the cluster itself."""
    name: str
    args: Mapping[str, Json]
    shown: str
    """The text for the timeline; empty: the operation is not shown."""
    number: int = 0
    began: float = 0.0
    """Seconds of virtual time since the brokers were started."""
    ended: float | None = None
    """Seconds of virtual time; None if it is under way, or was cancelled with its task."""
    result: Json = None
    error: Exception | None = None

    def __await__(self) -> Generator[Operation, Json, Json]:
        """Yield this operation to the driver, and return the result with which the driver resumes
        the coroutine. The driver raises a failure here."""
        return (yield self)


class World(Protocol):
    """The simulated cluster, as the driver uses it."""

    def step(
        self, submit: list[Operation], cancel: list[Operation], hang_up: list[str]
    ) -> list[Operation]:
        """Begin and cancel operations, and let time pass until at least one is done. Return those
        that are done, with `result` or `error` set. `hang_up` names the clients whose connections
        are closed."""


@dataclass(slots=True, eq=False)
class Task:
    """The coroutine of a `spawn`. Awaiting the task returns the coroutine's result, or raises its
    error."""

    name: str
    coroutine: Coroutine[object, object, object]
    clients: list[str] = field(default_factory=list)
    """The clients that the task made; if it is killed, their connections are closed."""
    done: bool = False
    """Whether the task has ended or was killed."""
    result: object = None
    error: BaseException | None = None
    killed: bool = False
    waiters: list[Task] = field(default_factory=list)
    driver: Driver | None = None
    waits_for: Operation | None = None

    def __await__(self) -> Generator[Task, object, object]:
        """Wait until the task has ended, and return its result. Raises the error of the task;
        Misuse if it was killed."""
        if not self.done:
            yield self
        if self.killed:
            raise Misuse(f"{self.name} was killed: it has no result")
        if self.error is not None:
            raise self.error
        return self.result

    def kill(self) -> None:
        """End the task as if its process had died. It runs no further, not even `finally` blocks
        that await. Its operations are cancelled, and its clients' connections are closed. Raises
        Misuse if the task kills itself."""
        if self.driver is not None and not self.done:
            self.driver.kill(self)


class Driver:
    """The driver of one run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ready: deque[tuple[Task, object, BaseException | None]] = deque()
        self._tasks: list[Task] = []
        self._waiting: dict[Operation, Task] = {}
        self._submit: list[Operation] = []
        self._cancel: list[Operation] = []
        self._hang_up: list[str] = []
        self.current: Task | None = None
        """The task that runs now; None between tasks."""

    def spawn(self, coroutine: object, name: str) -> Task:
        """Return a new task that runs a coroutine beside the others; it begins when the running one
        awaits. Raises Misuse if the argument is no coroutine."""
        if not isinstance(coroutine, Coroutine):
            raise Misuse(f"{name}: {coroutine!r} is no coroutine: call the async function")
        task = Task(name, coroutine, driver=self)
        self._tasks.append(task)
        self._ready.append((task, None, None))
        return task

    def run(self, main: Coroutine[object, object, object]) -> object:
        """Run `main` and the tasks that it spawns until `main` has returned, then end the other
        tasks. Return the result of `main`.

        Raises what `main` raises, or what a task raises that no other task awaits. Raises
        ScenarioStuck if all tasks wait for each other.
        """
        main_task = self.spawn(main, "scenario")
        try:
            while self._run_ready(main_task):
                if not self._waiting and not self._submit:
                    raise ScenarioStuck(STUCK)
                self._step()
        finally:
            for task in self._tasks:
                self._close(task)
        if main_task.error is not None:
            raise main_task.error
        return main_task.result

    def kill(self, task: Task) -> None:
        """End a task without running it further. Its operation is cancelled and its clients'
        connections are closed at the next step; tasks that await it raise Misuse. Raises Misuse if
        the task is running now."""
        self._ready = deque(entry for entry in self._ready if entry[0] is not task)
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

    def _run_ready(self, main_task: Task) -> bool:
        """Run all tasks that can continue. Return whether `main_task` has not ended yet.

        Raises the error of a task that no other task awaits.
        """
        while self._ready and not main_task.done:
            task, value, error = self._ready.popleft()
            if not task.done:
                self._resume(task, value, error)
            if task.error is not None and task is not main_task and not task.waiters:
                raise task.error
        return not main_task.done

    def _resume(self, task: Task, value: object, error: BaseException | None) -> None:
        """Run a task until it waits or ends. Its result, or the error that it raises, is stored in
        the task for those that await it."""
        self.current, task.waits_for = task, None
        try:
            if error is not None:
                awaited = task.coroutine.throw(error)
            else:
                awaited = task.coroutine.send(value)
        except StopIteration as end:
            task.result = end.value
            self._end(task)
        except BaseException as raised:  # noqa: BLE001 - raised where the task is awaited
            task.error = raised
            self._end(task)
        else:
            self._wait(task, awaited)
        finally:
            self.current = None

    def _wait(self, task: Task, awaited: object) -> None:
        """Let a task wait for an operation or another task.

        Anything else raises Misuse in the task.
        """
        if isinstance(awaited, Operation):
            self._waiting[awaited] = task
            task.waits_for = awaited
            self._submit.append(awaited)
        elif isinstance(awaited, Task):
            if awaited.done:
                self._ready.append((task, None, None))
            else:
                awaited.waiters.append(task)
        else:
            refusal = Misuse(_FOREIGN.format(repr(awaited)))
            self._ready.append((task, None, refusal))

    def _end(self, task: Task) -> None:
        """Mark the task as done, and make ready the tasks that await it."""
        task.done = True
        for waiter in task.waiters:
            self._ready.append((waiter, None, None))

    def _step(self) -> None:
        """Pass new and cancelled operations and closed clients to the world, and let its time pass.

        Makes the tasks ready whose operations are done.
        """
        submit, cancel, hang_up = self._submit, self._cancel, self._hang_up
        self._submit, self._cancel, self._hang_up = [], [], []
        for operation in self._world.step(submit, cancel, hang_up):
            task = self._waiting.pop(operation, None)
            if task is not None:
                self._ready.append((task, operation.result, operation.error))

    def _close(self, task: Task) -> None:
        """Mark a task as done, and close its coroutine where it is. A coroutine that awaits while
        it is closed is left there."""
        task.done = True
        try:
            task.coroutine.close()
        except (RuntimeError, GeneratorExit):
            return
