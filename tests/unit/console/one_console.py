"""A console whose cluster is laid down, for the tests of its endpoints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from client.cluster import ClusterClient
from console.answers import to_json
from console.clusters import Clusters
from console.endpoints import Ask, Console, Download, DownloadStream
from console.options import ConsoleOptions


class OneCluster(Console):
    """Gives everybody the same cluster."""

    def __init__(self, cluster: ClusterClient, **options: Any) -> None:
        super().__init__(ConsoleOptions("localhost:9092", **options), Clusters(lambda _: cluster))
        self.one = cluster

    @contextmanager
    def cluster(self) -> Iterator[ClusterClient]:
        yield self.one

    def put(self, kind: Callable[[Console], object], state: object) -> None:
        """Let `state(kind)` be that object."""
        self._states[kind] = state  # type: ignore[index]


def ask(body: Any = None, **values: str) -> Ask:
    """A request: what is in its path and query."""
    return Ask(values, body)


def plain(answer: object) -> Any:
    """An answer as the page has it; a download as it is."""
    return answer if isinstance(answer, Download | DownloadStream) else json.loads(to_json(answer))


def plain_events(events: Iterator[object]) -> Iterator[Any]:
    """Events as the page has them; closed with the iterator that gives them."""
    try:
        for one in events:
            yield None if one is None else plain(one)
    finally:
        events.close()  # type: ignore[attr-defined]


def answer_of(endpoints: Any, path: str, writes: bool = False) -> Callable[[Console, Ask], Any]:
    """Who answers a path, as the page has it."""
    (found,) = [one for one in endpoints if one.path == path and one.writes == writes]
    if found.events is not None:
        return lambda console, ask: plain_events(found.events(console, ask))
    return lambda console, ask: plain(found.answer(console, ask))
