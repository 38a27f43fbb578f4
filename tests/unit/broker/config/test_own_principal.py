from __future__ import annotations

import pytest

from broker.config.listener_security import ClientSecurity
from broker.config.own_principal import own_principal
from broker.config.security_settings import (
    JaasEntry,
    MechanismSettings,
    Secret,
    TlsSettings,
)

PLAIN = MechanismSettings("PLAIN", JaasEntry("", {"username": Secret("node")}))


@pytest.mark.parametrize(
    ("security", "principal"),
    [
        (ClientSecurity(), "User:ANONYMOUS"),
        (ClientSecurity("SASL_PLAINTEXT", None, PLAIN), "User:node"),
        (ClientSecurity("SASL_SSL", TlsSettings(keystore_location="/k"), PLAIN), "User:node"),
        (
            ClientSecurity("SASL_SSL", TlsSettings(), MechanismSettings("OAUTHBEARER")),
            "the user of its token",
        ),
        (
            ClientSecurity("SSL", TlsSettings()),
            "User:ANONYMOUS, since it has no certificate (ssl.keystore.location),",
        ),
        (
            ClientSecurity("SSL", TlsSettings(keystore_location="/k")),
            "the subject of its certificate (the other node's log names it)",
        ),
    ],
)
def test_as_whom_a_node_comes(security: ClientSecurity, principal: str) -> None:
    assert own_principal(security) == principal
