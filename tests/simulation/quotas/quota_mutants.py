"""Clusters whose quotas are wrong on purpose: each mutant is one way to hold clients back for too
long, or for nothing, or to lose what was asked. All are caught by chance.

As in `tests.simulation.mutants`, a mutant is a context in which real classes have methods replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from broker.network.server.request_channel import ConnectionContext
from broker.quotas.client_quotas import RequestLimits
from broker.quotas.limits import SetLimits
from broker.quotas.measured import MeasuredRate, MeasuredTokens
from broker.requests import request_handler
from simulation.network.sim_server_end import ServerEnd
from tests.simulation.mutants import Mutant, table_of
from tests.simulation.plans import Plan, brokers_of
from tests.simulation.simulation import Failure, Simulation


@contextmanager
def requests_wait_without_bound() -> Iterator[None]:
    """Whoever took too much time waits until all of it is made up for."""
    real = MeasuredRate.__init__

    def init(self: MeasuredRate, window: Any, _most_ms: float | None = None) -> None:
        real(self, window)

    with patch.object(MeasuredRate, "__init__", init):
        yield


@contextmanager
def _seconds_for_milliseconds(kind: type[Any]) -> Iterator[None]:
    """A wait is a thousand times too long."""
    real = kind.throttle_ms

    def throttle_ms(self: Any, now_ms: float, limit: float) -> int:
        return int(real(self, now_ms, limit)) * 1_000

    with patch.object(kind, "throttle_ms", throttle_ms):
        yield


@contextmanager
def removed_quotas_stay() -> Iterator[None]:
    """A quota that is removed limits on."""
    real = SetLimits.put

    def put(self: SetLimits, entity: Any, limit: float | None) -> bool:
        return limit is not None and real(self, entity, limit)

    with patch.object(SetLimits, "put", put):
        yield


@contextmanager
def muted_again_and_again() -> Iterator[None]:
    """A connection that had to wait once has to after each answer."""
    with patch.object(ConnectionContext, "take_mute_ms", lambda self: self.mute_ms):
        yield


@contextmanager
def told_but_not_held_back() -> Iterator[None]:
    """A client is told to wait, and its connection is read on."""
    with patch.object(ConnectionContext, "throttled", lambda self, wait_ms: None):
        yield


@contextmanager
def held_back_and_not_told() -> Iterator[None]:
    """A connection is not read, and its client does not know why."""
    real = RequestLimits.answered

    def answered(self: RequestLimits, response: Any) -> int:
        wait_ms = real(self, response)
        if "throttle_time_ms" in getattr(response, "__slots__", ()):
            response.throttle_time_ms = 0
        return wait_ms

    with patch.object(RequestLimits, "answered", answered):
        yield


@contextmanager
def throttled_requests_are_dropped() -> Iterator[None]:
    """Who has to wait gets no answer."""
    real = request_handler._respond_limited

    def respond_limited(quota: Any, connection: Any, respond: Any, response: Any) -> None:
        real(quota, connection, lambda told: connection.mute_ms or respond(told), response)

    with patch.object(request_handler, "_respond_limited", respond_limited):
        yield


@contextmanager
def never_unmuted() -> Iterator[None]:
    """A connection that has to wait is never read again."""
    with patch.object(ServerEnd, "_unmute", lambda self: None):
        yield


QUOTA_MUTANTS: dict[str, tuple[Mutant, Sequence[str]]] = {
    "request time waits without bound": (requests_wait_without_bound, ("I22",)),
    "bytes wait a thousand times": (
        lambda: _seconds_for_milliseconds(MeasuredRate),
        ("I22",),
    ),
    "mutations wait a thousand times": (
        lambda: _seconds_for_milliseconds(MeasuredTokens),
        ("I22",),
    ),
    "removed quotas stay": (removed_quotas_stay, ("I22",)),
    "muted again and again": (muted_again_and_again, ("I22",)),
    "told, but not held back": (told_but_not_held_back, ("I22",)),
    "held back, and not told": (held_back_and_not_told, ("I22",)),
    "throttled requests are dropped": (throttled_requests_are_dropped, ("I20",)),
    "muted for ever": (never_unmuted, ("I22", "I20")),
}
"""Mutant → how to make it, and the invariants that catch it."""
SEEDS_MAX = 20


def quota_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    make, _ = QUOTA_MUTANTS[name]
    for seed in range(SEEDS_MAX):
        plan = replace(Plan.cluster(seed, brokers_of(seed)), limited=True)
        try:
            with make():
                Simulation(seed, plan).run()
        except Failure as failure:
            return failure
    return None


def quota_table() -> list[str]:
    """As `mutants.table`."""
    return table_of(QUOTA_MUTANTS, quota_failure)
