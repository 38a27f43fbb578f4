"""Random sets of ACLs, and questions about them: few names, so that entries meet each other.

Owns what is drawn; the same seed gives the same. Never judges.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from tests.authorization.reference import ALL, DENY, PREFIXED, Entry

LITERAL, ALLOW = 3, 3
NAMES = ("a", "ab", "abc", "b", "*", "A")
PREFIXES = ("a", "ab", "b", "*", "abc", "abcd")
PRINCIPALS = ("User:alice", "User:bob")
SUPER_USER = "User:root"
HOSTS = ("127.0.0.1", "127.0.0.2")
HOSTS_OF_RANGES = (*HOSTS, "127.0.3.255", "0:0:0:0:0:0:0:1")
"""Where clients are if ranges matter: most ranges below have some of them, but not all."""
RANGES = (
    "127.0.0.0/8",
    "127.0.0.0/31",
    "127.0.0.9/30",
    "127.0.0.2/32",
    "127.0.1.0/22",
    "127.0.3.0/24",
    "127.0.0.0/23",
    "200.0.0.1/0",
    "10.0.0.0/8",
    "::/0",
    "::2/126",
    "::2/127",
    "1::/1",
    "::1/128",
)
WITH_RANGES = (*["*"] * 8, *HOSTS_OF_RANGES, *RANGES, "::/0", "127.0.0.0/8")
"""The hosts of entries if ranges matter."""
OPERATIONS = tuple(int(one) for one in Operation)
# What says nothing about the others: nobody is allowed all that a prefix of one operation has.
_NOT_IMPLIED = tuple(
    one for one in OPERATIONS if one not in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
)


@dataclass(frozen=True)
class Question:
    """`name` None: is there one for which it is allowed?"""

    who: str
    host: str
    operation: int
    resource: int
    name: str | None


@dataclass(frozen=True)
class Case:
    """One set and what is asked about it."""

    entries: tuple[Entry, ...]
    everyone: bool
    questions: tuple[Question, ...]


def entry(chance: random.Random, resources: tuple[int, ...], hosts: tuple[str, ...] = ()) -> Entry:
    """Draw an ACL that may apply to the questions. Its host is one of `hosts`; by default one of
    `HOSTS`, or sometimes a host that is like one of them."""
    resource = chance.choice(resources)
    pattern = PREFIXED if chance.random() < 0.4 else LITERAL
    name = chance.choice(PREFIXES if pattern == PREFIXED else NAMES)
    if resource == Resource.CLUSTER:
        name = CLUSTER_NAME
    strangers = ("user:alice", "Group:alice", "User:alic", "User:alice2")
    principal = chance.choice(
        ("User:alice", "User:alice", "User:alice", "User:*", "User:bob", chance.choice(strangers))
    )
    others = ("127.0.0.0/8", "localhost", "127.0.0.11")
    host = chance.choice(hosts or ("*", "*", "*", *HOSTS, chance.choice(others)))
    operation = ALL if chance.random() < 0.2 else chance.choice(OPERATIONS)
    permission = DENY if chance.random() < 0.35 else ALLOW
    return (int(resource), name, pattern, principal, host, int(operation), permission)


def case(chance: random.Random, questions: int = 6) -> Case:
    """A set about one or two types of resource, some of its entries about one operation. Every
    second one has ranges of addresses."""
    resources = tuple(int(one) for one in chance.sample(list(Resource), chance.choice((1, 1, 2))))
    favourite = chance.choice((*OPERATIONS, Operation.DESCRIBE, Operation.DESCRIBE))
    hosts = chance.choice(((), WITH_RANGES))
    count = chance.choice((0, 1, 2, 3, 4, 6, 10))
    entries = [entry(chance, resources, hosts) for _ in range(count)]
    entries = [
        (*one[:5], int(favourite), one[6]) if chance.random() < 0.3 else one for one in entries
    ]
    asked = [_question(chance, resources, int(favourite)) for _ in range(questions)]
    return Case(tuple(entries), chance.random() < 0.3, tuple(asked))


def _question(chance: random.Random, resources: tuple[int, ...], favourite: int) -> Question:
    resource = chance.choice(resources)
    who = SUPER_USER if chance.random() < 0.03 else chance.choice(PRINCIPALS[:1] * 3 + PRINCIPALS)
    host = chance.choice((*HOSTS, *HOSTS_OF_RANGES))
    operation = favourite if chance.random() < 0.6 else chance.choice(OPERATIONS)
    if chance.random() < 0.25:
        operation = operation if operation in _NOT_IMPLIED else int(Operation.WRITE)
        return Question(who, host, operation, resource, None)
    name = CLUSTER_NAME if resource == Resource.CLUSTER else chance.choice((*NAMES, "abcde", "z"))
    return Question(who, host, operation, resource, name)
