"""`ottla migrate check` on a broker of Ottla and on Apache Kafka, with things that are odd.

The same scene on each, also on the release of Kafka before: what stands in the way is named, and
what a login may not see, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from broker.config.authorizer import STANDARD_AUTHORIZER
from controller.metadata.version import level_name, release_level
from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START, kafka_classpath
from tests.tools.kafka_release import PREVIOUS, RELEASE
from tests.tools.ports import free_port

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
PROVIDERS = "org.apache.kafka.common.config.provider."
PROTOCOLS = "PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"


def properties(port: int, login_port: int, controller_port: int) -> dict[str, str]:
    """A broker whose users have no rights, except without a login; three of its keys are odd, and
    those of a config provider are not."""
    clients = f"PLAINTEXT://{HOST}:{port},LOGIN://{HOST}:{login_port}"
    return {
        "listeners": f"{clients},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": PROTOCOLS,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": f'{PLAIN} required user_bob="pass";',
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "log.preallocate": "true",
        "acme.turbo": "9",
        "ottla.unknown.keys": "warn",
        "config.providers": "secrets",
        "config.providers.secrets.class": f"{PROVIDERS}FileConfigProvider",
    }


class Scene:
    """A broker to check, and the client properties of a user without rights."""

    def __init__(self, bootstrap: str, login: str, folder: Path, release: str = RELEASE) -> None:
        self.bootstrap = bootstrap
        self.level = release_level(release)
        self.login = login
        self.ottla = Ottla(bootstrap)
        self.bob = folder / "bob.properties"
        self.bob.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={PLAIN} required username="bob" password="pass";\n'
        )

    def prepare(self) -> None:
        """Make a topic, an ACL, a quota, a user and a group."""
        self.ottla("topic", "create", "odd", "-c", "preallocate=true")
        two_phases = ("--operation", "TwoPhaseCommit", "--transactional-id", "t")
        self.ottla("acl", "add", "--allow-principal", "User:alice", *two_phases)
        self.ottla("quota", "set", "--user", "alice", "producer_byte_rate=10MB")
        self.ottla("user", "add", "alice", data=b"secret-1\n")
        self.ottla("produce", "odd", data=b"x\n")
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "readers",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        with closing(consumer):
            consumer.subscribe(["odd"])
            assert len(consumer.consume(1, WITHIN_S)) == 1
            consumer.commit(asynchronous=False)


def of_ottla(factory: Callable[..., Any], folder: Path) -> Iterator[Scene]:
    port, login_port = free_port(), free_port()
    broker = factory(properties=properties(port, login_port, 0), port=port)
    yield Scene(broker.bootstrap_servers, f"{HOST}:{login_port}", folder)


def of_kafka(release: str, folder: Path) -> Iterator[Scene]:
    port, login_port, controller_port = free_port(), free_port(), free_port()
    with ApacheKafka(
        port=port,
        controller_port=controller_port,
        properties=properties(port, login_port, controller_port),
        jvm_options=FAST_START,
        heap="512m",
        features={"streams.version": 0},
        classpath=kafka_classpath(release),
    ) as kafka:
        yield Scene(kafka.bootstrap, f"{HOST}:{login_port}", folder, release)


@pytest.fixture(
    scope="module",
    params=[
        "ottla",
        pytest.param(RELEASE, marks=pytest.mark.java),
        pytest.param(PREVIOUS, marks=[pytest.mark.java, pytest.mark.long]),
    ],
)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("migration")
    if request.param == "ottla":
        made = of_ottla(request.getfixturevalue("ottla_broker_factory"), folder)
    else:
        made = of_kafka(request.param, folder)
    for ready in made:
        ready.prepare()
        yield ready


def test_odd_things_are_named(scene: Scene) -> None:
    out = scene.ottla("migrate", "check", code=1).decode().splitlines()
    assert out[0].startswith("cluster ")
    assert f"metadata.version {scene.level} ({level_name(scene.level)})" in out[0]
    assert "1 node" in out[1] and "1 ACL, 1 owner of quotas, 1 SCRAM user" in out[1]
    assert "1 group" in out[1]
    lines = [line for line in out[2:-1] if not line.startswith("IGNORED  feature ")]
    assert lines[0].startswith("UNKNOWN  broker 1: unknown configuration key acme.turbo -> ")
    found = " ".join(lines[1:])
    assert all(line.startswith("IGNORED  ") for line in lines[1:])
    assert "broker 1: log.preallocate=true is kept" in found
    assert "topic odd: preallocate=true is kept" in found
    assert "ACL ALLOW TWO_PHASE_COMMIT for User:alice" in found
    assert out[-1].startswith("not ready: 0 REFUSED, 1 UNKNOWN, 0 WAIT, 0 UNREAD, ")


def test_the_same_for_a_program(scene: Scene) -> None:
    *findings, verdict = map(
        json.loads, scene.ottla("migrate", "check", "--json", code=1).splitlines()
    )
    assert findings[0]["severity"] == "UNKNOWN" and findings[0]["places"] == ["broker 1"]
    assert (verdict["ready"], verdict["counts"]["UNKNOWN"]) == (False, 1)
    assert verdict["nodes"] == [{"id": 1, "kind": "broker"}]
    assert verdict["features"]["metadata.version"] == scene.level


def test_a_login_without_rights_is_told_what_it_did_not_see(scene: Scene) -> None:
    """Kafka does not answer such a login that asks for all SCRAM users."""
    words = ("-b", scene.login, "--command-config", str(scene.bob), "--json")
    *findings, verdict = map(
        json.loads, scene.ottla("migrate", "check", *words, code=1).splitlines()
    )
    unread = [place for one in findings if one["severity"] == "UNREAD" for place in one["places"]]
    assert {
        "ACLs",
        "quotas",
        "SCRAM users",
        "groups",
        "transactions",
        "controllers",
        "configs of broker 1",
        "configs of all brokers",
        "names of all topics, and of groups with configs",
        "brokers, quorum and partitions",
    } <= {*unread}
    assert not verdict["ready"]


def test_a_plain_cluster_is_ready(ottla_broker_factory: Callable[..., Any]) -> None:
    with closing(ottla_broker_factory()) as broker:
        (verdict,) = Ottla(broker.bootstrap_servers).objects("migrate", "check")
    assert verdict["ready"] is True
