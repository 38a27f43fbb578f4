"""Who a connection is, by a builder of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from broker.plugins.loop_calls import LoopCalls
from broker.plugins.principals import PluginPrincipals
from broker.security.listener_guard import NoPrincipal
from ottla.plugins.principal import Peer, PrincipalBuilder

PEER = Peer("User:alice", "L", "PLAINTEXT", "1.2.3.4")


class Says(PrincipalBuilder):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def principal(self, peer: Peer) -> str:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or f"Host:{peer.host}"


def named(answer: Any) -> str:
    return PluginPrincipals(Says(answer), LoopCalls("acme:P", lambda: 0.0))(PEER)


def test_its_answer_is_the_principal() -> None:
    assert named("") == "Host:1.2.3.4"
    assert named("User:CN=a:b") == "User:CN=a:b"


@pytest.mark.parametrize("answer", ["alice", ":alice", "User:", 7, "User:" + "a" * 1000])
def test_what_is_no_principal_lets_nobody_in(answer: Any) -> None:
    with pytest.raises(NoPrincipal, match="acme:P gave what is no Type:name"):
        named(answer)


def test_one_that_fails_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NoPrincipal, match="acme:P raised KeyError"):
        named(KeyError("x"))
    assert "acme:P failed" in caplog.messages
