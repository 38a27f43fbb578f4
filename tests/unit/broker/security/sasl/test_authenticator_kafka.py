"""Conversations that Apache Kafka had (`tests/golden/sasl_cases.py`), with our authenticator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.security_settings import JaasEntry, MechanismSettings, SaslSettings, Secret
from broker.security.sasl.authenticator import SaslAuthenticator
from broker.security.sasl.mechanism_factory import server_mechanisms
from controller.metadata.scram_credential import ScramCredential, ScramMechanism, credential_of
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages.find_coordinator import FindCoordinatorResponse
from protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from protocol.messages.produce import ProduceResponse
from tests.golden.sasl_cases import MAX_RECEIVE_BYTES, REAUTH_MS, RECORDED
from tests.golden.sasl_talk import (
    ITERATIONS,
    NUMBERS,
    PLAIN_USERS,
    SALT,
    SCRAM_USERS,
    salted,
)
from tests.unit.broker.security.sasl.replay_fixture import Replay, nonces_of

CONVERSATIONS: dict[str, Any] = json.loads(RECORDED.read_text())
STRICTER = "RFC 5802 is kept to where Kafka is looser"
BETTER = "Kafka closes without an answer, by an exception of its own"
DIFFERENT = {
    "SCRAM final: wrong channel": STRICTER,
    "SCRAM final: channel of nothing": STRICTER,
    "SCRAM same authorization id": STRICTER,
    "SCRAM final: an extension": STRICTER,
    "SCRAM final: an extension, not signed": STRICTER,
    "SCRAM reserved": STRICTER,
    "SCRAM final: a long proof": BETTER,
    "SCRAM final: a short proof": BETTER,
    "SCRAM final: no proof": BETTER,
    "SCRAM final: proof with bits behind": BETTER,
}


def sasl_settings(max_reauth_ms: int) -> SaslSettings:
    """As the recorded broker has them; in the order of Java's set."""
    users = {f"user_{name}": Secret(password) for name, password in PLAIN_USERS.items()}
    own = {"username": Secret("admin"), "password": Secret("admin-secret")}
    plain = JaasEntry("PlainLoginModule", {**own, **users})
    names = ("PLAIN", "SCRAM-SHA-512", "SCRAM-SHA-256")
    return SaslSettings(
        tuple(
            MechanismSettings(name, plain if name == "PLAIN" else None, max_reauth_ms=max_reauth_ms)
            for name in names
        ),
        MAX_RECEIVE_BYTES,
    )


CREDENTIALS = {
    (ScramMechanism(NUMBERS[mechanism]), name): credential_of(
        ScramMechanism(NUMBERS[mechanism]), salted(mechanism, password), SALT, ITERATIONS
    )
    for name, mechanism, password in SCRAM_USERS
}


def credentials(mechanism: ScramMechanism, name: str) -> ScramCredential | None:
    return CREDENTIALS.get((mechanism, name))


def refusal(api_key: int, request: Any, error: ErrorCode) -> Message | None:
    """As Kafka answers in an API's own shape."""
    if api_key == ApiKey.METADATA:
        topics = [
            MetadataResponseTopic(int(error), one.name, one.topic_id) for one in request.topics
        ]
        return MetadataResponse(topics=topics, controller_id=-1)
    if api_key == ApiKey.PRODUCE:
        return ProduceResponse() if request.acks else None
    if api_key == ApiKey.FIND_COORDINATOR:
        text = "Request is not valid given the current SASL state."
        return FindCoordinatorResponse(
            error_code=int(error), error_message=text, node_id=-1, port=-1
        )
    response = messages_of(ApiKey(api_key)).response()
    response.error_code = int(error)
    if api_key == ApiKey.INIT_PRODUCER_ID:
        response.producer_epoch = -1
    return response


def replay_of(conversation: dict[str, Any]) -> Replay:
    def make_core(versions: Callable[[memoryview], bytes]) -> SaslAuthenticator:
        nonces = nonces_of(conversation["steps"])
        sasl = sasl_settings(REAUTH_MS if conversation["listener"] == "REAUTH" else 0)
        new = server_mechanisms(sasl, credentials, lambda: next(nonces))
        return SaslAuthenticator(sasl, new, versions, refusal)

    return Replay(conversation["steps"], make_core)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, one in CONVERSATIONS.items()
        if one["listener"] != "PLAINTEXT" and name not in DIFFERENT
    ],
)
def test_it_goes_as_with_kafka(name: str) -> None:
    replay_of(CONVERSATIONS[name]).run()


@pytest.mark.parametrize("name", DIFFERENT)
def test_it_does_not_go_as_with_kafka(name: str) -> None:
    with pytest.raises(AssertionError):
        replay_of(CONVERSATIONS[name]).run()
