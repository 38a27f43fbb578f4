"""What DescribeAcls, CreateAcls and DeleteAcls answer: requests with the answers that Apache Kafka
gave to them.

`python -m tests.golden.acl_cases` records `acl_answers_kafka.json` anew from two real
brokers, one with an authorizer and one without; `tests/unit/controller/requests/
test_acl_requests_kafka.py` gives the same requests to Ottla. They build on each other: order
matters. An answer that is the text `closed` is none: the connection was closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from protocol.errors import ProtocolError
from protocol.message import as_dict
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from tests.golden.controller_cases import ask
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "acl_answers_kafka.json"
CLOSED = "closed"
RESTORED = "restored"
"""What answers alike each time is not kept."""

ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = range(2, 8)
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(2, 9)
TWO_PHASE_COMMIT = 15
DENY, ALLOW = 2, 3

Case = tuple[str, Any, int]
Entry = tuple[int, str | None, int, str | None, str | None, int, int]
"""Type, name, pattern type, principal, host, operation, permission: of an ACL or of a filter."""

ONE: Entry = (TOPIC, "orders", LITERAL, "User:alice", "*", READ, ALLOW)
EVERYTHING: Entry = (ANY, None, ANY, None, None, ANY, ANY)
POPULATION: tuple[Entry, ...] = (
    ONE,
    (TOPIC, "orders", LITERAL, "User:alice", "*", WRITE, ALLOW),
    (TOPIC, "orders", LITERAL, "User:alice", "*", READ, DENY),
    (TOPIC, "orders", LITERAL, "User:bob", "10.0.0.1", READ, ALLOW),
    (TOPIC, "orders", PREFIXED, "User:alice", "*", READ, ALLOW),
    (TOPIC, "ord", PREFIXED, "User:*", "*", DESCRIBE, ALLOW),
    (TOPIC, "ord", LITERAL, "User:alice", "*", ALL, ALLOW),
    (TOPIC, "*", LITERAL, "User:*", "*", ALL, DENY),
    (TOPIC, "*", PREFIXED, "User:carol", "*", READ, ALLOW),
    (TOPIC, "orders-2", LITERAL, "User:alice", "*", READ, ALLOW),
    (TOPIC, "žluťoučký 🐎", LITERAL, "User:Žofie", "*", READ, ALLOW),
    (TOPIC, "žlu", PREFIXED, "User:Žofie", "fe80::1", READ, ALLOW),
    (GROUP, "orders", LITERAL, "User:alice", "*", READ, ALLOW),
    (GROUP, "*", LITERAL, "User:alice", "*", DESCRIBE, ALLOW),
    (CLUSTER, "kafka-cluster", LITERAL, "User:alice", "*", ALTER, ALLOW),
    (CLUSTER, "kafka-cluster", PREFIXED, "User:alice", "*", ALTER, ALLOW),
    (TRANSACTIONAL_ID, "tx", PREFIXED, "User:alice", "*", TWO_PHASE_COMMIT, ALLOW),
    (TOKEN, "token-1", LITERAL, "User:alice", "*", DESCRIBE, ALLOW),
    (USER, "User:bob", LITERAL, "User:alice", "*", 13, ALLOW),
)


def create(*entries: Entry) -> CreateAclsRequest:
    return CreateAclsRequest([AclCreation(*one) for one in entries])  # type: ignore[arg-type]


def delete(*entries: Entry) -> DeleteAclsRequest:
    return DeleteAclsRequest([DeleteAclsFilter(*one) for one in entries])


def describe(entry: Entry = EVERYTHING) -> DescribeAclsRequest:
    return DescribeAclsRequest(*entry)


NETWORKS = (
    *("10.0.0.0/0", "10.1.2.3/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8"),
    *("10.0.0.256/8", "010.0.0.0/08", "10.0.0.0/8/8", "10.0.0.0/8 ", "example.com/24", "/", "*/8"),
    *("::/0", "2001:DB8::1/32", "::1/129", "::1/-1", "::1/", "[::1]/128", "fe80::%1/10"),
    *("::ffff:10.0.0.0/104", "::g/8"),
)
PARTS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")


def but(entry: Entry, **changed: Any) -> Entry:
    """`entry`, with parts that are otherwise."""
    values = dict(zip(PARTS, entry, strict=True)) | changed
    return tuple(values.values())  # type: ignore[return-value]


def _creations() -> Iterator[Case]:
    yield "nothing is there", describe(), 3
    for version in (1, 2, 3):
        yield f"create nothing v{version}", create(), version
        yield f"delete nothing v{version}", delete(), version
    yield "create one v1", create(POPULATION[0]), 1
    yield "create the same", create(POPULATION[0]), 3
    yield "create several v2", create(*POPULATION[1:10]), 2
    yield "create several v3", create(*POPULATION[10:]), 3
    yield "create one twice at once", create(POPULATION[3], POPULATION[3]), 3
    yield "all of them v1", describe(but(EVERYTHING, resource=TOPIC)), 1
    for version in (2, 3):
        yield f"all of them v{version}", describe(), version


def _wrong_creations() -> Iterator[Case]:
    fresh = but(ONE, name="fresh")
    wrong: dict[str, tuple[Any, ...]] = {
        "name": ("",),
        "principal": ("", "alice", ":", "User:", ":alice", "User", "user:alice", "A:b:c", " :  "),
        "host": ("", "example.com", "10.0.0.0/8", "not a host", "ž", *NETWORKS),
        "resource": (0, 1, 8, 100, -1, -128),
        "pattern": (0, 1, 2, 5, 100, -1),
        "operation": (0, 1, 16, 100, -1),
        "permission": (0, 1, 4, 100, -1),
    }
    for part, values in wrong.items():
        for value in values:
            yield f"create with {part} {value!r}", create(but(fresh, **{part: value})), 3
    for name in ("x", "", "*", "Kafka-cluster", "kafka-cluster2"):
        entry = but(fresh, resource=CLUSTER, name=name)
        yield f"create on cluster {name!r}", create(entry), 3
    for operation in range(2, 16):
        for resource in (CLUSTER, USER):
            name = "kafka-cluster" if resource == CLUSTER else "fresh"
            entry = but(fresh, resource=resource, name=name, operation=operation)
            yield f"create {operation} on {resource}", create(entry), 3
    yield "create on a user v1", create(but(fresh, resource=USER, name="User:x")), 1
    yield "create on a user v2", create(but(fresh, resource=USER, name="User:y")), 2
    yield "an illegal topic name", create(but(fresh, name="a b/c\n")), 3
    yield "a long name", create(but(fresh, name="n" * 1000)), 3
    several = (but(fresh, name=""), but(fresh, principal="x"), but(fresh, name="right"))
    yield "right and wrong ones", create(*several), 3
    hosts = (but(fresh, host="", name="no host"), but(fresh, name="right too"))
    yield "one of no host", create(*hosts), 3
    faults = {
        "no name and no colon": but(fresh, name="", principal="x"),
        "cluster and no colon": but(fresh, resource=CLUSTER, principal="x"),
        "operation and no colon": but(fresh, operation=ANY, principal="x"),
        "operation and no name": but(fresh, operation=ANY, name=""),
        "cluster and operation": but(fresh, resource=CLUSTER, operation=ANY),
        "unknown resource and no colon": but(fresh, resource=8, principal="x"),
        "unknown operation and no colon": but(fresh, operation=16, principal="x"),
        "unknown operation and no name": but(fresh, operation=16, name=""),
        "unknown operation and cluster": but(fresh, operation=16, resource=CLUSTER),
        "unknown resource and pattern": but(fresh, resource=8, pattern=5),
        "unknown pattern and operation": but(fresh, pattern=5, operation=16),
        "unknown operation and permission": but(fresh, operation=16, permission=4),
        "no host and no name": but(fresh, host="", name=""),
        "no host and no colon": but(fresh, host="", principal="x"),
        "no host and no principal": but(fresh, host="", principal=""),
        "no host and operation": but(fresh, host="", operation=ANY),
        "no host and unknown operation": but(fresh, host="", operation=16),
        "no host and unknown resource": but(fresh, host="", resource=8),
        "no host and unknown permission": but(fresh, host="", permission=4),
        "no host and pattern": but(fresh, host="", pattern=ANY),
        "no host and permission": but(fresh, host="", permission=ANY),
        "no host and cluster": but(fresh, host="", resource=CLUSTER),
        "any of all": but(fresh, resource=ANY, pattern=ANY, operation=ANY, permission=ANY),
    }
    for name, entry in faults.items():
        yield f"create with {name}", create(entry), 3
    yield "what has been created", describe(), 3


def _filters() -> Iterator[tuple[str, Entry]]:
    names = (None, "orders", "ord", "orders-2", "orders-23", "*", "žluťoučký 🐎", "", "nowhere")
    for pattern, name in product((ANY, MATCH, LITERAL, PREFIXED), names):
        yield f"{pattern} {name!r}", but(EVERYTHING, resource=TOPIC, pattern=pattern, name=name)
        if name in (None, "orders", "*"):
            yield f"any {pattern} {name!r}", but(EVERYTHING, pattern=pattern, name=name)
    for resource in range(1, 8):
        yield f"resource {resource}", but(EVERYTHING, resource=resource)
    for principal in ("User:alice", "User:*", "user:alice", "User:Žofie", "alice", "", "User:"):
        yield f"principal {principal!r}", but(EVERYTHING, principal=principal)
    for host in ("*", "10.0.0.1", "10.0.0.2", ""):
        yield f"host {host!r}", but(EVERYTHING, host=host)
    for operation in range(1, 16):
        yield f"operation {operation}", but(EVERYTHING, operation=operation)
    for permission in (1, 2, 3):
        yield f"permission {permission}", but(EVERYTHING, permission=permission)
    yield "exactly one", ONE
    yield "cluster of another name", but(EVERYTHING, resource=CLUSTER, name="x", pattern=LITERAL)
    for part, values in (
        ("resource", (0, 8, 100, -1)), ("pattern", (0, 5, 100, -1)),
        ("operation", (0, 16, 100, -1)), ("permission", (0, 4, 100, -1)),
    ):  # fmt: skip
        for value in values:
            yield f"{part} {value}", but(EVERYTHING, **{part: value})


def _descriptions() -> Iterator[Case]:
    for name, entry in _filters():
        yield f"describe {name}", describe(entry), 3
    for version in (1, 2):
        for pattern in (ANY, MATCH, LITERAL, PREFIXED):
            entry = but(EVERYTHING, resource=TOPIC, name="orders", pattern=pattern)
            yield f"describe {pattern} v{version}", describe(entry), version
        yield f"describe users v{version}", describe(but(EVERYTHING, resource=USER)), version
        yield f"describe any resource v{version}", describe(), version


def _deletions() -> Iterator[Case]:
    yield "delete with a wrong filter", delete(but(ONE, operation=0), but(ONE, name="nowhere")), 3
    yield "delete with two wrong parts", delete(but(ONE, operation=16, resource=8)), 3
    by_name = but(EVERYTHING, resource=TOPIC, name="orders-2", pattern=LITERAL)
    yield "delete by name", delete(by_name), 3
    yield "delete by name again", delete(by_name), 3
    yield "restore", create(*POPULATION), 3
    carol = but(EVERYTHING, principal="User:carol")
    yield "two filters mean one", delete(carol, but(EVERYTHING, name="*", pattern=PREFIXED)), 3
    yield "two filters mean one: what is left", describe(), 3
    for name, entry in _filters():
        yield f"delete {name}", delete(entry), 3
        yield f"{RESTORED} after delete {name}", create(*POPULATION), 3
    for version in (1, 2):
        for pattern in (ANY, MATCH, LITERAL, PREFIXED):
            entry = but(EVERYTHING, resource=GROUP, name="orders", pattern=pattern)
            yield f"delete {pattern} v{version}", delete(entry), version
            yield f"{RESTORED} after delete {pattern} v{version}", create(*POPULATION), 3
        yield f"delete users v{version}", delete(but(EVERYTHING, resource=USER)), version
    yield "several filters", delete(ONE, but(ONE, name="nowhere"), but(ONE, resource=GROUP)), 3
    yield "what is left", describe(), 3
    yield "delete all", delete(EVERYTHING), 3
    yield "nothing is left", describe(), 3


def cases() -> list[Case]:
    """(name, request, version) in their order, for a broker with an authorizer."""
    return [*_creations(), *_wrong_creations(), *_descriptions(), *_deletions()]


def cases_without_authorizer() -> list[Case]:
    """The same for a broker that judges nothing."""
    wrong = but(ONE, name="")
    return [
        *(
            (f"{name} v{version}", request, version)
            for version in (1, 2, 3)
            for name, request in (
                ("off: create", create(ONE, wrong)),
                ("off: create nothing", create()),
                ("off: delete", delete(ONE, EVERYTHING)),
                ("off: delete nothing", delete()),
                ("off: describe", describe(ONE)),
            )
        ),
        ("off: create wrong", create(but(ONE, principal="x")), 3),
    ]


def cases_of_controller() -> list[Case]:
    """What the controller's own listener is asked, with an authorizer."""
    entry = but(ONE, name="controller")
    return [
        ("controller: create", create(entry), 3),
        ("controller: describe", describe(entry), 3),
        ("controller: delete", delete(entry), 3),
    ]


def cases_of_controller_without_authorizer() -> list[Case]:
    """The same where nothing is judged."""
    return [
        ("controller off: create", create(ONE), 3),
        ("controller off: describe", describe(ONE), 3),
        ("controller off: delete", delete(ONE), 3),
    ]


def comparable(answer: Any) -> Any:
    """The values alone, in the order of their fields; what Kafka tells in the order of a hash map
    is sorted."""
    values = _values(as_dict(answer))
    if isinstance(answer, DescribeAclsResponse):
        for about in values[-1]:
            about[-1].sort()
        values[-1].sort()
    elif isinstance(answer, DeleteAclsResponse):
        for result in values[-1]:
            result[-1].sort()
    return values


def _values(value: Any) -> Any:
    if isinstance(value, dict):
        return [_values(item) for item in value.values()]
    if isinstance(value, list):
        return [_values(item) for item in value]
    return int(value) if isinstance(value, int) else value


def asked(port: int, cases: list[Case]) -> dict[str, Any]:
    """The answers of a broker by the names of the cases; those that only restore are left out."""
    answers: dict[str, Any] = {}
    for name, request, version in cases:
        assert name not in answers, name
        try:
            answer = comparable(ask(port, request, version))
        except (OSError, ProtocolError):
            answer = CLOSED
        if not name.startswith(RESTORED):
            answers[name] = answer
        if not isinstance(request, DescribeAclsRequest):
            time.sleep(0.05)  # until the broker has replayed it
    return answers


def record() -> None:
    """Ask real brokers."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    authorizer = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=authorizer) as kafka:
        answers = asked(kafka.port, cases())
        answers |= asked(kafka.controller_port, cases_of_controller())
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        answers |= asked(kafka.port, cases_without_authorizer())
        off = cases_of_controller_without_authorizer()
        answers |= asked(kafka.controller_port, off)
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
