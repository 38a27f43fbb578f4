"""Record how a real Apache Kafka answers the conversations of `sasl_cases`.

    python -m tests.golden.sasl_record [beginning of names]

With a beginning, those are shown and nothing is written. Takes a minute and a half: each failed
login waits for `connection.failed.authentication.delay.ms`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.golden.sasl_cases import CLUSTER, NODE, REAUTH_MS, RECORDED, cases
from tests.golden.sasl_talk import DELAY_MS, PLAIN_USERS, Talk, users_request
from tests.kept_json import write_json


def _properties(ports: dict[str, int], kafka: Any) -> dict[str, str]:
    users = " ".join(f'user_{name}="{password}"' for name, password in PLAIN_USERS.items())
    package = "org.apache.kafka.common.security"
    own = 'required username="admin" password="admin-secret"'
    plain = f"{package}.plain.PlainLoginModule {own} {users};"
    scram = f"{package}.scram.ScramLoginModule {own};"
    names = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    urls = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    given = {
        "listeners": ",".join([*urls.values(), f"CONTROLLER://127.0.0.1:{kafka.controller_port}"]),
        "advertised.listeners": ",".join(
            [*urls.values(), f"CONTROLLER://127.0.0.1:{kafka.controller_port}"]
        ),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SASL:SASL_PLAINTEXT,REAUTH:SASL_PLAINTEXT",
        "connection.failed.authentication.delay.ms": str(DELAY_MS),
        "sasl.enabled.mechanisms": ",".join(names),
        "listener.name.reauth.connections.max.reauth.ms": str(REAUTH_MS),
    }
    for listener in ("sasl", "reauth"):
        for name in names:
            key = f"listener.name.{listener}.{name.lower()}.sasl.jaas.config"
            text = plain if name == "PLAIN" else scram
            given[key] = "".join(c if ord(c) < 128 else f"\\u{ord(c):04x}" for c in text)
            given[f"listener.name.{listener}.{name.lower()}.connections.max.reauth.ms"] = str(
                REAUTH_MS if listener == "reauth" else 0
            )
    return given


def record(only: str = "") -> None:
    """Ask a real broker; `only` those whose names begin so, to look at."""
    from tests.clients.wire_client import WireClient
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START
    from tests.tools.ports import free_port

    kafka = ApacheKafka(node_id=NODE, cluster_id=CLUSTER, jvm_options=FAST_START, heap="512m")
    ports = {"PLAINTEXT": kafka.port, "SASL": free_port(), "REAUTH": free_port()}
    kafka._extra.update(_properties(ports, kafka))
    kept: dict[str, Any] = {}
    with kafka:
        with WireClient(kafka.port) as wire:
            results = wire.call(users_request(), 0).results
            assert not any(one.error_code for one in results), results
        for name, listener, run in cases():
            if not name.startswith(only):
                continue
            assert name not in kept, name
            talk = Talk(ports[listener], listener)
            try:
                run(talk)
            except OSError as error:
                print(f"{name}: {error}", file=sys.stderr)
            talk.close()
            kept[name] = talk.kept
        print(kafka.log_tail(20_000), file=sys.stderr)
    if only:
        print(json.dumps(kept, indent=1, ensure_ascii=False))
    else:
        write_json(RECORDED, kept, sort_keys=True)


if __name__ == "__main__":
    record(*sys.argv[1:])
