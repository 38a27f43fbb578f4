"""What a cluster has before a migration, and how it is described: users, ACLs, quotas, configs.

`Scene` creates it through `ottla`'s commands on Apache Kafka, and `description` reads it again, so
that the same must come out after each change of the nodes' program.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from command.cli import run_cli
from tests.chaos.cluster_view import ClusterView
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.cluster_security import PASSWORD, USER, ClusterLogin

SCRAM = "SCRAM-SHA-512"
MECHANISMS = f"PLAIN,{SCRAM}"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PROPERTIES = {
    "listener.name.clients.sasl.enabled.mechanisms": MECHANISMS,
    "listener.name.clients.scram-sha-512.sasl.jaas.config": _SCRAM_MODULE,
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "3000",  # the copier's
    "auto.create.topics.enable": "false",
    "log.segment.bytes": "1048576",
    # On a busy machine, no node shall lose its leadership or its session because it is slow.
    "controller.quorum.election.timeout.ms": "5000",
    "controller.quorum.fetch.timeout.ms": "10000",
    "controller.quorum.request.timeout.ms": "10000",
    "broker.session.timeout.ms": "30000",
    "replica.lag.time.max.ms": "30000",
}
WRITER, READER, COPIER = "writer", "reader", "copier"
PREFIX = "moved-"
"""The beginning of the names of topics, groups and transactional ids."""
KEPT_GROUP = f"{PREFIX}kept"
SHARE_GROUP = f"{PREFIX}share"
KEPT_OFFSETS = {0: 3, 1: 1}
CHANGED_TOPIC_CONFIGS = ("retention.ms=-1", "max.message.bytes=900000")


class Scene:
    """The contents of a cluster. `topics` are created; the first one gets configs of its own."""

    def __init__(self, cluster: ClusterProcesses, folder: Path) -> None:
        assert cluster.login is not None
        self._cluster = cluster
        self._login = cluster.login
        admin = folder / "admin.properties"
        admin.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={_PLAIN_MODULE} username="{USER}" password="{PASSWORD}";\n'
            f"ssl.truststore.type=PEM\nssl.truststore.location={self._login.authority}\n"
        )
        self._options = ("-b", cluster.bootstrap, "--command-config", str(admin))
        self._topics: list[str] = []

    def login(self, user: str) -> ClusterLogin:
        """Return the login of a SCRAM user."""
        return replace(self._login, mechanism=SCRAM, user=user, password=f"{user}-secret")

    def create(self, topics: Iterable[tuple[str, int]]) -> None:
        """Create topics with their partitions, users, ACLs, quotas, configs and a group."""
        view = ClusterView(self._cluster)
        for topic, partitions in topics:
            view.create_topic(topic, partitions, min_insync_replicas="2")
            self._topics.append(topic)
        self._ottla("topic", "alter", self._topics[0], *CHANGED_TOPIC_CONFIGS)
        for user in (WRITER, READER, COPIER):
            words = ("--mechanism", SCRAM, "--password", f"{user}-secret")
            self._ottla("user", "add", user, *words)
        prefixed = ("--resource-pattern-type", "prefixed")
        writes = ("--producer", "--topic", PREFIX)
        reads = ("--consumer", "--topic", PREFIX, "--group", PREFIX)
        for user, rights in (
            (WRITER, (*writes, "--transactional-id", PREFIX)),
            (READER, reads),
            (COPIER, (*writes, "--transactional-id", "copier-")),
            (COPIER, reads),
        ):
            self._ottla("acl", "add", "--allow-principal", f"User:{user}", *rights, *prefixed)
        self._ottla("acl", "add", "--deny-principal", "User:*", "--deny-host", "10.9.8.0/24",
                   "--topic", self._topics[0])  # fmt: skip
        self._ottla("quota", "set", "--user", WRITER, "producer_byte_rate=40MB")
        self._ottla("quota", "set", "--client-id", "slow", "consumer_byte_rate=1MB")
        self._ottla("config", "set", "--group", SHARE_GROUP, "share.auto.offset.reset=earliest")
        self._ottla("config", "set", "--broker", "all", "log.cleaner.threads=2")
        self._commit()

    def _commit(self) -> None:
        """Commit offsets of a group that has no members afterwards."""
        settings = {
            "bootstrap.servers": self._cluster.bootstrap,
            "group.id": KEPT_GROUP,
            **self.login(READER).of_librdkafka(),
        }
        consumer = Consumer(settings)
        places = [TopicPartition(self._topics[0], *place) for place in KEPT_OFFSETS.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def description(self) -> dict[str, object]:
        """Return what the cluster says about all of it, and its levels of features."""
        said: dict[str, object] = {
            " ".join(words): sorted(self._ottla(*words, "--json").splitlines())
            for words in (
                ("acl", "list"),
                ("quota", "list"),
                ("user", "list"),
                ("config", "show", "--topic", self._topics[0]),
                ("config", "show", "--group", SHARE_GROUP),
                ("config", "show", "--broker", "all"),
            )
        }
        group = json.loads(self._ottla("group", "describe", KEPT_GROUP, "--json"))
        said["committed"] = {one["partition"]: one["committed"] for one in group["partitions"]}
        verdict = self._ottla("migrate", "check", "--json").splitlines()[-1]
        said["features"] = json.loads(verdict)["features"]
        return said

    def _ottla(self, *words: str) -> str:
        """Run a command in this process, as a user would, and return what it printed."""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = run_cli([*words, *self._options])
        assert code == 0, f"{words}: exit code {code}\n{output.getvalue()}{errors.getvalue()}"
        return output.getvalue()
