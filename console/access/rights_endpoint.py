"""The endpoint of the operations that the console's login may do on the cluster or a topic.

The page disables the buttons of changes that the cluster would reject.
"""

from __future__ import annotations

from dataclasses import dataclass

from client.operations import operations_on_cluster, operations_on_topic
from console.endpoints import Ask, BadAsk, Console, get


@dataclass(frozen=True, slots=True)
class LoginOperations:
    """The names of the operations; None if the cluster does not report them."""

    operations: list[str] | None


def _operations(console: Console, ask: Ask) -> LoginOperations:
    """Return the operations on the cluster, or on a topic by its name. Raises BadAsk."""
    kind = ask.text("kind")
    if kind not in ("cluster", "topic"):
        raise BadAsk("kind must be cluster or topic")
    with console.cluster() as cluster:
        allowed = (
            operations_on_cluster(cluster)
            if kind == "cluster"
            else operations_on_topic(cluster, ask.text("name"))
        )
    names = None if allowed is None else sorted(operation.name for operation in allowed)
    return LoginOperations(names)


ENDPOINTS = (get("/api/operations", _operations),)
