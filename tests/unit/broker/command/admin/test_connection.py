"""How a command reaches a cluster: addresses, who is asked, and why nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from broker.command.admin import connection
from broker.command.admin.connection import AdminClient, Unanswered, parse_addresses
from broker.config.start_error import StartError
from broker.network.blocking_client import ApiNotServed
from broker.security.client_guard import PLAINTEXT_GUARD
from protocol.errors import ProtocolError
from protocol.messages.create_acls import CreateAclsRequest


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("broker", [("broker", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_addresses(text: str, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize("text", ["", ",", "a:", "a:port", ":9092", "a:0", "a:65536", "a:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(StartError, match=r"^--bootstrap-server"):
        parse_addresses(text)


class Client:
    """Stands for a connection: to a port below 10 there is none."""

    outcome: Any = "answer"
    closed = 0

    def __init__(self, host: str, port: int, timeout_s: float, guard: object) -> None:
        if port < 10:
            raise ConnectionRefusedError(111, "Connection refused")
        self.host = host

    def call(self, request: object) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.host

    def close(self) -> None:
        Client.closed += 1


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BlockingClient", Client)
    monkeypatch.setattr(Client, "outcome", "answer")
    monkeypatch.setattr(Client, "closed", 0)


def test_the_first_that_answers_is_asked() -> None:
    with AdminClient("a:5,b:50,c:51", None) as cluster:
        assert cluster.call(CreateAclsRequest()) == "b"
    assert Client.closed == 1


def test_nobody_answers() -> None:
    with pytest.raises(StartError) as caught:
        AdminClient("a:5,b:6", None)
    reason = "Connection refused"
    assert str(caught.value) == f"no broker answers (a:5: {reason}; b:6: {reason})"


@pytest.mark.parametrize(
    ("addresses", "advice"),
    [
        ("localhost:5", "; start one with: ottla serve --port 5"),
        ("127.0.0.1:9092", "; start one with: ottla serve"),
        ("localhost:5,[::1]:9092", "; start one with: ottla serve"),
        ("localhost:5,other:5", ""),
    ],
)
def test_where_nobody_listens_on_this_machine_it_says_how_to_start_one(
    addresses: str, advice: str
) -> None:
    unanswered = Unanswered(5.0, PLAINTEXT_GUARD)
    for address in parse_addresses(addresses):
        unanswered.add(address, ConnectionRefusedError(111, "Connection refused"))
    assert str(unanswered.error()).partition(")")[2] == advice


def test_a_command_says_so() -> None:
    with pytest.raises(StartError, match=r"Connection refused\); start one with: ottla serve"):
        AdminClient("localhost:5", None)


def test_one_that_listens_and_does_not_answer_is_not_to_be_started() -> None:
    unanswered = Unanswered(5.0, PLAINTEXT_GUARD)
    unanswered.add(("localhost", 9092), TimeoutError())
    text = "no broker says it (localhost:9092: no answer within 5 s)"
    assert str(unanswered.error("no broker says it")) == text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ApiNotServed("no"), "has no CreateAcls: is it a broker's port"),
        (TimeoutError(), "no answer within 30 s"),
        (ProtocolError("odd bytes"), "odd bytes"),
        (ConnectionResetError(104, "reset"), r"reset\); whether it was done is not known"),
    ],
)
def test_an_answer_that_does_not_come(error: Exception, said: str) -> None:
    Client.outcome = error
    with AdminClient("b:50", None) as cluster, pytest.raises(StartError, match=said):
        cluster.call(CreateAclsRequest())
