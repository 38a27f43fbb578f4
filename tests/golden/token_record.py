"""Record how real Apache Kafka brokers answer `token_cases` and `token_logins`.

    python -m tests.golden.token_record [cluster]

With the name of a cluster, what that one answers is shown and nothing is written.
"""

from __future__ import annotations

import json
import ssl
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from tests import certificates
from tests.clients.wire_client import WireClient
from tests.golden import token_cases as given
from tests.golden.sasl_talk import DELAY_MS, ITERATIONS, SALT, Talk, salted
from tests.golden.token_logins import LOGINS, ORDINARY, REAUTH_MS
from tests.kept_json import write_json
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.ports import free_port

_PACKAGE = "org.apache.kafka.common.security"
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_SETTLE_S = 0.5
"""For what the controller decided to reach the broker's image."""
_POLL_S = 0.05


def _properties(kafka: ApacheKafka, ports: dict[str, int], cluster: str, folder: Path) -> Any:
    controller = f"CONTROLLER://{HOST}:{kafka.controller_port}"
    urls = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    users = " ".join(f'user_{name}="{name}-secret"' for name in given.USERS)
    own = f'username="{given.SUPER_USER}" password="{given.SUPER_USER}-secret"'
    plain = f"{_PACKAGE}.plain.PlainLoginModule required {own} {users};"
    scram = f"{_PACKAGE}.scram.ScramLoginModule required;"
    judged = cluster == given.JUDGED
    protocols = {
        "PLAINTEXT": "PLAINTEXT",
        "SASL": "SASL_PLAINTEXT",
        "REAUTH": "SASL_PLAINTEXT",
        "TLS": "SSL",
        "CONTROLLER": "SASL_PLAINTEXT" if judged else "PLAINTEXT",
    }
    found = {
        "listeners": f"{urls},{controller}",
        "advertised.listeners": f"{urls},{controller}",
        "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in protocols.items()),
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
        "listener.name.tls.ssl.client.auth": "requested",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(folder / "keystore.pem"),
        "listener.name.tls.ssl.truststore.type": "PEM",
        "listener.name.tls.ssl.truststore.location": str(folder / "truststore.pem"),
        "listener.name.tls.ssl.principal.mapping.rules": "RULE:^CN=(.*?)$/cert-$1/,DEFAULT",
    }
    for listener in ("sasl", "reauth"):
        prefix = f"listener.name.{listener}"
        found[f"{prefix}.sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
        found[f"{prefix}.plain.sasl.jaas.config"] = plain
        for name in ("scram-sha-256", "scram-sha-512"):
            found[f"{prefix}.{name}.sasl.jaas.config"] = scram
            if listener == "reauth":
                found[f"{prefix}.{name}.connections.max.reauth.ms"] = str(REAUTH_MS)
    if cluster != given.DISABLED:
        found |= {
            "delegation.token.secret.key": given.SECRET_KEY,
            "delegation.token.expiry.time.ms": str(given.EXPIRY_MS),
            "delegation.token.max.lifetime.ms": str(given.MAX_LIFETIME_MS),
        }
    if judged:
        found |= {
            "authorizer.class.name": _AUTHORIZER,
            "super.users": f"User:{given.SUPER_USER};User:ANONYMOUS",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": plain,
        }
    return found


class GoldenCluster:
    """A running cluster, and the connections to it."""

    def __init__(self, kafka: ApacheKafka, ports: dict[str, int], folder: Path) -> None:
        self._kafka = kafka
        self._ports = ports
        self._folder = folder
        self.tokens: dict[str, given.Token] = {}

    def ask(self, case: given.Case) -> Any:
        request = case.request(self.tokens)
        with self._connection(case.who, case.at_controller) as wire:
            now_ms = time.time() * 1000
            answer = wire.call(request, case.version)
        token = given.made(request, answer)
        if token is not None:
            self.tokens[case.name] = token
        kept = given.comparable(answer, self.tokens, now_ms)
        if not answer.error_code:
            self._settle(token)
        return kept

    def _settle(self, token: given.Token | None) -> None:
        """What was decided is in the broker's image."""
        everything = DescribeDelegationTokenRequest(None)
        while token is not None:
            with self._connection(given.SUPER_USER, at_controller=False) as wire:
                found = wire.call(everything, 3).tokens
            if any(one.token_id == token.token_id for one in found):
                break
            time.sleep(_POLL_S)
        time.sleep(_SETTLE_S)

    def make(self, life_ms: int = -1) -> given.Token:
        """A token of alice's."""
        name = f"made {len(self.tokens)}"
        request = CreateDelegationTokenRequest(None, None, [], life_ms)
        self.ask(given.Case(name, "alice", lambda _tokens: request, 3))
        return self.tokens[name]

    def end(self, token: given.Token) -> None:
        """It is removed."""
        request = ExpireDelegationTokenRequest(token.hmac, -1)
        answer = self.ask(given.Case("expire", "alice", lambda _tokens: request, 2))
        assert answer["error_code"] == 0, answer

    def _connection(self, who: str, at_controller: bool) -> WireClient:
        if who == "anonymous":
            port = self._kafka.controller_port if at_controller else self._ports["PLAINTEXT"]
            return WireClient(port)
        if who in ("tls", "certificate"):
            context = ssl.create_default_context(cafile=str(self._folder / "authority.pem"))
            if who == "certificate":
                context.load_cert_chain(str(self._folder / "client.pem"))
            return WireClient(self._ports["TLS"], tls=context)
        wire = WireClient(self._kafka.controller_port if at_controller else self._ports["SASL"])
        name, by_token, token = who.partition(" by token ")
        if by_token:
            held = self.tokens[token]
            wire.log_in("SCRAM-SHA-256", held.token_id, held.password, by_token=True)
        else:
            wire.log_in("PLAIN", name, f"{name}-secret")
        return wire


def _stores(folder: Path) -> None:
    certificates.pem_files(folder, certificates.server())
    (folder / "authority.pem").write_text(certificates.authority().certificate_pem)
    client = certificates.client("CN=alice")
    (folder / "client.pem").write_text(client.key_pem() + client.chain_pem)


def _allow(port: int) -> None:
    entries = [
        AclCreation(kind, name, 3, principal, "*", operation, 3)
        for principal, operation, kind, name in given.ACLS
    ]
    with WireClient(port) as wire:
        results = wire.call(CreateAclsRequest(entries), 3).results
        assert not any(one.error_code for one in results), results
        asked = DescribeAclsRequest(1, None, 1, None, None, 1, 1)
        while len(wire.call(asked, 3).resources) < len(entries):
            time.sleep(_POLL_S)


def _add_users(port: int) -> None:
    """Ordinary ones, who are no tokens."""
    request = AlterUserScramCredentialsRequest(
        [],
        [
            ScramCredentialUpsertion(
                name, 1, ITERATIONS, SALT, salted("SCRAM-SHA-256", f"{name}-secret")
            )
            for name in ORDINARY
        ],
    )
    with WireClient(port) as wire:
        assert not any(one.error_code for one in wire.call(request, 0).results)
    time.sleep(_SETTLE_S)


def _log_in(asked: GoldenCluster, ports: dict[str, int]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, (listener, life_ms, run) in LOGINS.items():
        token = asked.make(life_ms)
        talk = Talk(ports[listener], listener)
        try:
            run(talk, token, asked.end)
        finally:
            talk.close()
        kept[name] = {"token_id": token.token_id, **talk.kept}
    return kept


def record(only: str = "") -> None:
    """Ask real brokers."""
    kept: dict[str, Any] = {}
    for cluster, steps in given.cases().items():
        if only not in ("", cluster):
            continue
        with TemporaryDirectory() as directory:
            folder = Path(directory)
            _stores(folder)
            kafka = ApacheKafka(jvm_options=FAST_START, heap="512m", static_voters=True)
            ports = {"PLAINTEXT": kafka.port}
            ports |= {name: free_port() for name in ("SASL", "REAUTH", "TLS")}
            kafka._extra.update(_properties(kafka, ports, cluster, folder))
            with kafka:
                asked = GoldenCluster(kafka, ports, folder)
                if cluster == given.JUDGED:
                    _allow(kafka.port)
                answers: dict[str, Any] = {}
                for step in steps:
                    if isinstance(step, given.Pause):
                        time.sleep(step.ms / 1000)
                        continue
                    assert step.name not in answers, step.name
                    answers[step.name] = asked.ask(step)
                kept[cluster] = answers
                if cluster == given.JUDGED:
                    _add_users(kafka.port)
                    kept["logins"] = _log_in(asked, ports)
                print(kafka.log_tail(6_000), file=sys.stderr)
    if only:
        print(json.dumps(kept, indent=1))
    else:
        write_json(given.RECORDED, kept, sort_keys=True)


if __name__ == "__main__":
    record(*sys.argv[1:])
