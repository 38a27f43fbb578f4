"""How a command reaches a cluster: addresses, who is asked, and why nobody answers."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from broker.security.client_guard import PLAINTEXT_GUARD
from client.connection import Unanswered, in_turn, parse_addresses


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


def test_who_answered_is_asked_first_then_those_named_then_the_others() -> None:
    named, known = [("a", 1), ("b", 1)], [("c", 1), ("b", 1), ("d", 1)]
    assert in_turn(named, []) == named
    assert in_turn(named, known) == [("c", 1), ("a", 1), ("b", 1), ("d", 1)]
    assert in_turn(named, known[1:]) == [("b", 1), ("a", 1), ("d", 1)]


@pytest.mark.parametrize(
    "text",
    ["", ",", "a:", "a:port", ":9092", "a:0", "a:65536", "a:-1", "http://a:1", "a:1/x", "9092"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(StartError, match=r"^--bootstrap-server"):
        parse_addresses(text)


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


def test_a_cluster_that_ran_before_is_not_to_be_started() -> None:
    unanswered = Unanswered(5.0, PLAINTEXT_GUARD, advises_start=False)
    unanswered.add(("localhost", 9092), ConnectionRefusedError(111, "Connection refused"))
    assert str(unanswered.error()) == "no broker answers (localhost:9092: Connection refused)"


def test_one_that_listens_and_does_not_answer_is_not_to_be_started() -> None:
    unanswered = Unanswered(5.0, PLAINTEXT_GUARD)
    unanswered.add(("localhost", 9092), TimeoutError())
    text = "no broker says it (localhost:9092: no answer within 5 s: is a Kafka broker there?)"
    assert str(unanswered.error("no broker says it")) == text


def test_an_address_with_a_scheme_is_refused_with_the_form_that_is_needed() -> None:
    with pytest.raises(StartError, match="write it as host:port,host:port, without http://$"):
        parse_addresses("http://localhost:9092")
