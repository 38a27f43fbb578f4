"""Rules for principals: what Kafka made of them stands in tests/golden/."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker.security.tls.principal_mapping import PrincipalMapping
from ground.config_def import ConfigError

GOLDEN = Path(__file__).parents[4] / "golden" / "principal_mapping_kafka.json"
ANSWERS: dict[str, str | dict[str, str | None]] = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("rules", [one for one in ANSWERS if isinstance(ANSWERS[one], dict)])
def test_rules_name_whom_kafka_names(rules: str) -> None:
    answers = ANSWERS[rules]
    assert isinstance(answers, dict)
    mapping = PrincipalMapping(rules)
    assert {name: mapping.name_of(name) for name in answers} == answers


@pytest.mark.parametrize("rules", [one for one in ANSWERS if isinstance(ANSWERS[one], str)])
def test_rules_that_kafka_refuses_at_the_start_or_at_a_login_are_refused(rules: str) -> None:
    with pytest.raises(ConfigError) as refused:
        PrincipalMapping(rules)
    assert refused.value.name == "ssl.principal.mapping.rules"
    assert "ssl.principal.mapping.rules" in str(refused.value)


@pytest.mark.parametrize(
    "rules",
    [
        # Kafka forgets the first rule.
        "RULE:CN=(.*)/$1/\nDEFAULT",
        # Means something else in Java, or nothing in Python.
        r"RULE:CN=(\p{L}+)/$1/",
        "RULE:CN=([a-z&&[^b]]+)/$1/",
        "RULE:CN=(.*)/${name}/",
        "RULE:CN=(.*)/$1\\",
        "RULE:CN=(?i)a/$1/",
    ],
)
def test_what_cannot_mean_the_same_is_refused(rules: str) -> None:
    with pytest.raises(ConfigError) as refused:
        PrincipalMapping(rules)
    assert "\n" not in str(refused.value)


def test_an_error_names_the_key_that_it_is_given() -> None:
    with pytest.raises(ConfigError) as refused:
        PrincipalMapping("FOO", "listener.name.x.ssl.principal.mapping.rules")
    assert refused.value.name == "listener.name.x.ssl.principal.mapping.rules"


@pytest.mark.parametrize("end", ["\r", "\n", "\u0085", "\u2028", "\u2029"])
def test_a_dot_stops_at_javas_line_ends(end: str) -> None:
    mapping = PrincipalMapping("RULE:^CN=(.*),OU=Data$/$1/,RULE:^CN=([.\\s\\S]*)$/whole/")
    assert mapping.name_of(f"CN=a{end}b,OU=Data") == "whole"
    assert mapping.name_of("CN=a b,OU=Data") == "a b"
