from __future__ import annotations

from base64 import b64decode

import pytest

from broker.config.security_settings import JaasEntry, MechanismSettings, SaslSettings, Secret
from broker.security.sasl.mechanism_factory import server_mechanisms
from broker.security.sasl.plain import PlainServer, PlainUsers
from broker.security.sasl.scram import ScramServer
from controller.metadata.scram_credential import SCRAM_MECHANISMS
from tests.unit.broker.security.sasl.scram_fixture import (
    credentials,
    final_message,
    salted_of,
)

JAAS = JaasEntry("PlainLoginModule", {"user_alice": Secret("alice-secret")})
SETTINGS = SaslSettings(
    (
        MechanismSettings("PLAIN", JAAS),
        MechanismSettings("SCRAM-SHA-256"),
        MechanismSettings("SCRAM-SHA-512"),
    )
)


def test_each_login_has_a_mechanism_of_its_own() -> None:
    new = server_mechanisms(SETTINGS, credentials, lambda: "nonce")
    first, second = new("PLAIN"), new("PLAIN")
    assert isinstance(first, PlainServer) and first is not second
    first.evaluate(b"\0alice\0alice-secret", 0)
    assert first.complete and not second.complete
    for name, size in (("SCRAM-SHA-256", 32), ("SCRAM-SHA-512", 64)):
        scram = new(name)
        assert isinstance(scram, ScramServer)
        server_first = scram.evaluate(b"n,,n=alice,r=abc", 0)
        mechanism = SCRAM_MECHANISMS[name]
        proof = final_message(
            mechanism, salted_of(mechanism, "alice"), b"n=alice,r=abc", server_first
        )
        assert len(b64decode(scram.evaluate(proof, 0)[2:])) == size


def test_plain_without_a_jaas_text_lets_nobody_in() -> None:
    new = server_mechanisms(SaslSettings((MechanismSettings("PLAIN"),)), credentials, str)
    with pytest.raises(Exception, match="Invalid username"):
        new("PLAIN").evaluate(b"\0a\0b", 0)


def test_others_are_made_elsewhere() -> None:
    tokens = SaslSettings((MechanismSettings("OAUTHBEARER"),))
    with pytest.raises(AssertionError, match="OAUTHBEARER"):
        server_mechanisms(tokens, credentials, str)
    made = PlainServer(PlainUsers({}))
    new = server_mechanisms(tokens, credentials, str, {"OAUTHBEARER": lambda: made})
    assert new("OAUTHBEARER") is made
