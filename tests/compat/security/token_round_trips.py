"""Delegation tokens with each client that knows them: made, seen, used, renewed and ended.

A client logs in by password, makes a token that bob may renew, finds it, writes by it with both
mechanisms, is refused a token for a token, renews it, removes it, and is let in by it no more. What
it saw is in the words of `EXPECTED`: `tests/java/src/TokenRoundTrip.java`, `tests/go/franz/
tokens.go`.

confluent-kafka, kafka-python and aiokafka cannot: their SCRAM has no `tokenauth`.
"""

from __future__ import annotations

OWNER, RENEWER = "ann", "bob"
LIFE_MS = 3_600_000
EXPECTED = [
    f"made for User:{OWNER}, renewed by User:{RENEWER}",
    "seen 1",
    "SCRAM-SHA-256 written, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "SCRAM-SHA-512 written, DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "renewed to its end",
    "seen 0",
    "SASL_AUTHENTICATION_FAILED",
]
