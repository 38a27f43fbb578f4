"""`ottla`'s commands through listeners with TLS and logins, and for who may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.ottla_command import Ottla
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import (
    PLAIN,
    SASL_PLAINTEXT,
    SASL_SSL,
    SHA_256,
    SHA_512,
    SSL,
    java_properties,
)

LINES = b"".join(b"line %d\n" % one for one in range(20_000))


def ottla_of(secured: SecuredBroker, folder: Path, *way: str, **changed: str) -> Ottla:
    """Commands that come in this way."""
    found = secured.way(*way, **changed)
    ottla = Ottla(found.servers)
    ottla.env["OTTLA_COMMAND_CONFIG"] = str(java_properties(found, folder))
    return ottla


@pytest.mark.parametrize(
    "way", [(SSL,), (SASL_SSL, SHA_512), (SASL_PLAINTEXT, SHA_256), (SASL_SSL, PLAIN)]
)
def test_records_go_in_and_come_out(
    secured: SecuredBroker, tmp_path: Path, way: tuple[str, ...]
) -> None:
    ottla = ottla_of(secured, tmp_path, *way)
    topic = secured.topic(f"ottla-{'-'.join(way)}")
    ottla("produce", topic, data=LINES)
    assert ottla("consume", topic) == LINES
    assert ottla("consume", topic, "--group", topic, "--commit", "-n", "5") == LINES[:35]
    (found,) = ottla.objects("group", "describe", topic)
    assert found["lag"] == 20_000 - 5


def test_who_may_not_is_told_the_right_that_it_takes(
    secured: SecuredBroker, tmp_path: Path
) -> None:
    topic = secured.topic("ottla-of-ann")
    ottla = ottla_of(secured, tmp_path, SASL_PLAINTEXT, PLAIN, user="bob")
    for words in (
        ["topic", "describe", topic],
        ["consume", topic],
        ["produce", topic],
        ["config", "set", "--topic", topic, "retention.ms=1"],
        ["config", "show", "--broker", "1"],
        ["quota", "list"],
        ["group", "describe", "of-ann"],
        ["topic", "create", "ottla-of-bob"],
    ):
        ottla(*words, code=1)
        assert "which this login does not have" in ottla.said, words
        assert ottla.said.count("\n") == 1
    assert ottla.objects("topic", "list") == ottla.objects("group", "list") == []


def test_a_wrong_password_is_one_line(secured: SecuredBroker, tmp_path: Path) -> None:
    ottla = ottla_of(secured, tmp_path, SASL_SSL, PLAIN, password="no")
    ottla("topic", "list", code=2)
    assert ottla.said.count("\n") == 1 and "ottla serve" not in ottla.said
    assert "Invalid username or password" in ottla.said
