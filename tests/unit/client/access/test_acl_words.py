"""What the words of `kafka-acls` mean, and which do not go together."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.start_error import StartError
from client.access.acl_words import (
    ANY,
    MATCH,
    Pattern,
    TypedOptions,
    acl_warnings,
    entries_by_pattern,
    entries_to_add,
    operation_name,
    operation_of,
)
from controller.metadata.acl import ALL, Acl, PatternType, Permission
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource

TOPIC = {Resource.TOPIC: ("orders",)}
ALICE = ("User:alice",)
LITERAL, ALLOW, DENY = PatternType.LITERAL, Permission.ALLOW, Permission.DENY


def operations(acls: list[Acl]) -> set[tuple[int, str, int]]:
    return {(one.resource, one.name, one.operation) for one in acls}


def test_one_entry() -> None:
    words = TypedOptions(TOPIC, allow_principals=ALICE, operations=("read",))
    assert entries_to_add(words) == [
        Acl(Resource.TOPIC, "orders", LITERAL, "User:alice", "*", Operation.READ, ALLOW)
    ]


def test_all_is_the_operation_that_is_not_named() -> None:
    (acl,) = entries_to_add(
        TypedOptions(TOPIC, deny_principals=("User:*",), deny_hosts=("10.0.0.1",))
    )
    assert (acl.operation, acl.permission, acl.host) == (ALL, DENY, "10.0.0.1")


def test_everything_is_combined() -> None:
    words = TypedOptions(
        {Resource.TOPIC: ("a", "b"), Resource.GROUP: ("g",)},
        "prefixed",
        allow_principals=("User:x", "User:y"),
        deny_principals=("User:z",),
        allow_hosts=("1.1.1.1", "2.2.2.2"),
        operations=("Read", "Describe"),
    )
    acls = entries_to_add(words)
    assert len(acls) == len(set(acls)) == 3 * (2 * 2 + 1) * 2
    assert {one.pattern for one in acls} == {PatternType.PREFIXED}
    assert {one.host for one in acls if one.permission == DENY} == {"*"}


def test_a_producer_and_a_consumer() -> None:
    transactional = {Resource.TRANSACTIONAL_ID: ("tx",)}
    producer = TypedOptions({**TOPIC, **transactional}, allow_principals=ALICE, producer=True)
    assert operations(entries_to_add(producer)) == {
        *((Resource.TOPIC, "orders", one) for one in (4, 5, 8)),
        *((Resource.TRANSACTIONAL_ID, "tx", one) for one in (4, 8)),
    }
    group = {Resource.GROUP: ("g",)}
    consumer = TypedOptions({**TOPIC, **group}, allow_principals=ALICE, consumer=True)
    assert operations(entries_to_add(consumer)) == {
        *((Resource.TOPIC, "orders", one) for one in (3, 8)),
        (Resource.GROUP, "g", 3),
    }
    both = TypedOptions({**TOPIC, **group}, allow_principals=ALICE, producer=True, consumer=True)
    assert len(entries_to_add(both)) == 5


def test_an_idempotent_producer() -> None:
    words = TypedOptions(TOPIC, "prefixed", allow_principals=ALICE, producer=True, idempotent=True)
    assert Acl(
        Resource.CLUSTER,
        CLUSTER_NAME,
        LITERAL,
        "User:alice",
        "*",
        Operation.IDEMPOTENT_WRITE,
        ALLOW,
    ) in entries_to_add(words)


def test_to_delete_no_principal_has_to_be_named() -> None:
    assert entries_by_pattern(TypedOptions(TOPIC, "match")) == {Pattern(2, "orders", MATCH): []}
    assert entries_by_pattern(TypedOptions(TOPIC, "any")) == {Pattern(2, "orders", ANY): []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"resources": {}}, "name what the ACLs are about: --topic, "),
        ({"allow_principals": ()}, "--allow-principal or --deny-principal"),
        ({"allow_principals": ("alice",)}, "write it as User:alice"),
        ({"allow_principals": ("User:",)}, "principal User:"),
        ({"pattern": "match"}, "literal or prefixed"),
        ({"deny_hosts": ("h",)}, "--deny-host goes with --deny-principal"),
        ({"operations": ("Fly",)}, "--operation Fly is none: All, Read, Write"),
        ({"operations": ("ClusterAction",)}, "ClusterAction means nothing for --topic: Read"),
        ({"idempotent": True}, "--idempotent goes with --producer"),
        ({"producer": True, "operations": ("Read",)}, "leave out --operation"),
        ({"producer": True, "resources": {Resource.GROUP: ("g",)}}, "--producer needs a --topic"),
        ({"consumer": True}, "--consumer needs a --group"),
        (
            {"producer": True, "resources": {**TOPIC, Resource.GROUP: ("g",)}},
            "--producer says nothing about --group",
        ),
    ],
)
def test_words_that_do_not_fit(words: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"resources": TOPIC, "allow_principals": ALICE, **words}
    with pytest.raises(StartError) as caught:
        entries_to_add(TypedOptions(**given))
    assert said in str(caught.value)


@pytest.mark.parametrize("word", ["DescribeConfigs", "describe_configs", "DESCRIBE-CONFIGS"])
def test_an_operation_in_any_spelling(word: str) -> None:
    assert operation_of(word) == Operation.DESCRIBE_CONFIGS


def test_names_of_operations() -> None:
    assert [operation_name(one) for one in (2, 3, 99)] == ["ALL", "READ", "99"]


def test_what_never_matches_is_told() -> None:
    acl = Acl(2, "t", LITERAL, "user:alice", "10.0.0.0/33", 3, ALLOW)
    assert len(acl_warnings([acl, acl])) == 2
    alice = acl._replace(principal="User:alice")
    for host in ("*", "10.1.2.3", "::1", "0:0:0:0:0:0:0:1", "[::1]", "fe80::1", "fe80::1%2",
                 "10.0.0.0/8", "10.1.2.3/8", "::1/128", "fe80::%2/10"):  # fmt: skip
        assert acl_warnings([alice._replace(host=host)]) == []
    for host in ("h.example", "010.1.2.3", "10.1.2.3%2", "10.0.0.0/33", "::/129", "fe80::%eth0/10"):
        (line,) = acl_warnings([alice._replace(host=host)])
        assert line.startswith(f"host {host} never matches: ACLs know addresses and ranges")


@pytest.mark.parametrize(
    ("resource", "name", "pattern", "said"),
    [
        (2, "*", "prefixed", "topic * as a prefix is no wildcard: every topic is * with the"),
        (3, "*", "prefixed", "group * as a prefix is no wildcard: every group is * with the"),
        (
            2,
            "team.*",
            "prefixed",
            "topic team.* as a prefix is names that begin so, with the *: te",
        ),
        (
            5,
            "team.*",
            "literal",
            "transactional id team.* is the name itself, with the *: all that",
        ),
        (2, "a b", "literal", "topic a b never matches: no topic can be called so"),
        (2, "a/", "prefixed", "topic a/ never matches: no topic can be called so"),
        (2, ".", "literal", "topic . never matches: no topic can be called so"),
        (2, "*", "literal", None),
        (2, ".", "prefixed", None),
        (2, "a" * 249, "prefixed", None),
        (3, "a b", "literal", None),
        (4, CLUSTER_NAME, "literal", None),
    ],
)
def test_names_that_match_less_than_it_seems(
    resource: int, name: str, pattern: str, said: str | None
) -> None:
    words = TypedOptions({Resource(resource): (name,)}, pattern, ALICE, operations=("Describe",))
    lines = acl_warnings(entries_to_add(words))
    assert len(lines) == (said is not None)
    assert all(line.startswith(said or "") for line in lines)


def test_a_wildcard_within_a_user_s_name_is_none() -> None:
    (line,) = acl_warnings([Acl(2, "t", LITERAL, "User:team*", "*", 3, ALLOW)])
    assert line == "User:team* is the user of that very name: * alone is everybody"
    assert acl_warnings([Acl(2, "t", LITERAL, "User:*", "*", 3, ALLOW)]) == []


def test_an_interfaces_name_allows_nobody_and_denies() -> None:
    allowing = Acl(2, "t", LITERAL, "User:alice", "fe80::1%eth0", 3, ALLOW)
    (line,) = acl_warnings([allowing])
    assert line == (
        "host fe80::1%eth0 never matches: its zone is the number of the broker's interface, as in "
        "fe80:0:0:0:0:0:0:1%2; without a zone it stands for all of them"
    )
    assert acl_warnings([allowing._replace(permission=Permission.DENY)]) == []
