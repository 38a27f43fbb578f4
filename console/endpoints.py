"""The endpoints of the console: paths, the functions that answer them, and what these share.

A view's module has a tuple `ENDPOINTS`. Its functions are plain Python that may block, since they
run in threads. `get` answers once, `stream` with events, `post` makes a change and is rejected
unless the console was started with --allow-writes. Knows no HTTP: `application` does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar, cast

from client.cluster import Address, ClusterClient
from client.connection import in_turn, parse_addresses
from console.clusters import Clusters
from console.options import ConsoleOptions

T = TypeVar("T")


class BadAsk(Exception):
    """A request with invalid parameters or an invalid body. `str()` is one line."""


class NotHere(Exception):
    """A request for a thing that does not exist. `str()` is one line."""


class Console:
    """The objects that all endpoints of a console process share."""

    def __init__(self, options: ConsoleOptions, clusters: Clusters) -> None:
        self.options = options
        self._clusters = clusters
        self._lock = RLock()
        self._states: dict[type, object] = {}

    def cluster(self) -> AbstractContextManager[ClusterClient]:
        """Return connections to the cluster for this thread. Raises StartError."""
        return self._clusters.taken()

    def own_cluster(self, client_id: str) -> ClusterClient:
        """Return connections that are not shared; the caller closes them. Raises StartError."""
        named, config = self.options.bootstrap_server, self.options.command_config
        return ClusterClient(
            named,
            config,
            client_id=client_id,
            known_addresses=self._clusters.known,
            advises_start=False,
        )

    def addresses(self) -> list[Address]:
        """Return the addresses of brokers, to try in turn until one answers."""
        return in_turn(parse_addresses(self.options.bootstrap_server), self._clusters.known)

    def state(self, kind: Callable[[Console], T]) -> T:
        """Return the console's object of this class, which is made at the first call. If it has a
        method `close`, that is called at the end of the console."""
        with self._lock:
            found = self._states.get(cast(type, kind))
            if found is None:
                found = self._states[cast(type, kind)] = kind(self)
            return cast(T, found)

    def close(self) -> None:
        """Close all objects of `state`, and the connections."""
        with self._lock:
            states, self._states = list(self._states.values()), {}
        for one in states:
            close = getattr(one, "close", None)
            if close is not None:
                close()
        self._clusters.close()


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: the parameters of its path and its query, and the JSON of its body."""

    values: Mapping[str, str]
    body: Any = None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a parameter. Raises BadAsk if it is missing and has no default."""
        found = self.values.get(name, default)
        if found is None:
            raise BadAsk(f"{name} is missing")
        return found

    def number(
        self,
        name: str,
        default: int | None = None,
        *,
        least: int | None = None,
        most: int | None = None,
    ) -> int:
        """Return a parameter as a whole number. Raises BadAsk if it is none, or out of bounds."""
        text = self.values.get(name)
        if text is None:
            if default is None:
                raise BadAsk(f"{name} is missing")
            return default
        try:
            value = int(text)
        except ValueError:
            raise BadAsk(f"{name} must be a whole number, not {text!r}") from None
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = [] if least is None else [f"at least {least}"]
            bounds += [] if most is None else [f"at most {most}"]
            raise BadAsk(f"{name} is {value}, but must be {' and '.join(bounds)}")
        return value

    def flag(self, name: str) -> bool:
        """Return whether a parameter is set, and is not 0, false or no."""
        return self.values.get(name, "0").lower() not in ("", "0", "false", "no")


@dataclass(frozen=True, slots=True)
class Download:
    """An answer that the browser saves as a file."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class DownloadStream:
    """A file that is sent while it is made. `pieces` is closed if the browser cancels."""

    name: str
    media_type: str
    pieces: Iterator[bytes]


Answer = Callable[[Console, Ask], object]
"""A function that returns a dataclass for `answers`, a Download or a DownloadStream."""
Events = Callable[[Console, Ask], Iterator[object]]
"""A function that yields events, and None after each second without one."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path with its parameters in braces, and the function that answers requests to it."""

    path: str
    answer: Answer | None = None
    events: Events | None = None
    writes: bool = False


def get(path: str, answer: Answer) -> Endpoint:
    """Return an endpoint that answers once and changes nothing."""
    return Endpoint(path, answer)


def post(path: str, answer: Answer) -> Endpoint:
    """Return an endpoint that makes a change."""
    return Endpoint(path, answer, writes=True)


def stream(path: str, events: Events) -> Endpoint:
    """Return an endpoint that answers with events until they end or the tab is closed."""
    return Endpoint(path, events=events)


def wall_ms() -> int:
    """Return the time in milliseconds since 1970, as in records."""
    return time.time_ns() // 1_000_000


STATIC = Path(__file__).parent / "static"
"""The folder of the page's files."""
