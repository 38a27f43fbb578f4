"""What operations use of the world: one way to ask a node, clocks, and what only we can do.

An operation is an async function that takes a `World` and plain values (of JSON, and bytes), and
returns such values. What does not go as asked raises `OperationError`, whose text is for the user.

Versions of requests are fixed where they are asked: those that Apache Kafka 2.8 to 4.3 and Ottla
all have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from controller.metadata.acl import Acl
from protocol.errors import ErrorCode
from testbed.as_new import User
from testbed.operation_error import OperationError

POLL_S = 0.01
"""Between two looks at something that is to become true."""


class NoAnswer(OperationError):
    """A node did not answer: it has just gone, or the cluster does not know of that yet."""

    def __init__(self, text: str, *, was_sent: bool) -> None:
        """`was_sent`: it may have done what it was asked for."""
        super().__init__("failed", text)
        self.was_sent = was_sent


class Request(Protocol):
    """The message of a request."""

    @property
    def API_KEY(self) -> int: ...


Response: TypeAlias = Any
"""The message that answers it: of which class, the request says."""


class Ask(Protocol):
    """The way to a node: its answer to one request. Raises OperationError where there is none."""

    def __call__(self, node_id: int | None, message: Request, version: int) -> Awaitable[Response]:
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


def check(code: int, what: str, words: str | None = None) -> None:
    """Raises OperationError where `code` is an error; `what` did not work."""
    if code != ErrorCode.NONE:
        raise OperationError("failed", f"{what}: {name_of(code)}{f' ({words})' if words else ''}")


def name_of(code: int) -> str:
    """An error as Kafka calls it."""
    return ErrorCode(code).name
