"""Who is not let in: what each Python client tells, and the broker's own line within two seconds.

confluent-kafka tells the reason by its `error_cb`; kafka-python and aiokafka cannot bootstrap, and
have the reason in their logs only, if the broker could tell them one. kafka-python often has not:
it drops an answer that comes together with the end of the connection, of Apache Kafka as well. So
the broker's line is the only place where most users learn why: it names the peer, the listener, how
they tried, and the reason, and holds no secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.compat.security.python_refusals import ATTEMPTS
from tests.compat.security.secured_broker import PASSWORD, SecuredBroker
from tests.compat.security.ways import (
    OAUTHBEARER,
    PLAIN,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SASL_SSL,
    SHA_256,
    SHA_512,
    SSL,
    Way,
)

LINE_WITHIN_S = 60.0
BAD_PASSWORD = "guess-me-not"
BAD_LOGIN = "Authentication failed: Invalid username or password"
BAD_PROOF = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism "
)
NO_SASL = "Request not valid in current SASL state"
SSL_CLOSED = "SSL connection closed by peer: connecting to a PLAINTEXT broker listener?"
ENDS = {
    "kafka-python": "KafkaTimeoutError KafkaTimeoutError: Unable to bootstrap",
    "aiokafka": "KafkaConnectionError KafkaConnectionError: Unable to bootstrap",
}


GOES_ON = "log No broker metadata found"


@dataclass(frozen=True, slots=True)
class Case:
    """One way that leads nowhere, and what is told of it: texts, or regular expressions."""

    way: dict[str, Any]
    line: str
    """The broker's: how they tried, and the reason."""
    confluent: str
    others: str = ""
    """In the logs of kafka-python and aiokafka; none: they see a connection that ends."""


CASES = {
    "wrong password, PLAIN": Case(
        {"protocol": SASL_SSL, "mechanism": PLAIN, "password": BAD_PASSWORD},
        rf"TLS by PLAIN .* \({BAD_LOGIN}\)",
        rf"_AUTHENTICATION .*SASL authentication error: {BAD_LOGIN}",
        BAD_LOGIN,
    ),
    "wrong password, SCRAM-SHA-256": Case(
        {"protocol": SASL_PLAINTEXT, "mechanism": SHA_256, "password": BAD_PASSWORD},
        rf"CLEAR by {SHA_256} .* \({BAD_PROOF}{SHA_256}\)",
        rf"_AUTHENTICATION .*SASL authentication error: {BAD_PROOF}{SHA_256}",
        BAD_PROOF + SHA_256,
    ),
    "unknown user, PLAIN": Case(
        {"protocol": SASL_PLAINTEXT, "mechanism": PLAIN, "user": "nobody"},
        rf"CLEAR by PLAIN .* \({BAD_LOGIN}\)",
        rf"_AUTHENTICATION .*SASL authentication error: {BAD_LOGIN}",
        BAD_LOGIN,
    ),
    "unknown user, SCRAM-SHA-512": Case(
        {"protocol": SASL_SSL, "mechanism": SHA_512, "user": "nobody"},
        rf"TLS by {SHA_512} .* \({BAD_PROOF}{SHA_512}\)",
        rf"_AUTHENTICATION .*SASL authentication error: {BAD_PROOF}{SHA_512}",
        BAD_PROOF + SHA_512,
    ),
    "a token that somebody else signed": Case(
        {"protocol": SASL_SSL, "mechanism": OAUTHBEARER, "token_file": "foreign-token"},
        # aiokafka does not heed that it is refused, and asks for metadata.
        r"TLS by OAUTHBEARER .*: the signature does not fit the key\)",
        r'_AUTHENTICATION .*SASL authentication error: \{"status":"invalid_token"\}',
        r'\{"status":"invalid_token"\}|No broker metadata found',
    ),
    "mechanism not enabled": Case(
        {"protocol": SASL_PLAINTEXT, "mechanism": SHA_256, "listener": "ONE"},
        rf"ONE by SASL .* \(Unsupported SASL mechanism '{SHA_256}'\)",
        rf"_AUTHENTICATION .*SASL {SHA_256} mechanism handshake failed: Broker: Unsupported SASL "
        "mechanism: broker's supported mechanisms: PLAIN",
        "UnsupportedSaslMechanismError",
    ),
    "no certificate": Case(
        {"protocol": SSL, "certificate": None},
        r"MUTUAL by TLS .* \(SSL handshake failed: PEER_DID_NOT_RETURN_A_CERTIFICATE\)",
        r"_TRANSPORT .*alert certificate required: SSL alert number 116 .*APIVERSION_QUERY",
    ),
    "unknown authority": Case(
        {"protocol": SSL, "authority": "foreign.pem"},
        # aiokafka closes without an alert.
        r"MUTUAL by TLS .* \(SSL handshake failed: "
        r"(TLSV1_ALERT_UNKNOWN_CA|the peer has closed the connection)\)",
        r"_SSL .*broker certificate could not be verified",
        "certificate verify failed",
    ),
    "SASL on a plaintext listener": Case(
        {"protocol": SASL_PLAINTEXT, "mechanism": PLAIN, "listener": "OPEN"},
        r"OPEN by SASL .* \(the listener has no SASL: its protocol is PLAINTEXT\)",
        rf"_AUTHENTICATION .*SASL PLAIN mechanism handshake failed: Broker: {NO_SASL}",
        "IllegalSaslState",
    ),
    "no TLS on a listener with TLS": Case(
        {"protocol": PLAINTEXT, "listener": "MUTUAL"},
        r"MUTUAL by TLS .* \(SSL handshake failed: (WRONG_VERSION_NUMBER|HTTP_REQUEST)\)",
        r"_ALL_BROKERS_DOWN",
    ),
    "no SASL on a listener with SASL": Case(
        {"protocol": PLAINTEXT, "listener": "CLEAR"},
        r"CLEAR by SASL .* \(Unexpected Kafka request of type METADATA during SASL handshake.\)",
        r"_ALL_BROKERS_DOWN",
    ),
    "TLS on a plaintext listener": Case(
        {"protocol": SSL, "listener": "OPEN"},
        r"OPEN by TLS .* \(the listener has no TLS: its protocol is PLAINTEXT\)",
        re.escape(SSL_CLOSED),
    ),
    "TLS on a listener with SASL alone": Case(
        {"protocol": SASL_SSL, "mechanism": PLAIN, "listener": "CLEAR"},
        r"CLEAR by TLS .* \(the listener has no TLS: its protocol is SASL_PLAINTEXT\)",
        re.escape(SSL_CLOSED),
    ),
}


@pytest.mark.parametrize("client", ATTEMPTS)
@pytest.mark.parametrize("name", CASES)
def test_nobody_comes_in_and_both_sides_say_why(
    secured: SecuredBroker, name: str, client: str
) -> None:
    case = CASES[name]
    expected = re.compile(case.confluent)
    mark = secured.mark()
    dropped = "|socket disconnected" if client == "kafka-python" else ""
    reason = expected if client == "confluent-kafka" else re.compile(case.others + dropped)
    told = ATTEMPTS[client](way(secured, case), lambda text: bool(reason.search(text)))
    line = re.compile(rf" WARN .*Failed authentication with /127.0.0.1 on listener {case.line}")
    found = secured.said_since(mark, lambda text: bool(line.search(text)), LINE_WITHIN_S)
    assert found is not None, (secured.process.log_file.read_text()[mark:], told)
    if client == "confluent-kafka":
        assert any(map(expected.search, told)), told
        if "_AUTHENTICATION" not in case.confluent:
            assert not any("_AUTHENTICATION" in text for text in told)
    else:
        goes_on = client == "aiokafka" and case.way.get("mechanism") == OAUTHBEARER
        assert told[-1].startswith(GOES_ON if goes_on else ENDS[client])
        assert any(map(reason.search, told)), told
    everything = secured.process.log_file.read_text()
    assert BAD_PASSWORD not in everything and PASSWORD not in everything


def way(secured: SecuredBroker, case: Case) -> Way:
    """As the case has it; its files lie in the broker's folder."""
    changed = dict(case.way)
    for name in ("authority", "token_file"):
        if name in changed:
            changed[name] = secured.folder / changed[name]
    return secured.way(**changed)


def test_a_record_of_one_who_may_not_come_in_is_not_delivered(secured: SecuredBroker) -> None:
    case = CASES["wrong password, PLAIN"]
    told = ATTEMPTS["confluent-kafka"](way(secured, case), lambda text: "delivery" in text)
    assert told[-1] == "delivery _MSG_TIMED_OUT"
