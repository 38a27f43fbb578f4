"""The broker that coordinates a group or a transactional id: who it is, and the way to it."""

from __future__ import annotations

from client.core.operation import Answer, Ask, Attempts, ErrorAnswer, Steps, error_of
from client.core.retries import COORDINATOR
from protocol.frames.message_codec import Request
from protocol.messages.find_coordinator import FindCoordinatorRequest

GROUP = 0
TRANSACTION = 1
VERSION = 3


class NoCoordinator(ErrorAnswer):
    """The cluster tells of none for `key`."""

    def __init__(self, key: str, code: int, message: str | None) -> None:
        super().__init__(code, message, f"nobody coordinates {key}")
        self.key = key


def coordinator(attempts: Attempts, key: str, kind: int = GROUP) -> Steps[int]:
    """The id of the broker, once there is one. Raises NoCoordinator."""

    def once() -> Steps[Answer]:
        return (yield Ask(FindCoordinatorRequest(key, kind), VERSION))

    found = yield from attempts.settled(once, COORDINATOR)
    if found.error_code:
        raise NoCoordinator(key, found.error_code, found.error_message)
    node_id: int = found.node_id
    return node_id


def at_coordinator(
    attempts: Attempts,
    key: str,
    request: Request,
    version: int,
    kind: int = GROUP,
    *,
    optional: bool = False,
) -> Steps[Answer]:
    """The answer of the broker that coordinates `key`; asked for again while it moves. Raises
    NoCoordinator, NoAnswer."""
    known = attempts.coordinators

    def once() -> Steps[Answer]:
        node_id = known.pop((kind, key), None)
        if node_id is None:
            node_id = yield from coordinator(attempts, key, kind)
        answer = yield from attempts.ask(Ask(request, version, node_id, optional))
        if not error_of(answer):
            known[kind, key] = node_id
        return answer

    return attempts.settled(once, COORDINATOR)
