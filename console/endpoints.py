"""What the page asks the console: paths, what comes with them, and what is given to who answers.

A view's module has a tuple `ENDPOINTS`; who answers is plain Python that may block, since it runs
in a thread. `get` answers once, `stream` again and again as events, `post` changes something and is
refused unless the console was started with --allow-writes. Knows no HTTP: `application` does.
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
    """The page, or whoever typed an address, asks for what cannot be. `str()` is one line."""


class NotHere(Exception):
    """What was asked for is not known to this console. `str()` is one line."""


class Console:
    """One for the process; all that endpoints share."""

    def __init__(self, options: ConsoleOptions, clusters: Clusters) -> None:
        self.options = options
        self._clusters = clusters
        self._lock = RLock()
        self._states: dict[type, object] = {}

    def cluster(self) -> AbstractContextManager[ClusterClient]:
        """A connection for this thread. Raises StartError."""
        return self._clusters.taken()

    def own_cluster(self, client_id: str) -> ClusterClient:
        """One that is not shared, for who closes it. Raises StartError."""
        named, config = self.options.bootstrap_server, self.options.command_config
        return ClusterClient(
            named,
            config,
            client_id=client_id,
            known_addresses=self._clusters.known,
            advises_start=False,
        )

    def addresses(self) -> list[Address]:
        """Of brokers, to be asked in turn until one answers."""
        return in_turn(parse_addresses(self.options.bootstrap_server), self._clusters.known)

    def state(self, kind: Callable[[Console], T]) -> T:
        """The one object of that class, made of this console when it is first asked for. Has
        `close()` called at the end, if it has one."""
        with self._lock:
            found = self._states.get(cast(type, kind))
            if found is None:
                found = self._states[cast(type, kind)] = kind(self)
            return cast(T, found)

    def close(self) -> None:
        """End what states have begun, and hang up."""
        with self._lock:
            states, self._states = list(self._states.values()), {}
        for one in states:
            close = getattr(one, "close", None)
            if close is not None:
                close()
        self._clusters.close()


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: the parameters of its path and its query, and the JSON of its body."""

    values: Mapping[str, str]
    body: Any = None

    def text(self, name: str, default: str | None = None) -> str:
        """Raises BadAsk where it is missing and has no default."""
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
        """Raises BadAsk where it is none, or out of bounds."""
        text = self.values.get(name)
        if text is None:
            if default is None:
                raise BadAsk(f"{name} is missing")
            return default
        try:
            found = int(text)
        except ValueError:
            raise BadAsk(f"{name} must be a whole number, not {text!r}") from None
        if (least is not None and found < least) or (most is not None and found > most):
            bounds = [] if least is None else [f"at least {least}"]
            bounds += [] if most is None else [f"at most {most}"]
            raise BadAsk(f"{name} is {found}, but must be {' and '.join(bounds)}")
        return found

    def flag(self, name: str) -> bool:
        """Whether it is there and no 0 and not false."""
        return self.values.get(name, "0").lower() not in ("", "0", "false", "no")


@dataclass(frozen=True, slots=True)
class Download:
    """An answer that the browser saves as a file."""

    name: str
    data: bytes


Answer = Callable[[Console, Ask], object]
"""Gives a dataclass of `answers`, or a Download."""
Events = Callable[[Console, Ask], Iterator[object]]
"""Gives one event after the other; None where nothing came for a second."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path with its parameters in braces, and who answers."""

    path: str
    answer: Answer | None = None
    events: Events | None = None
    writes: bool = False


def get(path: str, answer: Answer) -> Endpoint:
    """Answers once, and changes nothing."""
    return Endpoint(path, answer)


def post(path: str, answer: Answer) -> Endpoint:
    """Changes something."""
    return Endpoint(path, answer, writes=True)


def stream(path: str, events: Events) -> Endpoint:
    """Answers with events until they end or the tab is closed."""
    return Endpoint(path, events=events)


def wall_ms() -> int:
    """Milliseconds since 1970, as records have them."""
    return time.time_ns() // 1_000_000


STATIC = Path(__file__).parent / "static"
"""The page."""
