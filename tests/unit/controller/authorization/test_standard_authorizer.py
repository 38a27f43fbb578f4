"""The rules of ACLs, one by one; `tests/authorization/` has them beside a reference and Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import ALL, Acl, AclsImage, PatternType, Permission
from ottla.plugins.authorizer import Action, Asker, Operation, Resource

ALLOW, DENY = Permission.ALLOW, Permission.DENY
UNKNOWN: Any = 0
"""A permission that this release does not know: Kafka takes it for one that denies."""
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE


def acl(
    permission: Permission = ALLOW,
    operation: int = READ,
    name: str = "orders",
    pattern: PatternType = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> Acl:
    return Acl(Resource.TOPIC, name, pattern, principal, host, operation, permission)


def judge(*acls: Acl, default: bool = False) -> StandardAuthorizer:
    image = AclsImage().changed({bytes([at]): one for at, one in enumerate(acls)})
    return StandardAuthorizer(lambda: image, ["User:root"], default)


def asker(principal: str = "User:alice", host: str = "10.0.0.7") -> Asker:
    return Asker(principal, host, "CLIENTS", "SASL_SSL", None, 0, 0)


def may(
    judged: StandardAuthorizer, operation: Operation = READ, name: str = "orders", **who: str
) -> bool:
    return judged.judge(asker(**who), Action(operation, Resource.TOPIC, name)).allowed


@pytest.mark.parametrize(
    ("acls", "allowed"),
    [
        ([], False),
        ([acl()], True),
        ([acl(operation=ALL)], True),
        ([acl(operation=WRITE)], False),
        ([acl(name="*")], True),
        ([acl(name="ord", pattern=PREFIXED)], True),
        ([acl(name="*", pattern=PREFIXED)], False),
        ([acl(name="ord")], False),
        ([acl(principal="User:*")], True),
        ([acl(principal="user:alice")], False),
        ([acl(principal="User:alice2")], False),
        ([acl(host="10.0.0.7")], True),
        ([acl(host="10.0.0.0/8")], True),
        ([acl(host="10.9.9.9/8")], True),
        ([acl(host="10.0.0.0/29")], True),
        ([acl(host="10.0.0.8/29")], False),
        ([acl(host="10.0.0.0/33")], False),
        ([acl(host="10.0.0/8")], False),
        ([acl(host="::/0")], False),
        ([acl(host="10.0.0.0/8", operation=WRITE)], False),
        ([acl(host="10.0.0.0/8", principal="User:bob")], False),
        ([acl(), acl(DENY, host="10.0.0.0/8")], False),
        ([acl(), acl(DENY, host="11.0.0.0/8")], True),
        ([acl(host="10.0.0.7"), acl(DENY, host="10.0.0.7/32")], False),
        ([acl(host="10.0.0.0/8"), acl(DENY, host="10.0.0.8")], True),
        ([acl(), acl(DENY)], False),
        ([acl(), acl(DENY, ALL, "*", principal="User:*")], False),
        ([acl(), acl(DENY, host="10.0.0.8")], True),
        ([acl(), acl(DENY, WRITE)], True),
        ([acl(), acl(DENY, principal="User:bob")], True),
        ([acl(UNKNOWN)], False),
        ([acl(), acl(UNKNOWN)], False),
    ],
)
def test_an_entry_matches_or_does_not(acls: list[Acl], allowed: bool) -> None:
    assert may(judge(*acls)) is allowed
    assert may(judge(*reversed(acls))) is allowed
    assert may(judge(*acls), principal="User:root")


LOOPBACK, LINK_LOCAL = "0:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1%2"


@pytest.mark.parametrize(
    ("written", "there", "allows", "denies"),
    [
        (LOOPBACK, LOOPBACK, True, True),
        ("::1", LOOPBACK, True, True),
        ("0::0001", LOOPBACK, True, True),
        ("[::1]", LOOPBACK, True, True),
        ("::2", LOOPBACK, False, False),
        ("::1/128", LOOPBACK, True, True),
        ("0:0::00002/126", LOOPBACK, True, True),
        ("::2/128", LOOPBACK, False, False),
        ("::1/129", LOOPBACK, False, False),
        ("0.0.0.0/0", LOOPBACK, False, False),
        ("::/0", "10.0.0.7", False, False),
        ("::ffff:10.0.0.0/104", "10.0.0.7", False, False),
        ("fe80::/10", LINK_LOCAL, True, True),
        ("fe80::%3/10", LINK_LOCAL, True, True),
        ("fe80::%3/10", "fe80:0:0:0:0:0:0:1", True, True),
        ("::ffff:10.0.0.7", "10.0.0.7", True, True),
        ("0:0:0:0:0:FFFF:A00:7", "10.0.0.7", True, True),
        ("010.0.0.7", "10.0.0.7", False, False),
        (LINK_LOCAL, LINK_LOCAL, True, True),
        ("FE80::1%2", LINK_LOCAL, True, True),
        ("fe80::1", LINK_LOCAL, True, True),
        ("fe80::1%3", LINK_LOCAL, False, True),
        ("fe80::1%eth0", LINK_LOCAL, False, True),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1", False, True),
        ("fe80::2", LINK_LOCAL, False, False),
    ],
)
def test_a_host_is_an_address_not_a_text(
    written: str, there: str, allows: bool, denies: bool
) -> None:
    allowing, denying = judge(acl(host=written)), judge(acl(), acl(DENY, host=written))
    assert may(allowing, host=there) is allows
    assert may(denying, host=there) is not denies
    who = asker(host=there)
    assert allowing.judge_any(who, READ, Resource.TOPIC).allowed is allows
    assert denying.judge_any(who, READ, Resource.TOPIC).allowed is not denies


@pytest.mark.parametrize("operation", [READ, WRITE, Operation.DELETE, Operation.ALTER, DESCRIBE])
def test_what_allows_more_allows_to_describe(operation: Operation) -> None:
    assert may(judge(acl(operation=operation)), DESCRIBE)
    assert not may(judge(acl(operation=operation)), Operation.DESCRIBE_CONFIGS)
    assert may(judge(acl(DENY, operation), acl(operation=DESCRIBE)), DESCRIBE) is (
        operation != DESCRIBE
    )


def test_who_alters_configs_describes_them() -> None:
    judged = judge(acl(operation=Operation.ALTER_CONFIGS))
    assert may(judged, Operation.DESCRIBE_CONFIGS) and not may(judged, DESCRIBE)


def test_what_nobody_speaks_about_is_allowed_where_that_is_set() -> None:
    others = acl(principal="User:bob")
    assert may(judge(default=True)) and not may(judge(others, default=True))
    assert not may(judge(acl(DENY, WRITE), default=True))
    assert may(judge(others, default=True), name="payments")


def test_before_there_are_acls_only_super_users_pass() -> None:
    judged = StandardAuthorizer(lambda: None, ["User:root"], True)
    assert not may(judged) and may(judged, principal="User:root")


def test_the_verdict_names_its_rule() -> None:
    action = Action(READ, Resource.TOPIC, "orders")
    denying = acl(DENY)
    assert judge(acl(), denying).judge(asker(), action).rule == denying
    assert str(judge().judge(asker(), action).rule) == "DefaultDeny"
    assert str(judge().judge(asker("User:root"), action).rule) == "SuperUser"


@pytest.mark.parametrize(
    ("acls", "some"),
    [
        ([], False),
        ([acl(operation=WRITE)], True),
        ([acl(operation=WRITE, name="a", pattern=PREFIXED)], True),
        ([acl(operation=READ)], False),
        ([acl(operation=WRITE), acl(DENY, WRITE)], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "ord", PREFIXED)], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "*")], False),
        ([acl(operation=WRITE, name="*"), acl(DENY, WRITE, "ord", PREFIXED)], True),
        ([acl(operation=WRITE, name="o", pattern=PREFIXED), acl(DENY, WRITE)], True),
        ([acl(operation=WRITE), acl(DENY, WRITE, principal="User:bob")], True),
        ([acl(operation=WRITE, host="10.0.0.0/8")], True),
        ([acl(operation=WRITE, host="11.0.0.0/8")], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "*", host="10.0.0.0/8")], False),
        ([acl(operation=WRITE), acl(DENY, WRITE, "*", host="11.0.0.0/8")], True),
    ],
)
def test_whether_there_is_a_topic_to_write_to(acls: list[Acl], some: bool) -> None:
    verdict = judge(*acls).judge_any(asker(), WRITE, Resource.TOPIC)
    assert verdict.allowed is some
    assert judge().judge_any(asker("User:root"), WRITE, Resource.TOPIC).allowed
