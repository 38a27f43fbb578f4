from __future__ import annotations

import errno
import logging
import socket

import pytest

from broker.config.security_settings import ClientSecurity
from broker.network.outgoing.peer_warnings import PEERS_MAX, PeerWarnings
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard

GUARD = ClientGuard(ClientSecurity("SASL_PLAINTEXT"))
WRONG = ConnectionError("wrong password")


class Clock:
    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(autouse=True)
def _loud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


def test_a_reason_is_said_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    warnings = PeerWarnings(GUARD, clock)
    for _ in range(100):
        warnings.warn("b", 9093, WRONG)
        clock.now_s += 0.2
    assert caplog.messages == ["no connection to b:9093 (SASL_PLAINTEXT): wrong password"]
    clock.now_s += 10.0
    warnings.warn("b", 9093, WRONG)
    assert len(caplog.messages) == 2


def test_each_peer_is_said_and_another_reason_at_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    warnings = PeerWarnings(GUARD, clock)
    warnings.warn("b", 1, WRONG)
    warnings.warn("b", 2, WRONG)
    clock.now_s += 1.0
    warnings.warn("b", 1, ConnectionError("user is gone"))
    assert len(caplog.messages) == 3
    for _ in range(20):  # two reasons that take turns
        warnings.warn("b", 1, WRONG)
        warnings.warn("b", 1, ConnectionError("user is gone"))
        clock.now_s += 0.1
    assert len(caplog.messages) == 4


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        socket.gaierror(-2, "Name or service not known"),
    ],
)
def test_that_nobody_is_there_is_no_news(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    PeerWarnings(GUARD, Clock()).warn("b", 1, error)
    assert caplog.messages == []


def test_without_security_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    PeerWarnings(PLAINTEXT_GUARD, Clock()).warn("b", 1, WRONG)
    assert caplog.messages == []


def test_it_knows_so_many_peers_at_most(caplog: pytest.LogCaptureFixture) -> None:
    warnings = PeerWarnings(GUARD, Clock())
    for port in range(PEERS_MAX + 1):
        warnings.warn("b", port, WRONG)
    for port in (PEERS_MAX, 0):
        warnings.warn("b", port, WRONG)
    assert len(caplog.messages) == PEERS_MAX + 2, "the oldest was forgotten, and said again"


def test_the_latest_reason_can_be_asked_for() -> None:
    """Of plain connections, too, and where nobody is there."""
    warnings = PeerWarnings(PLAINTEXT_GUARD, Clock())
    assert warnings.latest("b", 1) == ""
    warnings.warn("b", 1, WRONG)
    warnings.warn("b", 1, socket.gaierror(-2, "Name or service not known"))
    assert warnings.latest("b", 1) == "Name or service not known"
    warnings.connected("b", 1)
    assert warnings.latest("b", 1) == ""
    for port in range(PEERS_MAX + 1):
        warnings.warn("c", port, WRONG)
    assert (warnings.latest("c", 0), warnings.latest("c", 1)) == ("", "wrong password")
