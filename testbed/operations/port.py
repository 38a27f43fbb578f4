"""What operations use of the world: one way to ask a node, clocks, and what only we can do.

An operation is an async function that takes a `World` and plain values (of JSON, and bytes), and
returns such values. What does not go as asked raises `OperationError`, whose text is for the user.

Versions of requests are fixed where they are asked: those that Apache Kafka 2.8 to 4.3 and Ottla
all have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from client.core import operation as core
from client.core.coordinators import NoCoordinator
from client.core.leaders import NoLeader
from client.core.operation import Answer, Attempts, Steps
from controller.metadata.acl import Acl
from protocol.errors import ErrorCode
from protocol.frames.message_codec import Request
from testbed.as_new import User
from testbed.operation_error import OperationError

T = TypeVar("T")

POLL_S = 0.01
"""Between two looks at something that is to become true."""


class NoAnswer(OperationError):
    """A node did not answer: it has just gone, or the cluster does not know of that yet."""

    def __init__(self, text: str, *, was_sent: bool) -> None:
        """`was_sent`: it may have done what it was asked for."""
        super().__init__("failed", text)
        self.was_sent = was_sent


class NotServed(OperationError):
    """A node does not know the API that it was asked for."""

    def __init__(self, api: str) -> None:
        super().__init__("not possible", f"the broker does not serve {api}")


class Ask(Protocol):
    """The way to a node: its answer to one request. Raises OperationError where there is none."""

    def __call__(self, node_id: int | None, message: Request, version: int) -> Awaitable[Answer]:
        """`node_id` None: any of them."""


class Inside(Protocol):
    """What no request can do: only for a broker in this process."""

    def irrevocable(self) -> list[str]:
        """What no reset brings back, in words: the next start does, or another broker."""

    def topics(self) -> list[str]:
        """All that are not the broker's own."""

    def forget_transactional_ids(self) -> None:
        """All of them, but those that are in the midst of a transaction."""

    def changed_configs(self) -> list[tuple[int, str, dict[str, str | None]]]:
        """Configs that are others than at first, but those of topics: type and name of each
        resource, and what each key was; None: it was not set."""

    def new_users(self) -> list[User]:
        """Those that were not there at first."""

    def changed_acls(self) -> tuple[list[Acl], list[Acl]]:
        """The entries that were not there at first, and those that are not there any more."""

    def close_connections(self) -> int:
        """Those of clients, at once; how many there were."""

    def let_in(self, anybody: bool) -> None:
        """Whether clients that come are served; those that are not have their connection closed."""

    def forget(self) -> None:
        """Faults, requests that were recorded, and what was prepared for clients."""


@dataclass(frozen=True, slots=True)
class World:
    """What operations use."""

    ask: Ask
    now_s: Callable[[], float]
    """A clock for deadlines, which a test cannot move."""
    wall_ms: Callable[[], int]
    """The broker's own time: of new records."""
    pause: Callable[[float], Awaitable[None]]
    """Lets so many seconds pass."""
    inside: Inside | None = None
    """None where the brokers are elsewhere."""

    def attempts(
        self, deadline_s: float, pause_s: float = POLL_S, also: Sequence[int] = ()
    ) -> Attempts:
        """For one operation. Who was not reached is asked again, who is silent is not: it may have
        done what it was asked for."""
        return Attempts(self.now_s, deadline_s, lambda: pause_s, _was_not_sent, also)

    async def run(self, steps: Steps[T]) -> T:
        """Do an operation of `client.core`: send what it asks for, pause where it waits."""
        answer: Answer = None
        error: core.NoAnswer | None = None
        try:
            while True:
                step = steps.send(answer) if error is None else steps.throw(error)
                answer = error = None
                try:
                    if isinstance(step, core.Ask):
                        answer = await self.ask(step.to, step.request, step.version)
                    else:
                        await self.pause(step)
                except NoAnswer as silence:
                    error = core.NoAnswer(str(silence), was_sent=silence.was_sent)
                except NotServed:
                    if not isinstance(step, core.Ask) or not step.optional:
                        raise
        except StopIteration as end:
            result: T = end.value
            return result
        except core.NoAnswer as silence:
            raise NoAnswer(str(silence), was_sent=silence.was_sent) from silence
        except (NoCoordinator, NoLeader) as refusal:
            check(refusal.code, str(refusal), refusal.message)
            raise


def _was_not_sent(error: core.NoAnswer) -> bool:
    return not error.was_sent


def check(code: int, what: str, words: str | None = None) -> None:
    """Raises OperationError where `code` is an error; `what` did not work."""
    if code != ErrorCode.NONE:
        raise OperationError("failed", f"{what}: {name_of(code)}{f' ({words})' if words else ''}")


def name_of(code: int) -> str:
    """An error as Kafka calls it."""
    return ErrorCode(code).name
