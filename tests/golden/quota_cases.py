"""What DescribeClientQuotas tells: requests with their answers as Apache Kafka gave them.

`python -m tests.golden.quota_cases` records `quota_answers_kafka.json` anew from a real
broker, where `QUOTAS` were set before; `tests/unit/broker/apis/test_describe_client_quotas.py`
gives the same requests to Ottla, whose image has the records of these quotas.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Any

from protocol.message import as_dict
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.golden.controller_cases import ask
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "quota_answers_kafka.json"

QUOTAS: tuple[tuple[dict[str, str | None], dict[str, float]], ...] = (
    ({"user": "alice"}, {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0}),
    ({"user": "alice", "client-id": "c1"}, {"producer_byte_rate": 3000.0}),
    ({"user": "alice", "client-id": None}, {"request_percentage": 12.5}),
    ({"user": None}, {"controller_mutation_rate": 0.5}),
    ({"user": None, "client-id": "c1"}, {"producer_byte_rate": 4000.0}),
    ({"client-id": "c1"}, {"consumer_byte_rate": 5000.0}),
    ({"client-id": None}, {"consumer_byte_rate": 6000.0}),
    ({"ip": "127.0.0.9"}, {"connection_creation_rate": 7.0}),
    ({"ip": None}, {"connection_creation_rate": 8.0}),
)
EXACT, DEFAULT, ANY = 0, 1, 2

Part = tuple[str, int, str | None]


def _request(parts: tuple[Part, ...], strict: bool) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest([ComponentData(*part) for part in parts], strict)


def cases() -> dict[str, DescribeClientQuotasRequest]:
    """By a name that tells the request."""
    users: list[Part] = [
        ("user", EXACT, "alice"),
        ("user", EXACT, "nobody"),
        ("user", DEFAULT, None),
        ("user", ANY, None),
    ]
    clients: list[Part] = [(
        "client-id", EXACT, "c1"), ("client-id", DEFAULT, None), ("client-id", ANY, None),
    ]  # fmt: skip
    others: list[Part] = [
        ("ip", EXACT, "127.0.0.9"),
        ("ip", DEFAULT, None),
        ("ip", ANY, None),
        ("", ANY, None),
        ("group", ANY, None),
        ("user", 3, None),
        ("user", -1, None),
        ("user", EXACT, None),
        ("user", DEFAULT, "alice"),
        ("user", ANY, "alice"),
        ("group", 3, "x"),
    ]
    filters: list[tuple[Part, ...]] = [(), *((one,) for one in (*users, *clients, *others))]
    filters += product(users, clients)
    filters += [
        (users[0], users[2]),
        (users[0], users[0]),
        (users[0], others[0]),
        (others[2], clients[2]),
        (users[0], clients[0], others[2]),
        (users[0], others[4]),
        (others[4], others[5]),
    ]
    return {
        f"{'strict' if strict else 'loose'} {list(map(list, parts))}": _request(parts, strict)
        for strict in (False, True)
        for parts in filters
    }


def comparable(answer: Any) -> Any:
    """As plain values, lists in an order of their own: Kafka's follows a hash map."""
    plain = as_dict(answer)
    for entry in plain["entries"] or []:
        for parts in entry.values():
            parts.sort(key=lambda part: json.dumps(part, sort_keys=True))
    (plain["entries"] or []).sort(key=lambda entry: json.dumps(entry, sort_keys=True))
    return plain


def record() -> None:
    """Ask a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    entries = [
        AlterClientQuotasRequestEntryData(
            [AlterClientQuotasRequestEntityData(kind, name) for kind, name in entity.items()],
            [OpData(key, value, False) for key, value in values.items()],
        )
        for entity, values in QUOTAS
    ]
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        altered = ask(kafka.port, AlterClientQuotasRequest(entries, False), 1)
        assert [one.error_code for one in altered.entries] == [0] * len(QUOTAS), altered
        everything = DescribeClientQuotasRequest([], False)
        while len(ask(kafka.port, everything, 1).entries) < len(QUOTAS):
            time.sleep(0.05)
        answers = {n: comparable(ask(kafka.port, one, 1)) for n, one in cases().items()}
    write_json(RECORDED, answers, sort_keys=True)


if __name__ == "__main__":
    record()
