"""Forms: what they mean, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from console.access.forms import acl_of, choices, password_of, quota_of, user_of
from console.endpoints import BadAsk
from controller.metadata.acl import Acl, PatternType, Permission
from controller.metadata.scram_credential import ScramMechanism
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from tests.unit.console.access.acl_sample import ACL
from tests.unit.console.one_console import plain


def test_an_acl() -> None:
    assert acl_of(ACL) == Acl(
        Resource.TOPIC,
        "orders",
        PatternType.PREFIXED,
        "User:alice",
        "*",
        Operation.READ,
        Permission.ALLOW,
    )


def test_the_cluster_has_one_name() -> None:
    found = acl_of(ACL | {"resource": "CLUSTER", "operation": "DESCRIBE", "name": ""})
    assert found.name == CLUSTER_NAME


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"principal": "alice"}, "User:NAME"),
        ({"principal": "User:"}, "User:NAME"),
        ({"name": ""}, "name of the topic"),
        ({"operation": "IDEMPOTENT_WRITE"}, "does not apply to TOPIC"),
        ({"operation": "FLY"}, "choose an operation"),
        ({"resource": "MOON"}, "resource must be one of"),
        ({"permission": None}, "permission must be one of"),
    ],
)
def test_an_acl_that_makes_no_sense(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadAsk, match=said):
        acl_of(ACL | change)


def test_every_choice_is_taken() -> None:
    operations: Any = plain(choices())["operations"]
    for resource, names in operations.items():
        for name in names:
            acl_of(ACL | {"resource": resource, "operation": name, "name": "x"})


def test_a_password() -> None:
    body = {"user": "alice", "mechanism": "SCRAM-SHA-256", "password": "secret", "iterations": 5000}
    assert password_of(body) == ("alice", ScramMechanism.SCRAM_SHA_256, 5000, "secret")
    assert user_of(body) == ("alice", ScramMechanism.SCRAM_SHA_256)
    for change in ({"user": ""}, {"password": ""}, {"iterations": 1}, {"mechanism": "PLAIN"}):
        with pytest.raises(BadAsk):
            password_of(body | change)


def test_quotas() -> None:
    body = {"user": "alice", "client-id": None, "set": {"producer_byte_rate": "10MB"}}
    assert quota_of(body) == ((("user", "alice"),), {"producer_byte_rate": 10_000_000.0}, [])
    for change in ({"user": None}, {"set": {}}, {"set": {"producer_byte_rate": "much"}}):
        with pytest.raises(BadAsk) as refused:
            quota_of(body | change)
        assert "--" not in str(refused.value)


@pytest.mark.parametrize("body", [None, [], "text", 1])
def test_what_is_no_form(body: Any) -> None:
    for read in (acl_of, password_of, user_of, quota_of):
        with pytest.raises(BadAsk):
            read(body)
