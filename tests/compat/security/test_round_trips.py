"""The Python clients over TLS and SASL: transactions, and a group that reads them.

Each client comes by each protocol and by each mechanism at least once, and each pair of protocol
and mechanism is some client's:

    client            SSL   SASL_SSL                       SASL_PLAINTEXT
    confluent-kafka   mTLS  PLAIN, SCRAM-SHA-512           SCRAM-SHA-256, OAUTHBEARER
    kafka-python      mTLS  SCRAM-SHA-256, OAUTHBEARER     PLAIN, SCRAM-SHA-512
    aiokafka          mTLS  PLAIN, OAUTHBEARER             SCRAM-SHA-256, SCRAM-SHA-512

Java, franz-go, Spark and Kafka's tools have theirs in the files beside this one.
"""

from __future__ import annotations

import uuid

import pytest

from tests.compat.security.python_round_trips import ABORTED, ROUND_TRIPS
from tests.compat.security.secured_broker import ALL, SecuredBroker
from tests.compat.security.ways import (
    OAUTHBEARER,
    PLAIN,
    SASL_PLAINTEXT,
    SASL_SSL,
    SHA_256,
    SHA_512,
    SSL,
)

PAIRS = {
    "confluent-kafka": (
        (SSL, ""),
        (SASL_SSL, PLAIN),
        (SASL_SSL, SHA_512),
        (SASL_PLAINTEXT, SHA_256),
        (SASL_PLAINTEXT, OAUTHBEARER),
    ),
    "kafka-python": (
        (SSL, ""),
        (SASL_SSL, SHA_256),
        (SASL_SSL, OAUTHBEARER),
        (SASL_PLAINTEXT, PLAIN),
        (SASL_PLAINTEXT, SHA_512),
    ),
    "aiokafka": (
        (SSL, ""),
        (SASL_SSL, PLAIN),
        (SASL_SSL, OAUTHBEARER),
        (SASL_PLAINTEXT, SHA_256),
        (SASL_PLAINTEXT, SHA_512),
    ),
}
VALUES = [b"value %d" % i for i in range(50)]


@pytest.mark.parametrize(
    ("client", "protocol", "mechanism"),
    [(client, *pair) for client, pairs in PAIRS.items() for pair in pairs],
)
def test_a_transaction_and_a_group(
    secured: SecuredBroker, client: str, protocol: str, mechanism: str
) -> None:
    topic = secured.topic(f"round-trip-{uuid.uuid4()}")
    read, begins = ROUND_TRIPS[client](secured.way(protocol, mechanism), topic, VALUES)
    assert read == VALUES
    # Before them lie what was aborted and its marker, behind them the marker of their own.
    assert begins in (len(VALUES) + 2, len(VALUES) + 3)
    assert ABORTED not in read


def test_all_pairs_are_there() -> None:
    every = {(SSL, ""), *((p, m) for p in (SASL_SSL, SASL_PLAINTEXT) for m in ALL)}
    assert {pair for pairs in PAIRS.values() for pair in pairs} == every
    for pairs in PAIRS.values():
        assert {protocol for protocol, _ in pairs} == {SSL, SASL_SSL, SASL_PLAINTEXT}
        assert {mechanism for _, mechanism in pairs} == {"", *ALL}
