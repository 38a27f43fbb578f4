"""SCRAM users, ACLs and delegation tokens move with the data folder, between Ottla and Apache
Kafka, and stay good.

The login is at Apache Kafka: what Ottla derived of a password has to be what Kafka expects, and
what it wrote of an ACL what Kafka judges by. Tokens let their holder in at both.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from controller.metadata.acl import PatternType
from controller.metadata.acl_filter import AclFilter
from ottla.launcher import ottla_command
from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests import acls
from tests.acls import allow, deny
from tests.clients.wire_client import WireClient
from tests.compat.admin_words import add_user, check_acls, check_acls_beside_tools, remove_user
from tests.compat.folder_tokens import SECRET, Owner
from tests.tools.apache_kafka import HOST, ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import KafkaTools
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.java

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
TOPIC = "shared"
ALICE_DESCRIBES = allow("User:alice", Operation.DESCRIBE, Resource.TOPIC, TOPIC)
NOBODY_CLUSTER = deny("User:ž", None, Resource.CLUSTER, "kafka-cluster", host="10.0.0.1")
GONE = allow("User:*", Operation.DESCRIBE, Resource.TOPIC, "*")
CAROL_READS = allow(
    "User:carol", Operation.READ, Resource.TOPIC, "sh", pattern=PatternType.PREFIXED
)

LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"

WITH_LOGINS = {
    **AUTHORIZER,
    **SECRET,
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
    ),
    "listener.name.sasl.sasl.enabled.mechanisms": f"{SHA_256},{SHA_512}",
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{LOGIN_MODULE} required;",
    "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{LOGIN_MODULE} required;",
}

Users = dict[str, list[tuple[int, int]]]
"""By name, mechanisms with their iterations."""


class KafkaWithLogins:
    """Apache Kafka with a listener where users log in by SCRAM, beside one without. Who logs in may
    do what ACLs say; who does not, everything."""

    def __init__(self, **options: Any) -> None:
        self.sasl_port = free_port()
        port, controller_port = free_port(), free_port()
        listeners = f"PLAINTEXT://{HOST}:{port},SASL://{HOST}:{self.sasl_port}"
        properties = {
            **WITH_LOGINS,
            "listeners": f"{listeners},CONTROLLER://{HOST}:{controller_port}",
            "advertised.listeners": listeners,
        }
        self.kafka = ApacheKafka(
            port=port,
            controller_port=controller_port,
            static_voters=True,
            properties=properties,
            jvm_options=FAST_START,
            heap="512m",
            **options,
        )

    def login(self, user: str, password: str, mechanism: str) -> set[str] | None:
        """The topics that the user is told of; None: does not get in."""
        failures: list[str] = []
        admin = AdminClient(
            {
                "bootstrap.servers": f"{HOST}:{self.sasl_port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": mechanism,
                "sasl.username": user,
                "sasl.password": password,
                "log_level": 0,
                "error_cb": lambda error: failures.append(error.name()),
            }
        )
        try:
            found = admin.list_topics(timeout=60 if password.startswith("right") else 3)
        except KafkaException:

            def is_told() -> bool:
                admin.poll(0.1)
                return "_AUTHENTICATION" in failures

            wait_until(is_told, "the refusal")
            return None
        return set(found.topics)


def described(port: int) -> Users:
    """What a broker tells of all users."""
    with WireClient(port) as client:
        answer = client.call(DescribeUserScramCredentialsRequest(None), 0)
    assert answer.error_code == 0
    return {
        one.user: [(info.mechanism, info.iterations) for info in one.credential_infos]
        for one in answer.results
    }


def told(tools: KafkaTools, bootstrap: str) -> list[str]:
    """What kafka-configs tells of all users."""
    server = ("--bootstrap-server", bootstrap)
    said = tools.run("kafka-configs", *server, "--describe", "--entity-type", "users")
    assert said.exit == 0, said
    return sorted(said.lines)


def set_by_tool(tools: KafkaTools, bootstrap: str, user: str, change: tuple[str, str]) -> None:
    entity = ("--entity-type", "users", "--entity-name", user)
    server = ("--bootstrap-server", bootstrap)
    done = tools.run("kafka-configs", *server, "--alter", *entity, *change)
    assert done.exit == 0, done


def set_by_ottla(ottla: Any, user: str, password: str) -> None:
    """A client's change, whose keys Ottla derives."""
    admin = AdminClient({"bootstrap.servers": ottla.bootstrap_servers})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 5000)
    change = UserScramCredentialUpsertion(user, info, password.encode())
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(60)


def alice_at(port: int) -> Owner:
    return Owner(port, SHA_256, "alice", "right-a")


def test_users_acls_and_tokens_of_kafkas_folder_are_ottlas_and_go_back(
    ottla_broker_factory: Callable[..., Any],
) -> None:
    formatted = f"{SHA_256}=[name=alice,password=right-a]"
    with KafkaTools("") as tools:
        first = KafkaWithLogins(format_options=("--add-scram", formatted))
        with first.kafka as kafka:
            at = kafka.bootstrap
            set_by_tool(
                tools, at, "bob", ("--add-config", f"{SHA_512}=[iterations=8192,password=right-b]")
            )
            set_by_tool(tools, at, "gone", ("--add-config", f"{SHA_256}=[password=right]"))
            set_by_tool(tools, at, "gone", ("--delete-config", SHA_256))
            with WireClient(kafka.port) as client:
                topics = CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], 20_000)
                assert [one.error_code for one in client.call(topics, 7).topics] == [0]
                acls.add(client, ALICE_DESCRIBES, NOBODY_CLUSTER, GONE)
            alice = alice_at(first.sasl_port)
            kafkas, gone = alice.make(), alice.make()
            kafka.stop()
            ottlas, until_ms = _through_ottla(ottla_broker_factory, kafka.data_dir, kafkas, gone)

            again = KafkaWithLogins(data_dir=kafka.data_dir)
            with again.kafka as kafka:
                assert told(tools, kafka.bootstrap) == [
                    f"SCRAM credential configs for user-principal '{user}' are {credential}"
                    for user, credential in (
                        ("alice", f"{SHA_256}=iterations=4096"),
                        ("carol", f"{SHA_512}=iterations=5000"),
                        ("dora", f"{SHA_512}=iterations=5000"),
                    )
                ]
                with WireClient(kafka.port) as client:
                    expected = {ALICE_DESCRIBES, NOBODY_CLUSTER, CAROL_READS}
                    assert acls.described(client) == expected
                assert again.login("alice", "right-a", SHA_256) == {TOPIC}
                alice = alice_at(again.sasl_port)
                assert set(alice.tokens()) == {kafkas, ottlas}
                assert alice.tokens()[kafkas][1] == until_ms
                assert alice.topics_by(kafkas) == alice.topics_by(ottlas) == {TOPIC}
                assert again.login("carol", "right-c", SHA_512) == {TOPIC}
                assert again.login("dora", "right-d", SHA_512) == set()
                assert again.login("carol", "wrong", SHA_512) is None
                assert again.login("bob", "no longer right", SHA_512) is None
                assert kafka.errors() == []


def _through_ottla(
    ottla_broker_factory: Callable[..., Any], folder: Path, kafkas: bytes, gone: bytes
) -> tuple[bytes, int]:
    """Started twice: from Kafka's log, then from a snapshot of its own, the log before it gone. Of
    two tokens one is renewed, the other goes. Gives a new one, and until when the first is good."""
    port, alice = free_port(), alice_at(free_port())
    properties = {
        **WITH_LOGINS,
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "listeners": (
            f"PLAINTEXT://{HOST}:{port},SASL://{HOST}:{alice.port},CONTROLLER://{HOST}:0"
        ),
    }
    ottla = ottla_broker_factory(data_dir=folder, properties=properties, port=port)
    assert described(ottla.port) == {"alice": [(1, 4096)], "bob": [(2, 8192)]}
    set_by_ottla(ottla, "carol", "right-c")
    set_by_ottla(ottla, "dora", "right-d")
    with WireClient(ottla.port) as client:
        no_bob = AlterUserScramCredentialsRequest([ScramCredentialDeletion("bob", 2)])
        assert [one.error_code for one in client.call(no_bob, 0).results] == [0]
        assert acls.described(client) == {ALICE_DESCRIBES, NOBODY_CLUSTER, GONE}
        acls.add(client, CAROL_READS, ALICE_DESCRIBES)
        assert acls.remove(client, AclFilter(*GONE)) == [GONE]
    assert set(alice.tokens()) == {kafkas, gone}
    gone_id = alice.tokens()[gone][0]
    assert alice.topics_by(kafkas) == alice.topics_by(gone) == {TOPIC}
    ottlas, until_ms = alice.make(), alice.renew(kafkas, 3_600_000)
    alice.end(gone)
    assert alice.topics_by(gone, gone_id) is None
    ottla.close()
    ottla = ottla_broker_factory(data_dir=folder, properties=properties, port=port)
    assert set(alice.tokens()) == {kafkas, ottlas}
    assert alice.tokens()[kafkas][1] == until_ms
    assert alice.topics_by(ottlas) == {TOPIC}
    carol_and_dora = {"carol": [(2, 5000)], "dora": [(2, 5000)]}
    assert described(ottla.port) == {"alice": [(1, 4096)], **carol_and_dora}
    with WireClient(ottla.port) as client:
        assert acls.described(client) == {ALICE_DESCRIBES, NOBODY_CLUSTER, CAROL_READS}
    ottla.close()
    return ottlas, until_ms


def test_users_that_ottla_formats_a_folder_with_are_kafkas(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    """And `ottla user` and `ottla acl` do there what Kafka's tools do."""
    data = tmp_path / "data"
    users = (
        f"{SHA_256}=[name=alice,password=right-a]",
        f'{SHA_512}=[name="bob",iterations=8192,salt="c2FsdA==",password="right=b"]',
    )
    options = [word for user in users for word in ("--add-scram", user)]
    command = ottla_command("format", *options, "--override", f"log.dirs={data}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert not re.search("right", done.stdout + done.stderr)

    with_logins = KafkaWithLogins(data_dir=data)
    with KafkaTools("") as tools, with_logins.kafka as kafka:
        assert told(tools, kafka.bootstrap) == [
            f"SCRAM credential configs for user-principal 'alice' are {SHA_256}=iterations=4096",
            f"SCRAM credential configs for user-principal 'bob' are {SHA_512}=iterations=8192",
        ]
        assert with_logins.login("alice", "right-a", SHA_256) is not None
        assert with_logins.login("bob", "right=b", SHA_512) is not None
        assert with_logins.login("alice", "wrong", SHA_256) is None
        made = check_acls_beside_tools(kafka.bootstrap, tools)
        add_user(kafka.bootstrap, "eve", "right-e")
        assert with_logins.login("eve", "right-e", SHA_512) is not None
        remove_user(kafka.bootstrap, "eve")
    ottla = ottla_broker_factory(data_dir=data, properties=AUTHORIZER)
    assert described(ottla.port) == {"alice": [(1, 4096)], "bob": [(2, 8192)]}
    assert check_acls(ottla.bootstrap_servers) == made
    add_user(ottla.bootstrap_servers, "eve", "right-e")
    remove_user(ottla.bootstrap_servers, "eve")
    ottla.close()
