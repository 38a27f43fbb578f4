"""What AlterClientQuotas answers and does: requests with the answers that Apache Kafka gave.

`python -m tests.golden.quota_alteration_cases` records `quota_alteration_answers_kafka.json`
anew from a real broker; `tests/unit/broker/apis/test_quota_requests_kafka.py` gives the
same requests to Ottla. They build on each other: order matters, and each is followed by a
DescribeClientQuotas of everything.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

from protocol.errors import ProtocolError
from protocol.message import as_dict
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from tests.golden.controller_cases import ask
from tests.golden.quota_cases import comparable as comparable_description
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "quota_alteration_answers_kafka.json"
EVERYTHING = DescribeClientQuotasRequest([], False)
CLOSED = "closed"

Entity = list[tuple[str, str | None]]
Op = tuple[str, float | None]
"""A key and its value; None removes it."""
Case = tuple[str, AlterClientQuotasRequest, int]

KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)
ALICE: Entity = [("user", "alice")]
C1: Entity = [("client-id", "c1")]
BOTH: Entity = [("user", "alice"), ("client-id", "c1")]
IP: Entity = [("ip", "10.0.0.1")]
VALUES = (
    0.0, -0.0, -1.0, 0.5, 1.0, 1.5, 1e-7, 1e-6, 1.0000001, 1.00001, 2.0**31 - 1, 2.0**31, 2.0**32,
    2.0**53, 9.3e18, 2.0**63, 1e300, 5e-324, inf, -inf, nan, 100.0, 99.9999999, 1e-3,
)  # fmt: skip


def entry(entity: Entity, *ops: Op) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        [AlterClientQuotasRequestEntityData(*part) for part in entity],
        [OpData(key, 0.0 if value is None else value, value is None) for key, value in ops],
    )


def alter(
    *entries: AlterClientQuotasRequestEntryData, validate_only: bool = False
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(list(entries), validate_only)


def _entities() -> Iterator[tuple[str, Entity]]:
    yield "nobody", []
    for kind in ("user", "client-id", "ip"):
        for name in ("x", "", None, "<default>", "a b/ž", "10.0.0.7", "localhost", "no.such.host."):
            yield f"{kind} {name!r}", [(kind, name)]
    yield "ip6", [("ip", "::1")]
    yield "ip6 long", [("ip", "0:0:0:0:0:0:0:1")]
    yield "ip with a net", [("ip", "10.0.0.0/8")]
    yield "ip short", [("ip", "10.1")]
    yield "a group", [("group", "g")]
    yield "no type", [("", "g")]
    yield "a type in capitals", [("User", "g")]
    yield "a user and a group", [("user", "u"), ("group", "g")]
    yield "user and ip", [("user", "u"), ("ip", "10.0.0.1")]
    yield "client and ip", [("client-id", "u"), ("ip", "10.0.0.1")]
    yield "all three", [("user", "u"), ("client-id", "c"), ("ip", "10.0.0.1")]
    yield "user twice", [("user", "u"), ("user", "v")]
    yield "the same user twice", [("user", "u"), ("user", "u")]
    yield "client first", [("client-id", "c"), ("user", "u")]
    yield "empty client of a user", [("user", "u"), ("client-id", "")]
    yield "default user, empty client", [("user", None), ("client-id", "")]
    yield "both defaults", [("user", None), ("client-id", None)]
    yield "long name", [("user", "u" * 1000)]


def _listed() -> Iterator[Case]:
    yield "nothing", alter(), 1
    yield "nothing v0", alter(), 0
    yield "no keys", alter(entry(ALICE)), 1
    for name, entity in _entities():
        key = KEYS[4] if entity and entity[0][0] == "ip" else KEYS[0]
        yield f"set of {name}", alter(entry(entity, (key, 1000.0))), 1
        yield f"removal of {name}", alter(entry(entity, (key, None))), 0
    for kind, entity in (("user", ALICE), ("client", C1), ("both", BOTH), ("ip", IP)):
        for key in (*KEYS, "nonsense", "", "SCRAM-SHA-256", "Producer_byte_rate"):
            yield f"{key!r} of {kind}", alter(entry(entity, (key, 7.0))), 1
            yield f"{key!r} of {kind} removed", alter(entry(entity, (key, None))), 1
    for key in KEYS:
        entity = IP if key == KEYS[4] else ALICE
        for value in VALUES:
            yield f"{key} {value!r}", alter(entry(entity, (key, value))), 1
    yield "alice clean", alter(entry(ALICE, *((key, None) for key in KEYS[:4]))), 1
    two = entry(ALICE, (KEYS[0], 1.0), (KEYS[1], 2.0))
    yield "two keys", alter(two), 1
    yield "the same again", alter(two), 1
    yield "one set, one removed", alter(entry(ALICE, (KEYS[0], None), (KEYS[1], 3.0))), 1
    yield "key twice", alter(entry(ALICE, (KEYS[0], 1.0), (KEYS[0], 2.0))), 1
    yield "key set and removed", alter(entry(ALICE, (KEYS[0], 1.0), (KEYS[0], None))), 1
    yield "right and wrong key", alter(entry(ALICE, (KEYS[0], 5.0), ("nonsense", 2.0))), 1
    yield "wrong and right key", alter(entry(ALICE, ("nonsense", 2.0), (KEYS[0], 6.0))), 1
    yield "wrong key removed", alter(entry(ALICE, ("nonsense", None), (KEYS[0], 8.0))), 1
    one, other = entry(ALICE, (KEYS[0], 11.0)), entry(ALICE, (KEYS[1], 12.0))
    yield "entity twice", alter(one, other), 1
    yield "entity twice in another order", alter(entry(BOTH, (KEYS[0], 1.0)), entry(BOTH[::-1], (KEYS[0], 2.0))), 1  # noqa: E501  # fmt: skip
    yield "wrong and right entity", alter(entry([("group", "g")], (KEYS[0], 1.0)), one), 1
    yield "right and wrong entity", alter(entry(C1, (KEYS[0], 13.0)), entry(ALICE, ("x", 1.0))), 1
    yield "validated only", alter(entry(C1, (KEYS[0], 14.0)), validate_only=True), 1
    wrong = entry(C1, (KEYS[0], -1.0))
    yield "validated only, wrong", alter(wrong, validate_only=True), 1
    yield "validated only, removed", alter(entry(C1, (KEYS[0], None)), validate_only=True), 0


def _random() -> Iterator[Case]:
    rng = random.Random(49)
    names: tuple[str | None, ...] = ("a", "b", None)
    for i in range(160):
        entries: dict[str, AlterClientQuotasRequestEntryData] = {}
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            form = rng.randrange(7)
            entity: Entity = [("ip", rng.choice(("10.0.0.2", "10.0.0.3", None)))]
            if form < 6:
                kinds = (("user",), ("client-id",), ("user", "client-id"))[form % 3]
                entity = [(kind, rng.choice(names)) for kind in kinds]
            keys = KEYS[4:] if form == 6 else rng.sample(KEYS[:4], rng.choice((1, 1, 2, 4)))
            ops = [
                (key, None if rng.random() < 0.4 else 1000.0 * rng.randrange(1, 9)) for key in keys
            ]
            entries.setdefault(repr(sorted(entity, key=str)), entry(entity, *ops))
        request = alter(*entries.values(), validate_only=rng.random() < 0.1)
        yield f"random {i}", request, rng.choice((0, 1))


def cases() -> list[Case]:
    """(name, request, version) in their order."""
    return [*_listed(), *_random()]


def comparable(answer: Any) -> Any:
    """As plain values, lists in an order of their own: Kafka's follows a hash map."""
    plain = as_dict(answer)
    for one in plain["entries"]:
        one["entity"].sort(key=lambda part: json.dumps(part, sort_keys=True))
    plain["entries"].sort(key=lambda one: json.dumps(one, sort_keys=True))
    return plain


def after(answer: Any) -> Any:
    """What is set then, short: entities with their values."""
    return [
        [
            [[part["entity_type"], part["entity_name"]] for part in one["entity"]],
            [[value["key"], value["value"]] for value in one["values"]],
        ]
        for one in comparable_description(answer)["entries"]
    ]


def _asked(port: int, request: AlterClientQuotasRequest, version: int) -> Any:
    try:
        return comparable(ask(port, request, version))
    except (OSError, ProtocolError):
        return CLOSED


def record() -> None:
    """Ask a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    answers: dict[str, Any] = {}
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        before = None
        for name, request, version in cases():
            assert name not in answers, name
            answer = _asked(kafka.port, request, version)
            time.sleep(0.3)  # until the broker has replayed it, on a busy machine too
            told = after(ask(kafka.port, EVERYTHING, 1))
            answers[name] = [answer, None if told == before else told]
            before = told
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
