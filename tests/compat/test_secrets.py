"""A secret of a node's configuration stands in nothing that a node or a command prints or answers.

Every place where a config is shown is asked, with the same marker in every key that is a secret:
what a start prints, the log at its finest level, DescribeConfigs at all levels, refused changes,
metrics, status, dump-log. Nor does the secret of a delegation token stand there. That the marker is
found where it may stand shows that the test looks.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.config.keys import BROKER_CONFIG_DEF
from broker.security.sasl.server_mechanism import SaslRefused
from ottla.launcher import ottla_command
from ottla.testing.broker_process import HOST, BrokerProcess
from protocol.messages import alter_configs as replacing
from protocol.messages import describe_configs as describing
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.clients.wire_client import WireClient
from tests.tools.java_tools import PROJECT_DIR
from tests.tools.ports import free_port

MARKER = "Kn0tenMarker"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
JAAS = f'{PLAIN} required username="b" password="{MARKER}" user_b="{MARKER}";'
BROKER, TOPIC, GROUP, CLIENT_METRICS, LOGGER = 4, 2, 32, 16, 8
SECRET_KEYS = [name for name, key in BROKER_CONFIG_DEF.items() if key.sensitive]


def keys(clients: int, secured: int, metrics: int) -> dict[str, str]:
    listeners = f"PLAINTEXT://{HOST}:{clients},S://{HOST}:{secured}"
    plain = dict.fromkeys(SECRET_KEYS, MARKER)
    return {
        **plain,
        **{f"listener.name.s.{name}": MARKER for name in plain},
        "listeners": f"{listeners},CONTROLLER://{HOST}:0",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,S:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "listener.name.s.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.s.plain.sasl.jaas.config": JAAS,
        "listener.name.s.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "ottla.log.level": "DEBUG",
        "ottla.metrics.port": str(metrics),
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, int]]:
    """A node with a secret in every key that takes one, and the port of its metrics."""
    clients, secured, metrics = free_port(), free_port(), free_port()
    folder = tmp_path_factory.mktemp("secrets") / "data"
    properties = keys(clients, secured, metrics)
    with BrokerProcess(properties, data_dir=folder, port=clients) as process:
        yield process, metrics


def command(*arguments: str) -> str:
    done = subprocess.run(
        ottla_command(*arguments), capture_output=True, text=True, cwd=PROJECT_DIR, timeout=90
    )
    return done.stdout + done.stderr


def described(client: WireClient) -> str:
    resources = [(BROKER, "1"), (BROKER, ""), (LOGGER, "1"), (TOPIC, "t"), (GROUP, "g")]
    request = describing.DescribeConfigsRequest(
        [describing.DescribeConfigsResource(kind, name, None) for kind, name in resources],
        True,
        True,
    )
    shown = []
    for result in client.call(request, 4).results:
        shown.append(f"{result.resource_name} {result.error_message}")
        for one in result.configs:
            synonyms = [f"{two.name}={two.value}" for two in one.synonyms]
            shown.append(
                f"{one.name}={one.value} {one.is_sensitive} {one.documentation} {synonyms}"
            )
    return "\n".join(shown)


def changed(client: WireClient, name: str, configs: dict[str, str]) -> str:
    """What the broker says to a change, by both APIs."""
    request = incremental.IncrementalAlterConfigsRequest(
        [
            incremental.AlterConfigsResource(
                BROKER,
                name,
                [incremental.AlterableConfig(key, 0, text) for key, text in configs.items()],
            )
        ],
        False,
    )
    (answer,) = client.call(request, 1).responses
    whole = replacing.AlterConfigsRequest(
        [
            replacing.AlterConfigsResource(
                BROKER, name, [replacing.AlterableConfig(*one) for one in configs.items()]
            )
        ],
        True,
    )
    (other,) = client.call(whole, 2).responses
    return f"{answer.error_code} {answer.error_message} {other.error_message}"


def forms(hmac: bytes) -> list[str]:
    """How somebody may have written it."""
    return [b64encode(hmac).decode(), hmac.hex(), repr(hmac)]


def used_token(process: BrokerProcess) -> bytes:
    """A delegation token that has let somebody in, and somebody not: its HMAC."""
    port = int(re.findall(r"S://[^:]+:(\d+)", process.properties["listeners"])[0])
    with WireClient(port) as client:
        client.log_in("PLAIN", "b", MARKER)
        made = client.call(CreateDelegationTokenRequest(None, None, [], -1), 3)
        assert client.call(RenewDelegationTokenRequest(made.hmac, -1), 2).error_code == 0
    for password in (b64encode(made.hmac).decode(), "wrong"):
        with WireClient(port) as client, contextlib.suppress(SaslRefused):
            client.log_in("SCRAM-SHA-512", made.token_id, password, by_token=True)
    return bytes(made.hmac)


def test_no_secret_is_shown_anywhere(node: tuple[BrokerProcess, int]) -> None:
    process, metrics = node
    shown: dict[str, str] = {}
    hmac = used_token(process)
    with WireClient(process.port) as client:
        kept = changed(client, "1", {"of.some.plugin": MARKER, "listener.name.s.x.y": "1"})
        shown["refused together"] = kept
        assert changed(client, "1", {"of.some.plugin": MARKER}).startswith("0 ")
        assert changed(client, "", {"of.some.plugin": MARKER}).startswith("0 ")
        users = "listener.name.s.plain.sasl.jaas.config"
        assert changed(client, "1", {users: JAAS, "of.some.plugin": MARKER}).startswith("0 ")
        for name, text in (
            (users, f'{PLAIN} required password="{MARKER}"'),
            (users, f'{PLAIN} {MARKER} password="x";'),
            (users, f"{MARKER} required;"),
            ("listener.name.s.ssl.key.password", MARKER),
            ("ssl.key.password", MARKER),
            ("sasl.jaas.config", JAAS),
        ):
            refused = changed(client, "1", {name: text})
            assert not refused.startswith("0 "), name
            shown[f"refused {name}"] = refused
        shown["configs"] = described(client)
    assert f"{users}=None True" in shown["configs"]
    assert "of.some.plugin=None True" in shown["configs"]
    shown["status"] = command("status", "--bootstrap-server", process.bootstrap_servers, "--json")
    with urllib.request.urlopen(f"http://{HOST}:{metrics}/metrics", timeout=60) as answer:
        shown["metrics"] = answer.read().decode()
    segments = sorted(Path(process.data_dir, "__cluster_metadata-0").glob("*.log"))
    assert any(MARKER.encode() in one.read_bytes() for one in segments), "as Kafka stores it"
    for one in segments:
        shown[one.name] = command("dump-log", "--records", str(one))
    shown["log"] = process.log_file.read_text("utf-8", "replace")
    assert re.search(r"warning: .*ssl\.key\.password", shown["log"])
    secrets = [MARKER, MARKER.encode().hex(), *forms(hmac)]
    assert [where for where, text in shown.items() if any(one in text for one in secrets)] == []


def test_no_start_that_is_refused_shows_one(tmp_path: Path) -> None:
    port = free_port()
    good = {**keys(port, 0, 0), "log.dirs": str(tmp_path / "data")}
    users = "listener.name.s.plain.sasl.jaas.config"
    for name, text in (
        (users, f'{PLAIN} required password="{MARKER}"'),
        (users, f'{PLAIN} required password="{MARKER}"{MARKER}";'),
        (users, f"KafkaServer {{ {JAAS} }};"),
        ("listener.name.s.ssl.keystore.pasword", MARKER),
        ("listener.name.s.sasl.enabled.mechanisms", "GSSAPI"),
    ):
        options = [f"{key}={value}" for key, value in {**good, name: text}.items()]
        said = command("serve", *(word for one in options for word in ("--override", one)))
        lines = [line for line in said.splitlines() if not line.startswith("ottla: no --config")]
        assert len(lines) == 1 and name in lines[0], said
        assert MARKER not in said
