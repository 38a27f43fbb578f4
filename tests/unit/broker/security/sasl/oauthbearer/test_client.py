"""The client half: its messages, and the token that is kept for them."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from broker.security.sasl.oauthbearer.client import (
    OAuthBearerClient,
    TokenKeeper,
    expiry_ms,
    extension_fault,
)
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken
from broker.security.sasl.oauthbearer.server import OAuthBearerServer
from broker.security.sasl.server_mechanism import SaslRefused
from ground.ports import Blocking
from tests.unit.broker.security.sasl.oauthbearer.clock_fixture import HandBlocking, HandScheduler
from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import NOW_S, token

URL = "https://issuer.example/token"


class Anybody:
    """A judge that lets everybody in."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def judge(self, text: str, now_ms: int) -> AcceptedToken:
        self.heard.append(text)
        return AcceptedToken("alice", 5)

    def start(self, blocking: Blocking) -> None: ...

    def close(self) -> None: ...


def test_the_server_half_understands_the_client_half() -> None:
    judge = Anybody()
    server = OAuthBearerServer(judge)
    client = OAuthBearerClient(lambda: "a.b.c==", {"traceId": "12 3", "x": "a=b"})
    assert client.first() == b"n,,\x01auth=Bearer a.b.c==\x01traceId=12 3\x01x=a=b\x01\x01"
    assert client.challenge(server.evaluate(client.first(), 0)) is None
    assert server.complete
    assert judge.heard == ["a.b.c=="]


def test_a_refusal_is_acknowledged() -> None:
    client = OAuthBearerClient(lambda: "a.b.c", {})
    assert client.challenge(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize("text", ["", "a b", "a\x01b", "é", "a\n"])
def test_a_token_that_cannot_be_sent(text: str) -> None:
    with pytest.raises(SaslRefused, match="characters that no token has"):
        OAuthBearerClient(lambda: text, {}).first()


@pytest.mark.parametrize(
    ("name", "value", "good"),
    [
        ("traceId", "1 2\t3", True),
        ("auth", "x", False),
        ("", "x", False),
        ("a1", "x", False),
        ("a", "", False),
        ("a", "é", False),
        ("a", "x\x01", False),
    ],
)
def test_extensions(name: str, value: str, good: bool) -> None:
    assert (extension_fault(name, value) is None) is good


def test_the_end_of_a_token_is_what_it_says() -> None:
    assert expiry_ms(token(exp=NOW_S + 5)) == (NOW_S + 5) * 1000


class Issuer:
    """Gives tokens, or fails."""

    def __init__(self) -> None:
        self.gives: Callable[[], str] = lambda: token(exp=NOW_S + 100)

    def __call__(self) -> str:
        return self.gives()


class Rig:
    """A keeper whose time goes by hand."""

    def __init__(self) -> None:
        self.issuer = Issuer()
        self.scheduler = HandScheduler()
        self.blocking = HandBlocking()
        self.tried: list[bool] = []
        self.keeper = TokenKeeper(URL, self.issuer, self.scheduler, self.blocking)
        self.keeper.start(lambda: self.tried.append(True))

    def fail(self) -> str:
        def fails() -> str:
            raise OSError("no route")

        self.issuer.gives = fails
        return "no route"


def test_a_login_waits_for_no_token() -> None:
    rig = Rig()
    with pytest.raises(SaslRefused, match=f"no token of {URL} to log in with: no token has come"):
        rig.keeper.token()
    assert rig.tried == []
    rig.blocking.run()
    assert rig.keeper.token() == token(exp=NOW_S + 100)
    assert rig.tried == [True]
    rig.scheduler.advance(80_000)
    rig.blocking.run()
    assert rig.tried == [True], "it is told once"


def test_who_waits_for_the_first_token_is_told_also_where_it_cannot_be_had() -> None:
    rig = Rig()
    rig.fail()
    rig.blocking.run()
    assert rig.tried == [True]


def test_the_next_token_comes_after_four_fifths_of_its_life() -> None:
    rig = Rig()
    rig.blocking.run()
    assert rig.scheduler.delays() == [80_000]
    rig.issuer.gives = lambda: token(exp=NOW_S + 500)
    rig.scheduler.advance(80_000)
    assert rig.keeper.token() == token(exp=NOW_S + 100)
    rig.blocking.run()
    assert rig.keeper.token() == token(exp=NOW_S + 500)
    assert rig.scheduler.delays() == [pytest.approx(0.8 * 420_000)]


def test_a_failure_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rig = Rig()
    rig.blocking.run()
    why = rig.fail()
    rig.scheduler.advance(80_000)
    delays = []
    for _ in range(9):
        rig.blocking.run()
        delays += rig.scheduler.delays()
        rig.scheduler.advance(delays[-1])
    assert delays == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
    assert [one.getMessage() for one in caplog.records] == [f"No token can be had of {URL}: {why}"]
    with pytest.raises(SaslRefused, match=f"to log in with: {why}"):
        rig.keeper.token()
    rig.issuer.gives = lambda: token(exp=NOW_S + 500)
    rig.blocking.run()
    assert rig.keeper.token() == token(exp=NOW_S + 500)
    assert caplog.records[-1].getMessage() == f"Tokens of {URL} can be had again"


def test_a_token_that_has_ended_is_not_sent() -> None:
    rig = Rig()
    rig.blocking.run()
    rig.scheduler.now_ms += 99_999
    assert rig.keeper.token()
    rig.scheduler.now_ms += 1
    with pytest.raises(SaslRefused, match="the last one expired"):
        rig.keeper.token()


def test_an_issuer_that_gives_old_tokens_is_not_asked_without_end() -> None:
    rig = Rig()
    rig.issuer.gives = lambda: token(exp=NOW_S - 100)
    rig.blocking.run()
    assert rig.scheduler.delays() == [1000]


@pytest.mark.parametrize("text", ["", "opaque", "a.b.c", token(exp=None)])
def test_what_is_no_token_of_use(text: str, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.issuer.gives = lambda: text
    rig.blocking.run()
    with pytest.raises(SaslRefused, match="what came is no token of use"):
        rig.keeper.token()
    assert not text or text not in caplog.text


def test_no_token_is_got_after_the_end() -> None:
    rig = Rig()
    rig.blocking.run()
    rig.keeper.close()
    rig.scheduler.advance(80_000)
    assert rig.blocking.run() == 0
    late = Rig()
    late.keeper.close()
    late.blocking.run()
    assert late.scheduler.delays() == []
