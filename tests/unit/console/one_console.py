"""A console whose cluster is laid down, for the tests of its endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from client.cluster import Cluster
from console.clusters import Clusters
from console.endpoints import Ask, Console
from console.options import ConsoleOptions


class OneCluster(Console):
    """Gives everybody the same cluster."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        super().__init__(ConsoleOptions("localhost:9092", **options), Clusters(lambda _: cluster))
        self.one = cluster

    @contextmanager
    def cluster(self) -> Iterator[Cluster]:
        yield self.one

    def put(self, kind: Callable[[Console], object], state: object) -> None:
        """Let `state(kind)` be that object."""
        self._states[kind] = state  # type: ignore[index]


def ask(body: Any = None, **values: str) -> Ask:
    """A request: what is in its path and query."""
    return Ask(values, body)


def answer_of(endpoints: Any, path: str, writes: bool = False) -> Callable[[Console, Ask], Any]:
    """Who answers a path."""
    (found,) = [one for one in endpoints if one.path == path and one.writes == writes]
    return found.answer or found.events  # type: ignore[no-any-return]
