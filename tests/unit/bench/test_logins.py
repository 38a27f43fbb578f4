"""Logins a second: the windows of all clients together, and a client that fails."""

from __future__ import annotations

import pytest

from bench.login_client import SCRAM, keys, log_in_for
from bench.logins import LoginClient, LoginWindow, measured_logins
from bench.scenario import BROKER_CPU, RATE
from tests.unit.bench.counted_peer import CountedPeer


class StandInClient:
    """Does as many logins in each window, at a cost of its own."""

    def __init__(self, peer: CountedPeer, logins: int) -> None:
        self.peer, self.logins = peer, logins

    def begin(self, seconds: float) -> None:
        self.seconds = seconds

    def done(self) -> LoginWindow:
        self.peer.serve(self.logins)
        return LoginWindow(1.0, self.logins * 5e-4, [1e-3] * self.logins)


def test_the_logins_of_all_clients_count() -> None:
    peer = CountedPeer(2e-3)
    clients = [StandInClient(peer, 100), StandInClient(peer, 300)]
    figures = measured_logins(peer, clients, 1.0)  # type: ignore[arg-type]
    told = {figure.name: figure.value for figure in figures}
    assert told[RATE] == 400
    assert told[BROKER_CPU] == pytest.approx(2)
    assert told["p50"] == pytest.approx(1)
    assert told["client CPU a login"] == pytest.approx(0.5)
    assert told["client CPU"] == pytest.approx(20)


def test_a_window_has_one_login_at_least() -> None:
    called: list[int] = []
    told = log_in_for(0, lambda: called.append(1))
    assert len(called) == len(told["trips"]) == 1  # type: ignore[arg-type]


def test_why_a_client_ended_is_told() -> None:
    client = LoginClient([SCRAM, "1", "nowhere"])
    client.begin(1.0)
    with pytest.raises(RuntimeError, match="a client ended: ConnectionRefusedError"):
        client.done()
    client.close()


def test_the_rounds_of_a_password_are_computed_once_a_salt() -> None:
    keys.cache_clear()
    first = keys("c2FsdA==", 4096)
    assert keys("c2FsdA==", 4096) is first
    assert keys("b3RoZXI=", 4096) != first
    assert keys.cache_info().misses == 2
