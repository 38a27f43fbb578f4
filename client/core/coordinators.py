"""The coordinator of a group or a transactional id: its lookup, and requests sent to it."""

from __future__ import annotations

from client.core.operation import Answer, Attempts, ErrorAnswer, RequestStep, Steps, error_of
from client.core.retries import COORDINATOR
from protocol.frames.message_codec import Request
from protocol.messages.find_coordinator import FindCoordinatorRequest

GROUP = 0
TRANSACTION = 1
VERSION = 3


class NoCoordinator(ErrorAnswer):
    """The cluster names no coordinator for `key`."""

    def __init__(self, key: str, code: int, message: str | None, kind: int = GROUP) -> None:
        super().__init__(code, message, f"nobody coordinates {key}")
        self.key = key
        self.kind = kind


def coordinator(attempts: Attempts, key: str, kind: int = GROUP) -> Steps[int]:
    """Ask any broker for the coordinator of `key`, and return its id; retry while there is none.

    Raises NoCoordinator if the time for retries ends, NoAnswer.
    """

    def once() -> Steps[Answer]:
        """Send FindCoordinator to any broker, and return its response."""
        return (yield RequestStep(FindCoordinatorRequest(key, kind), VERSION))

    response = yield from attempts.settled(once, COORDINATOR)
    if response.error_code:
        raise NoCoordinator(key, response.error_code, response.error_message, kind)
    node_id: int = response.node_id
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
    """Send a request to the coordinator of `key`, and return its response; retry while the
    coordinator moves or loads.

    `optional`: return None if the broker does not serve the API. Raises NoCoordinator, NoAnswer.
    """
    known_ids = attempts.coordinators

    def once() -> Steps[Answer]:
        """Send the request to the remembered coordinator, or look it up first. Return the response.

        The coordinator is remembered in `attempts` only after a response without error.
        """
        node_id = known_ids.pop((kind, key), None)
        if node_id is None:
            node_id = yield from coordinator(attempts, key, kind)
        answer = yield from attempts.request(RequestStep(request, version, node_id, optional))
        if not error_of(answer):
            known_ids[kind, key] = node_id
        return answer

    return attempts.settled(once, COORDINATOR)
