"""What stands against a migration, of clusters that are plain values, with names made up here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from client.cluster_status import (
    BrokerState,
    ClusterStatus,
    PartitionState,
    QuorumState,
    VoterState,
)
from client.migration.activity import LONG_OPEN_MS
from client.migration.check import as_objects, findings_of, is_ready, report
from client.migration.cluster_state import OLDEST_RELEASE
from client.migration.contents import (
    BROKER,
    CONTROLLER,
    ClusterContents,
    GroupContents,
    NodeContents,
    ResourceName,
    SetConfig,
    UnreadPart,
)
from client.migration.findings import Finding, Severity, merged, wait
from client.refusals import why
from client.transactions.listing import Transaction
from controller.metadata.acl import Acl
from ground.config_def import ConfigSource
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode

STATIC = ConfigSource.STATIC_BROKER_CONFIG
DYNAMIC = ConfigSource.DYNAMIC_BROKER_CONFIG
DEFAULT = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
OF_TOPIC, OF_GROUP = ConfigSource.TOPIC_CONFIG, ConfigSource.GROUP_CONFIG
APIS = {int(key): versions for key, versions in STABLE_VERSIONS.items()}
NOW_MS = 1_800_000_000_000
FILE: dict[str, str | None] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "broker.id": "1",
    "listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9093",
    "advertised.listeners": "PLAINTEXT://h:9092,CONTROLLER://h:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@h:9093",
    "log.dirs": "/data",
}


def configs(source: ConfigSource, **texts: str | None) -> list[SetConfig]:
    """Configs of one source; `_` in a name stands for a dot."""
    return [SetConfig(name.replace("_", "."), text, source) for name, text in texts.items()]


def node(*more: SetConfig, node_id: int = 1, **fields: Any) -> NodeContents:
    """A broker with a whole configuration, and more configs."""
    own = {**FILE, "node.id": str(node_id), "broker.id": str(node_id)}
    own["controller.quorum.voters"] = f"{node_id}@h:9093"
    static = [SetConfig(name, text, STATIC) for name, text in own.items()]
    return NodeContents(node_id, BROKER, APIS, [*static, *more])._replace(**fields)


def healthy() -> ClusterStatus:
    quorum = QuorumState(1, 1, 5, [VoterState(1, 0, 0)], [])
    return ClusterStatus("abc", [BrokerState(1, "h", 9092, None, False)], quorum, 0, 0, [], [], [])


CLUSTER = ClusterContents(
    now_ms=NOW_MS, status=healthy(), features={"metadata.version": 33}, nodes=[node()]
)


def found(**fields: Any) -> list[tuple[str, str, str]]:
    """Severity, places and text of the findings about CLUSTER with other fields."""
    return [
        (str(one.severity), ", ".join(one.places), one.what)
        for one in findings_of(replace(CLUSTER, **fields))
    ]


def of_nodes(*more: SetConfig) -> list[tuple[str, str]]:
    """Severity and text of the findings about one broker with more configs."""
    return [(severity, text) for severity, _, text in found(nodes=[node(*more)])]


def test_a_plain_cluster_is_ready() -> None:
    assert found() == []
    assert is_ready([])


# --- features and nodes ---------------------------------------------------------------------------


def test_levels_that_are_refused_kept_or_not_known() -> None:
    levels = {
        "metadata.version": 99,
        "streams.version": 1,
        "share.version": 9,
        "teleport.version": 2,
        "group.version": 1,
    }
    assert found(features=levels) == [
        (
            "REFUSED",
            "feature metadata.version",
            "the finalized level is 99; this release of Ottla knows 7 (3.3-IV3) to 33 (4.4-IV2)",
        ),
        (
            "REFUSED",
            "feature share.version",
            "the finalized level is 9; this release of Ottla knows 0 to 2",
        ),
        (
            "REFUSED",
            "feature streams.version",
            "the finalized level is 1; Ottla does not serve its streams groups, so Kafka's "
            "controllers do not register its nodes",
        ),
        (
            "UNKNOWN",
            "feature teleport.version",
            "the finalized level is 2; Ottla does not know this feature",
        ),
    ]
    assert [one[0] for one in found(features={"streams.version": 7})] == ["REFUSED"]
    (old,) = findings_of(replace(CLUSTER, features={"metadata.version": 3}))
    assert old.severity is Severity.REFUSED and old.advice.startswith("raise")


def test_a_dynamic_quorum_is_named() -> None:
    contents = replace(CLUSTER, features={"metadata.version": 33, "kraft.version": 1})
    assert findings_of(contents) == []
    assert report(contents, [])[0] == (
        "cluster abc: metadata.version 33 (4.4-IV2), kraft.version 1 (dynamic quorum)"
    )
    assert "kraft.version 0 (static quorum)" in report(CLUSTER, [])[0]


def test_nodes_that_are_too_old_or_too_new() -> None:
    old = {**APIS, int(ApiKey.DESCRIBE_LOG_DIRS): (1, 4)}
    new = {**APIS, 4711: (0, 0), int(ApiKey.PRODUCE): (3, 99)}
    controller = NodeContents(3, CONTROLLER, {int(ApiKey.BROKER_HEARTBEAT): (0, 1)})
    nodes = [node(apis=old), node(node_id=2, apis=new), controller]
    assert found(nodes=nodes) == [
        (
            "REFUSED",
            "broker 1, controller 3",
            f"its APIs are of a release before Apache Kafka {OLDEST_RELEASE}",
        ),
        ("UNKNOWN", "broker 2", "serves Produce up to version 99; this release knows up to 13"),
        ("UNKNOWN", "broker 2", "serves an API with the unknown key 4711"),
    ]


def test_a_cluster_that_is_not_healthy_waits() -> None:
    lost = PartitionState("t", 0, -1, [1, 2], [])
    behind = [PartitionState("t", 1, 1, [1, 2], [1]), PartitionState("u", 0, 1, [1, 2], [1])]
    status = replace(
        healthy(),
        brokers=[BrokerState(2, "h", 1, None, True)],
        quorum=None,
        offline=[lost],
        under_replicated=[lost, *behind],
    )
    assert found(status=status) == [
        ("WAIT", "broker 2", "does not answer, or is fenced"),
        ("WAIT", "quorum", "no active controller answers"),
        ("WAIT", "topic t", "1 partition without a leader"),
        ("WAIT", "topic t, topic u", "1 partition under-replicated"),
    ]
    lagging = QuorumState(1, 1, 5, [VoterState(1, 0, 0), VoterState(2, 9, 60_000)], [])
    assert found(status=replace(healthy(), quorum=lagging)) == [
        ("WAIT", "controller 2", "lags behind the leader of the quorum")
    ]


def test_parts_that_were_not_read_stand_against_it() -> None:
    denied = why(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, "Describe on the cluster")
    contents = replace(CLUSTER, unread=[UnreadPart(part, denied) for part in ("ACLs", "groups")])
    (finding,) = findings_of(contents)
    assert (finding.severity, finding.places) == (Severity.UNREAD, ("ACLs", "groups"))
    assert finding.what == "this takes Describe on the cluster, which this login does not have"
    assert finding.advice.startswith("use another login")
    assert not is_ready([finding])


# --- configs of nodes -----------------------------------------------------------------------------


def test_keys_of_a_file_that_are_refused_ignored_or_not_known() -> None:
    keys: dict[str, str | None] = {
        "remote.log.storage.system.enable": "true",
        "num.partitions": "many",
        "acme.turbo.mode": None,
        "listener.name.plaintext.acme.turbo": None,
        "log.preallocate": "true",
        "queued.max.requests": "500",  # Kafka's default
        "sasl.kerberos.kinit.cmd": "/kinit",
    }
    results = of_nodes(*(SetConfig(name, text, STATIC) for name, text in keys.items()))
    assert results == [
        (
            "REFUSED",
            "remote.log.storage.system.enable is set, but tiered storage is not supported; "
            "leave it out",
        ),
        (
            "REFUSED",
            "Invalid value many for configuration num.partitions: Not a number of type INT",
        ),
        ("UNKNOWN", "unknown configuration key acme.turbo.mode"),
        ("UNKNOWN", "unknown configuration key listener.name.plaintext.acme.turbo"),
        ("IGNORED", "log.preallocate=true is kept and told to clients, but has no effect yet"),
        (
            "IGNORED",
            "sasl.kerberos.kinit.cmd=/kinit is ignored: Kerberos (GSSAPI) is not supported",
        ),
        (
            "IGNORED",
            "sasl.kerberos.kinit.cmd has no effect: no listener is SASL_PLAINTEXT or SASL_SSL; "
            "listener.security.protocol.map says what each is",
        ),
    ]


def test_classes_of_java_are_refused_each() -> None:
    results = of_nodes(
        *configs(
            STATIC,
            authorizer_class_name="com.acme.Authorizer",
            create_topic_policy_class_name="com.acme.Policy",
            replica_selector_class="com.acme.Selector",
        )
    )
    assert {severity for severity, _ in results} == {"REFUSED"}
    texts = " ".join(text for _, text in results)
    assert all(f"com.acme.{name}" in texts for name in ("Authorizer", "Policy"))
    assert "replica.selector.class is set" in texts and len(results) == 3


def test_a_secured_listener_with_hidden_values() -> None:
    listeners = "PLAINTEXT://h:9092,LOGIN://h:9095,CONTROLLER://h:9093"
    keys: dict[str, str | None] = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.login.scram-sha-512.sasl.jaas.config": None,
        "listener.name.login.oauthbearer.sasl.jaas.config": None,
        "listener.name.login.ssl.keystore.password": None,
        "ssl.keystore.location": "/keys",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": None,
        "allow.everyone.if.no.acl.found": None,
        "delegation.token.secret.key": None,
    }
    changed = [SetConfig(name, text, STATIC) for name, text in keys.items()]
    assert of_nodes(*changed) == []
    kerberos = SetConfig("sasl.enabled.mechanisms", "GSSAPI", STATIC)
    ((severity, text),) = of_nodes(*changed, kerberos)
    assert severity == "REFUSED" and "GSSAPI (Kerberos) is not supported" in text


def test_logins_in_a_jaas_file_are_not_read() -> None:
    listeners = "LOGIN://h:9095,CONTROLLER://h:9093"
    keys: dict[str, str | None] = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "LOGIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "LOGIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "create.topic.policy.class.name": "com.acme.Policy",
    }
    results = of_nodes(*(SetConfig(name, text, STATIC) for name, text in keys.items()))
    assert [severity for severity, _ in results[1:]] == ["UNREAD", "UNREAD", "IGNORED"]
    assert results[0][0] == "REFUSED" and "com.acme.Policy" in results[0][1]
    assert results[1][1] == (
        "listener.name.login.plain.sasl.jaas.config is not set; a JAAS file may have this login"
    )


def test_classes_of_config_providers() -> None:
    """Kafka hides the value of each key of a provider, but not its name."""
    keys = ("config.providers", "config.providers.vault.class", "config.providers.vault.param.x")
    hidden = [SetConfig(name, None, STATIC) for name in keys]
    assert of_nodes(*hidden) == []
    ((severity, text),) = of_nodes(*hidden, hidden[1]._replace(value="com.acme.Vault"))
    assert severity == "REFUSED"
    assert text.startswith("config.providers.vault.class=com.acme.Vault: Java classes cannot be")
    file = "org.apache.kafka.common.config.provider.FileConfigProvider"
    assert of_nodes(*hidden, hidden[1]._replace(value=file)) == []


def test_equal_findings_of_several_nodes_are_one_line() -> None:
    odd = SetConfig("acme.turbo", None, STATIC)
    findings = findings_of(
        replace(CLUSTER, nodes=[node(odd, node_id=number) for number in range(1, 8)])
    )
    assert str(findings[0]) == (
        "UNKNOWN  broker 1, broker 2, broker 3, broker 4, broker 5 and 2 more: unknown "
        "configuration key acme.turbo -> leave it out of the configuration with which Ottla "
        "starts, or set ottla.unknown.keys=warn"
    )
    assert len(findings) == 1 and len(findings[0].places) == 7


def test_dynamic_configs_of_a_broker_and_of_all() -> None:
    own = configs(
        DYNAMIC, acme_key=None, num_io_threads="64", cordoned_log_dirs="/d", log_retention_ms="x"
    )
    every = configs(
        DEFAULT,
        log_cleaner_threads="2",
        **{"share.coordinator.cached.buffer.max.bytes": "9999999", "max.connections.per.ip": "0"},
    )
    results = found(nodes=[node(*own)], all_brokers=every)
    assert [one[:2] for one in results] == [
        ("REFUSED", "broker 1"),
        ("REFUSED", "broker 1"),
        ("REFUSED", "all brokers"),
        ("UNKNOWN", "broker 1"),
        ("IGNORED", "all brokers"),
    ]
    texts = [one[2] for one in results]
    assert "cordoned log directories are not supported" in texts[0]
    assert (
        "log.retention.ms" in texts[1]
        and "max.connections.per.ip can be set to zero only" in texts[2]
    )
    assert "acme.key" in texts[3] and "cached.buffer" in texts[4]


def test_a_key_that_only_a_file_can_set_is_told_apart() -> None:
    (finding,) = findings_of(
        replace(CLUSTER, all_brokers=configs(DEFAULT, sasl_enabled_mechanisms="PLAIN"))
    )
    assert finding.places == ("all brokers",)
    moved = configs(DYNAMIC, **{"group.consumer.assignor.offload.enable": "false"})
    assert [one[0] for one in of_nodes(*moved)] == ["IGNORED"]


# --- configs of topics, groups and client metrics -------------------------------------------------


def test_configs_of_topics() -> None:
    topics = {
        "a": configs(OF_TOPIC, acme_level="9", preallocate="true", retention_ms="1000"),
        "b": configs(OF_TOPIC, remote_storage_enable="true", cleanup_policy="melt"),
        "c": configs(OF_TOPIC, min_compaction_lag_ms="9", max_compaction_lag_ms="8"),
        "d": configs(OF_TOPIC, remote_log_copy_disable="true"),
    }
    assert found(topics=topics) == [
        (
            "REFUSED",
            "topic b",
            "remote.storage.enable=true, but tiered storage is not supported",
        ),
        (
            "REFUSED",
            "topic b",
            "Invalid value melt for configuration cleanup.policy: String must be one of: compact, "
            "delete",
        ),
        (
            "REFUSED",
            "topic c",
            "conflict topic config setting min.compaction.lag.ms (9) > max.compaction.lag.ms (8)",
        ),
        ("UNKNOWN", "topic a", "unknown topic config acme.level"),
        (
            "IGNORED",
            "topic a",
            "preallocate=true is kept and told to clients, but has no effect yet",
        ),
        (
            "IGNORED",
            "topic d",
            "remote.log.copy.disable=true is kept and told to clients, but has no effect yet",
        ),
    ]


def test_configs_of_groups_client_metrics_and_things_unheard_of() -> None:
    results = found(
        group_configs={
            "g": configs(OF_GROUP, consumer_session_timeout_ms="1", acme_pace="9"),
            "s": configs(OF_GROUP, streams_session_timeout_ms="50000"),
        },
        client_metrics={
            "m": configs(
                ConfigSource.CLIENT_METRICS_CONFIG, interval_ms="1", match="", acme_unit="x"
            )
        },
        other_resources=[ResourceName(77, "r")],
    )
    assert [one[:2] for one in results] == [
        ("REFUSED", "group g"),
        ("REFUSED", "client metrics m"),
        ("UNKNOWN", "group g"),
        ("UNKNOWN", "client metrics m"),
        ("UNKNOWN", "resource r"),
        ("IGNORED", "group s"),
        ("IGNORED", "client metrics m"),
    ]
    assert results[2][2] == "unknown group config acme.pace"
    assert results[3][2] == "unknown client metrics config acme.unit"
    assert results[4][2] == "configs of a resource of the unknown type 77"
    assert "streams groups, which Ottla does not serve" in results[5][2]


# --- access ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("resource", "the resource with the number 99"),
        ("pattern", "the pattern with the number 99"),
        ("operation", "the operation with the number 99"),
        ("permission", "the permission with the number 99"),
    ],
)
def test_acls_with_unknown_numbers(field: str, what: str) -> None:
    acl = Acl(2, "orders", 3, "User:a", "*", 3, 3)
    assert found(acls=[acl, acl._replace(operation=2)]) == []
    ((severity, place, text),) = found(acls=[acl._replace(**{field: 99})])
    assert severity == "UNKNOWN" and place.startswith("ACL ") and "99" in place
    assert text.startswith(what)


def test_an_acl_for_two_phase_commit_is_ignored() -> None:
    assert [one[0] for one in found(acls=[Acl(5, "x", 3, "User:a", "*", 15, 3)])] == ["IGNORED"]


def test_quotas_of_unknown_kinds() -> None:
    quotas = {
        (("user", "alice"),): {"producer_byte_rate": 1.0, "acme_rate": 2.0},
        (("user", None), ("planet", "mars")): {"producer_byte_rate": 1.0},
        (("ip", "10.0.0.1"),): {"connection_creation_rate": 0.5},
    }
    assert found(quotas=quotas) == [
        (
            "REFUSED",
            "quota of ip 10.0.0.1",
            "connection_creation_rate: connection_creation_rate cannot be a fractional value.",
        ),
        ("UNKNOWN", "quota of user alice", "unknown quota acme_rate"),
        ("UNKNOWN", "quota of user by default, planet mars", "unknown type of entity planet"),
    ]


def test_scram_mechanisms_of_users() -> None:
    users = {"alice": ["SCRAM-SHA-256"], "bob": ["mechanism 9"]}
    assert found(scram_mechanisms=users) == [("UNKNOWN", "user bob", "unknown mechanism 9")]


# --- groups and transactions ----------------------------------------------------------------------


def test_groups_of_all_types() -> None:
    groups = [
        GroupContents("a", "classic", "cooperative-sticky"),
        GroupContents("b", "Consumer", "uniform"),
        GroupContents("c", "consumer", "acme-sticky"),
        GroupContents("d", "share"),
        GroupContents("e", "Streams"),
        GroupContents("f", "Swarm"),
        GroupContents("g", ""),
    ]
    assert found(groups=groups) == [
        ("REFUSED", "group e", "Ottla does not serve streams groups"),
        ("UNKNOWN", "group c", "unknown assignor acme-sticky"),
        ("UNKNOWN", "group f", "unknown type of group Swarm"),
    ]


def test_transactions_that_are_open_for_long_or_have_two_phases() -> None:
    plain = Transaction("a", 1, 0, "Ongoing", 1, 60_000, NOW_MS - 1_000, [])
    transactions = [
        plain,
        plain._replace(transactional_id="b", started_ms=NOW_MS - LONG_OPEN_MS),
        plain._replace(transactional_id="c", timeout_ms=2**31 - 1, started_ms=None),
    ]
    results = found(transactions=transactions)
    assert [one[:2] for one in results] == [("REFUSED", "transaction c"), ("WAIT", "transaction b")]
    assert "two-phase commit is not supported" in results[0][2]
    assert results[1][2] == "Ongoing for 5 min"
    longer = configs(STATIC, transaction_max_timeout_ms=str(2**31 - 1))
    assert len(found(transactions=transactions, nodes=[node(*longer)])) == 1


# --- lines and objects ----------------------------------------------------------------------------


def lines(findings: Sequence[Finding]) -> list[str]:
    return report(CLUSTER, findings)


def test_the_report_has_a_line_for_each_finding_and_the_counts() -> None:
    findings = findings_of(replace(CLUSTER, groups=[GroupContents("f", "Swarm")]))
    assert lines(findings)[1:] == [
        "read: 1 node, 0 topics, 0 groups, 0 ACLs, 0 owners of quotas, 0 SCRAM users, "
        "0 transactions",
        "UNKNOWN  group f: unknown type of group Swarm -> move its application to another kind "
        "of group, or leave it on Apache Kafka",
        "not ready: 0 REFUSED, 1 UNKNOWN, 0 WAIT, 0 UNREAD, 0 IGNORED",
    ]
    assert lines([])[-1] == "ready: 0 REFUSED, 0 UNKNOWN, 0 WAIT, 0 UNREAD, 0 IGNORED"


def test_a_cluster_of_which_little_was_read_is_told() -> None:
    contents = ClusterContents(now_ms=NOW_MS)
    assert report(contents, [])[0] == (
        "cluster (its id was not read): metadata.version not read, kraft.version 0 (unknown quorum)"
    )
    assert as_objects(contents, [])[-1]["quorum"] is None


def test_the_objects_of_json() -> None:
    finding = wait("topic t", "x", "y")
    first, last = as_objects(CLUSTER, merged([finding, finding]))
    assert first == {"severity": "WAIT", "places": ("topic t",), "what": "x", "advice": "y"}
    assert (last["ready"], last["cluster_id"], last["quorum"]) == (False, "abc", "static")
    assert last["counts"]["WAIT"] == 1 and last["nodes"] == [{"id": 1, "kind": "broker"}]
