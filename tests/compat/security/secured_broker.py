"""One broker with a listener of each kind, and the ways in.

Owns its process, its certificates and tokens, and its users: ann, whose password is the same for
all mechanisms and whose token is good; her certificate names her too. She may do everything, and so
may who does not log in; bob, who comes by PLAIN, may do what ACLs say. What it logs is told by
`said_since`.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jwt
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.asymmetric import ec

from broker.config.authorizer import STANDARD_AUTHORIZER
from ottla.testing.broker_process import HOST
from tests import certificates
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
    librdkafka,
)
from tests.tools.ports import Ports

if TYPE_CHECKING:
    from ottla.testing.broker_process import BrokerProcess

USER, PASSWORD = "ann", "se;cret=1,2"
LISTENERS = {
    "OPEN": PLAINTEXT,
    "MUTUAL": SSL,
    "TLS": SASL_SSL,
    "CLEAR": SASL_PLAINTEXT,
    "SHORTPLAIN": SASL_PLAINTEXT,
    "SHORT256": SASL_PLAINTEXT,
    "SHORT512": SASL_PLAINTEXT,
    "ONE": SASL_PLAINTEXT,
}
"""Those of SHORT end a login after SESSION_MS and take one mechanism each; ONE takes PLAIN only."""
SHORT = {PLAIN: "SHORTPLAIN", SHA_256: "SHORT256", SHA_512: "SHORT512"}
SESSION_MS = 1_500
OF_PROTOCOL = {PLAINTEXT: "OPEN", SSL: "MUTUAL", SASL_SSL: "TLS", SASL_PLAINTEXT: "CLEAR"}
ALL = (PLAIN, SHA_256, SHA_512, OAUTHBEARER)

_MODULES = "org.apache.kafka.common.security"
_JAAS = {
    PLAIN: f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}" '
    f'user_bob="{PASSWORD}";',
    SHA_256: f"{_MODULES}.scram.ScramLoginModule required;",
    SHA_512: f"{_MODULES}.scram.ScramLoginModule required;",
    OAUTHBEARER: f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
}
_VALIDATOR = f"{_MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler"
_KEY_ID = "key-1"
_POLL_S = 0.01


class SecuredBroker:
    """A secured broker's ports and files; `close` gives the ports back, `start`'s owner ends it."""

    def __init__(self, start: Callable[..., BrokerProcess], folder: Path) -> None:
        """`start`: the factory of the pytest plugin."""
        self.folder = folder
        self._held = Ports()
        self.ports = {name: self._held.take() for name in LISTENERS}
        self._metrics_port = self._held.take()
        self._write_stores()
        self._write_tokens()
        self.process = start(self._properties())
        self._add_users()

    def close(self) -> None:
        """Give the ports back."""
        self._held.close()

    def way(self, protocol: str, mechanism: str = "", listener: str = "", **changed: Any) -> Way:
        """As ann comes in; `changed`: fields of `Way` that are otherwise."""
        name = listener or OF_PROTOCOL[protocol]
        secured = protocol in (SSL, SASL_SSL)
        made = Way(
            f"localhost:{self.ports[name]}",
            protocol,
            mechanism,
            user=USER if mechanism else "",
            password=PASSWORD if mechanism else "",
            token_file=self.folder / "token" if mechanism == OAUTHBEARER else None,
            authority=self.folder / "authority.pem" if secured else None,
            certificate=self.folder / "ann.pem" if protocol == SSL else None,
        )
        return replace(made, **changed)

    def topic(self, name: str) -> str:
        """A new topic of one partition."""
        admin = AdminClient(librdkafka(self.way(PLAINTEXT)))
        (created,) = admin.create_topics([NewTopic(name, 1, 1)]).values()
        created.result(60)
        return name

    def mark(self) -> int:
        """For `said_since`."""
        return self.process.log_file.stat().st_size

    def said_since(self, mark: int, told: Callable[[str], bool], timeout_s: float) -> str | None:
        """The first line of its log after the mark for which `told` holds; None: none came."""
        deadline = time.monotonic() + timeout_s
        while True:
            text = self.process.log_file.read_bytes()[mark:].decode("utf-8", "replace")
            found = next((line for line in text.splitlines() if told(line)), None)
            if found is not None or time.monotonic() > deadline:
                return found
            time.sleep(_POLL_S)

    def metric(self, name: str, listener: str) -> float:
        """One value of its metrics."""
        with urllib.request.urlopen(f"http://{HOST}:{self._metrics_port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        (line,) = [one for one in lines if one.startswith(f"{name}{{") and listener in one]
        return float(line.split()[-1])

    # --- what it is made of ---------------------------------------------------------------------

    def _write_stores(self) -> None:
        node, ann = certificates.server(), certificates.client(f"CN={USER},O=Acme")
        stores = {
            "node.pem": node.key_pem() + node.chain_pem,
            "ann.pem": ann.key_pem() + ann.chain_pem,
            "authority.pem": certificates.authority().certificate_pem,
            "foreign.pem": certificates.foreign_authority().certificate_pem,
        }
        for name, text in stores.items():
            (self.folder / name).write_text(text)

    def _write_tokens(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        shown = {"keys": [{**public, "kid": _KEY_ID, "alg": "ES256"}]}
        (self.folder / "jwks.json").write_text(json.dumps(shown))
        now = int(time.time())
        claims = {"sub": USER, "iat": now, "exp": now + 3600, "aud": "kafka", "scope": "kafka"}
        foreign = ec.generate_private_key(ec.SECP256R1())
        for name, signer in (("token", key), ("foreign-token", foreign)):
            token = jwt.encode(claims, signer, "ES256", headers={"kid": _KEY_ID})
            (self.folder / name).write_text(token)

    def _properties(self) -> dict[str, str]:
        listeners = ",".join(f"{name}://localhost:{port}" for name, port in self.ports.items())
        kinds = {**LISTENERS, "CONTROLLER": PLAINTEXT}
        protocols = ",".join(f"{name}:{protocol}" for name, protocol in kinds.items())
        return {
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": protocols,
            "inter.broker.listener.name": "OPEN",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{USER};User:CN={USER},O=Acme;User:ANONYMOUS",
            "delegation.token.secret.key": "a key for tokens",
            "group.initial.rebalance.delay.ms": "0",
            "ottla.metrics.port": str(self._metrics_port),
            # Each test looks for its own line, a second after somebody else's twenty.
            "ottla.authentication.failures.logged.per.second": "1000",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "node.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "authority.pem"),
            "listener.name.mutual.ssl.client.auth": "required",
            "sasl.oauthbearer.jwks.endpoint.url": (self.folder / "jwks.json").as_uri(),
            "sasl.oauthbearer.expected.audience": "kafka",
            "sasl.oauthbearer.allow.unverified.issuer": "true",
            **self._of_sasl("TLS", ALL),
            **self._of_sasl("CLEAR", ALL),
            **self._of_sasl("ONE", (PLAIN,)),
            **self._of_short_sessions(),
        }

    def _of_short_sessions(self) -> dict[str, str]:
        found = {}
        for mechanism, listener in SHORT.items():
            own = f"listener.name.{listener.lower()}.connections.max.reauth.ms"
            found |= self._of_sasl(listener, (mechanism,)) | {own: str(SESSION_MS)}
        return found

    def _of_sasl(self, listener: str, mechanisms: tuple[str, ...]) -> dict[str, str]:
        prefix = f"listener.name.{listener.lower()}"
        found = {f"{prefix}.sasl.enabled.mechanisms": ",".join(mechanisms)}
        for name in mechanisms:
            own = f"{prefix}.{name.lower()}"
            found[f"{own}.sasl.jaas.config"] = _JAAS[name]
            if name == OAUTHBEARER:
                found[f"{own}.sasl.server.callback.handler.class"] = _VALIDATOR
        return found

    def _add_users(self) -> None:
        admin = AdminClient(librdkafka(self.way(PLAINTEXT)))
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(mechanism, 4096)
            change = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
            for future in admin.alter_user_scram_credentials([change]).values():
                future.result(60)
