"""Listener and voter texts, with the verdicts of Kafka."""

from __future__ import annotations

import pytest

from broker.config.endpoints import (
    EndPoint,
    QuorumVoter,
    check_ports_differ,
    parse_endpoints,
    parse_protocol_map,
    parse_voters,
)
from ground.config_def import ConfigError

PLAIN = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("PLAINTEXT://:9092", EndPoint("PLAINTEXT", "PLAINTEXT", None, 9092)),
        ("plaintext://h-1.x:0", EndPoint("PLAINTEXT", "PLAINTEXT", "h-1.x", 0)),
        ("PLAINTEXT://[::1]:9092", EndPoint("PLAINTEXT", "PLAINTEXT", "::1", 9092)),
        ("PLAINTEXT://::1:9092", EndPoint("PLAINTEXT", "PLAINTEXT", "::1", 9092)),
    ],
)
def test_an_endpoint(text: str, endpoint: EndPoint) -> None:
    assert parse_endpoints("listeners", (text,), PLAIN) == (endpoint,)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("PLAINTEXT:9092", "is not NAME://host:port"),
        ("PLAINTEXT://localhost", "is not NAME://host:port"),
        ("PLAINTEXT://:x", "is not NAME://host:port"),
        ("PLAINTEXT://h:99999", "port of 0 to 65535"),
        ("PLAINTEXT://h:-1", "port of 0 to 65535"),
        ("FOO://:9092", "No security protocol defined for listener FOO"),
    ],
)
def test_a_bad_endpoint_is_refused_with_its_key(entry: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        parse_endpoints("listeners", (entry,), PLAIN)
    assert "listeners" in str(refused.value)
    assert refused.value.name == "listeners"


def test_names_and_ports_must_differ() -> None:
    twice = ("PLAINTEXT://:1", "PLAINTEXT://:2")
    with pytest.raises(ConfigError, match="must have a different name"):
        parse_endpoints("listeners", twice, PLAIN)
    same = parse_endpoints("listeners", ("PLAINTEXT://:1", "CONTROLLER://:1"), PLAIN)
    with pytest.raises(ConfigError, match="must have a different port"):
        check_ports_differ("listeners", same)
    both = parse_endpoints("listeners", ("PLAINTEXT://127.0.0.1:1", "CONTROLLER://[::1]:1"), PLAIN)
    check_ports_differ("listeners", both)
    three = (*both, EndPoint("THIRD", "PLAINTEXT", "127.0.0.2", 1))
    with pytest.raises(ConfigError, match="exactly one of two has an IPv4"):
        check_ports_differ("listeners", three)
    any_port = parse_endpoints("listeners", ("PLAINTEXT://:0", "CONTROLLER://:0"), PLAIN)
    check_ports_differ("listeners", any_port)


def test_an_endpoint_is_shown_as_it_is_written() -> None:
    assert str(EndPoint("A", "PLAINTEXT", "::1", 5)) == "A://[::1]:5"
    assert str(EndPoint("A", "PLAINTEXT", None, 5)) == "A://:5"


def test_the_protocol_map() -> None:
    assert parse_protocol_map("a:plaintext, B:SASL_SSL,") == {"A": "PLAINTEXT", "B": "SASL_SSL"}
    with pytest.raises(ConfigError, match="Invalid security protocol `FOO` defined in"):
        parse_protocol_map("PLAINTEXT:FOO")
    with pytest.raises(ConfigError, match="'PLAINTEXT' is not NAME:PROTOCOL"):
        parse_protocol_map("PLAINTEXT")


def test_voters() -> None:
    assert parse_voters(("1@a:1", "2@[::1]:2")) == (
        QuorumVoter(1, "a", 1),
        QuorumVoter(2, "::1", 2),
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("1@localhost", "Failed to parse host name from entry 1@localhost for the configuration"),
        ("1:localhost:9093", "Invalid configuration value for controller.quorum.voters."),
        ("x@localhost:9093", "Failed to parse voter ID as an integer from x"),
        ("1@localhost:x", "Failed to parse host name from entry 1@localhost:x"),
        ("1@0.0.0.0:0", r"Host string \(0.0.0.0\) is not routeable"),
    ],
)
def test_a_bad_voter_is_refused_in_kafkas_words(entry: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        parse_voters((entry,))
    assert "controller.quorum.voters" in str(refused.value)
