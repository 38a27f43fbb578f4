"""The ports of operations: requests to any node, clocks, and what only a local broker can do.

An operation is an async function that takes an `OperationWorld` and plain values (of JSON, and
bytes), and returns such values. If it fails, it raises `OperationError`, whose text is for the
user.

Each request has a fixed version, given where it is sent: a version that Apache Kafka 2.8 to 4.4 and
Ottla all serve.

`NoAnswer` here is `client.core.operation.NoAnswer` as the tests' process sees it: one concept at
two layers.
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
from testbed.initial_state import User
from testbed.operation_error import OperationError

T = TypeVar("T")

POLL_S = 0.01
"""The pause between two checks of something that is to become true."""


class NoAnswer(OperationError):
    """The failure of a request that no node answered: the node may have stopped just now."""

    def __init__(self, text: str, *, was_sent: bool) -> None:
        """`was_sent`: the node may have received the request, and carried it out."""
        super().__init__("failed", text)
        self.was_sent = was_sent


class NotServed(OperationError):
    """The failure of a request whose API the node does not serve."""

    def __init__(self, api: str) -> None:
        super().__init__("not possible", f"the broker does not serve {api}")


class SendRequest(Protocol):
    """The way to send one request to a node."""

    def __call__(self, node_id: int | None, message: Request, version: int) -> Awaitable[Answer]:
        """Send a request and return the response. `node_id` None: any node.

        Raises NoAnswer, NotServed, or OperationError for a ProtocolError.
        """


class Inside(Protocol):
    """The parts of a reset that no request can do: only for a broker in this process."""

    def irrevocable(self) -> list[str]:
        """Return what no reset can undo, in words; if there is any, another broker is needed."""

    def topics(self) -> list[str]:
        """Return the names of all topics but the brokers' internal ones."""

    def forget_transactional_ids(self) -> None:
        """Expire all transactional ids but those with an open transaction."""

    def changed_configs(self) -> list[tuple[int, str, dict[str, str | None]]]:
        """Return the configs that differ from the first start, but those of topics: type and name
        of each resource, and each key's first value, None if it was not set."""

    def new_users(self) -> list[User]:
        """Return the SCRAM users that were not there at the first start."""

    def changed_acls(self) -> tuple[list[Acl], list[Acl]]:
        """Return the ACLs that were added since the first start, and those that were removed."""

    def close_connections(self) -> int:
        """Close the connections of clients at once, and return how many there were."""

    def serve_clients(self, is_serving: bool) -> None:
        """Set whether clients are served; if not, a request has its connection closed."""

    def forget(self) -> None:
        """Remove faults, kept requests, prepared answers and used quotas."""


@dataclass(frozen=True, slots=True)
class OperationWorld:
    """The brokers and clocks that an operation works with."""

    ask: SendRequest
    now_s: Callable[[], float]
    """The clock for deadlines, in seconds, which a test cannot move."""
    wall_ms: Callable[[], int]
    """The broker's clock, in ms since the epoch: the timestamps of new records."""
    pause: Callable[[float], Awaitable[None]]
    """A function that waits for a number of seconds."""
    inside: Inside | None = None
    """The broker in this process; None if the brokers are in other processes."""

    def attempts(
        self, deadline_s: float, pause_s: float = POLL_S, also: Sequence[int] = ()
    ) -> Attempts:
        """Return the tries of one operation, until `deadline_s` and with `pause_s` between them.
        `also`: error codes after which it is retried. A request that did not reach its node is
        retried. A request without a response is not: the node may have carried it out."""
        return Attempts(self.now_s, deadline_s, lambda: pause_s, _was_not_sent, also)

    async def run(self, steps: Steps[T]) -> T:
        """Run an operation of `client.core` and return its result: send its requests, and pause
        where it waits.

        Raises NoAnswer if no response comes, NotServed if the node lacks an API that is not
        optional, and OperationError if no coordinator or leader is found.
        """
        answer: Answer = None
        error: core.NoAnswer | None = None
        try:
            while True:
                step = steps.send(answer) if error is None else steps.throw(error)
                answer = error = None
                try:
                    if isinstance(step, core.RequestStep):
                        answer = await self.ask(step.to, step.request, step.version)
                    else:
                        await self.pause(step)
                except NoAnswer as silence:
                    error = core.NoAnswer(str(silence), was_sent=silence.was_sent)
                except NotServed:
                    if not isinstance(step, core.RequestStep) or not step.optional:
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


def check(code: int, action: str, broker_message: str | None = None) -> None:
    """Raise OperationError if `code` is an error. `action` says what failed; `broker_message` is
    the broker's own text."""
    if code != ErrorCode.NONE:
        raise OperationError(
            "failed", f"{action}: {name_of(code)}{f' ({broker_message})' if broker_message else ''}"
        )


def name_of(code: int) -> str:
    """Return Kafka's name of an error."""
    return ErrorCode(code).name
