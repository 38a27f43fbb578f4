"""Bodies of the requests about configs, brokers and the cluster. What is shared is only looked at.

Both brokers live through thousands of sequences: a config of a broker is validated, never set, no
feature changes, and the broker that is unregistered is one that nobody knows. See `bodies_of_data`
for the form.
"""

from __future__ import annotations

import random
from typing import Any

from tests.differential import values
from tests.differential.bodies_of_data import Made, partitions, topic_names
from tests.differential.sequence import Body

TOPIC, BROKER, BROKER_LOGGER, GROUP = 2, 4, 8, 32
BROKER_KEYS = (
    *("compression.type", "log.retention.ms", "num.partitions", "node.id", "log.cleaner.threads"),
    *("group.initial.rebalance.delay.ms", "auto.create.topics.enable", "no.such.config", ""),
)
FEATURES = ("metadata.version", "transaction.version", "group.version", "no.such", "")


def _resource(rng: random.Random) -> tuple[int, str]:
    kind = rng.choice((TOPIC, TOPIC, TOPIC, GROUP, GROUP, BROKER))
    names = {TOPIC: values.TOPICS, GROUP: values.GROUPS, BROKER: ("1", "1", "", "2", "x")}
    return kind, rng.choice(names[kind])


def _config(rng: random.Random, kind: int) -> tuple[str, Any]:
    if kind == BROKER:
        return rng.choice(BROKER_KEYS), rng.choice(("1", "gzip", "-1", "x"))
    return rng.choice(values.TOPIC_CONFIGS if kind == TOPIC else values.GROUP_CONFIGS)


def describe_configs(rng: random.Random, version: int) -> Made:
    kind, name = _resource(rng)
    keys: list[str] | None = None
    if kind == BROKER or rng.random() < 0.5:
        keys = [_config(rng, kind)[0] for _ in range(rng.choice((1, 2)))]
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    return {
        "resources": [resource],
        "include_synonyms": rng.random() < 0.5,
        "include_documentation": version >= 3 and rng.random() < 0.2,
    }, None


def alter_configs(rng: random.Random, version: int) -> Made:
    kind, name = _resource(rng)
    configs = [_config(rng, kind) for _ in range(rng.choice((0, 1, 1, 2)))]
    resource = {
        "resource_type": kind,
        "resource_name": name,
        "configs": [{"name": key, "value": value} for key, value in configs],
    }
    return {"resources": [resource], "validate_only": kind == BROKER or rng.random() < 0.2}, None


def incremental_alter_configs(rng: random.Random, version: int) -> Made:
    kind, name = _resource(rng)
    configs = []
    for _ in range(rng.choice((1, 1, 2))):
        key, value = _config(rng, kind)
        operation = rng.choice((0, 0, 0, 1, 2, 3))
        if operation == 1:
            value = rng.choice((None, value))
        configs.append({"name": key, "config_operation": operation, "value": value})
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    return {"resources": [resource], "validate_only": kind == BROKER or rng.random() < 0.2}, None


def list_config_resources(rng: random.Random, version: int) -> Made:
    return ({"resource_types": rng.choice(([], [2], [32], [2, 32], [16]))} if version else {}), None


def describe_cluster(rng: random.Random, version: int) -> Made:
    body: Body = {"include_cluster_authorized_operations": rng.random() < 0.5}
    if version >= 1:
        body["endpoint_type"] = rng.choice((1, 1, 2, 0))
    if version >= 2:
        body["include_fenced_brokers"] = rng.random() < 0.5
    return body, None


def describe_log_dirs(rng: random.Random, version: int) -> Made:
    topics = [{"topic": name, "partitions": partitions(rng)} for name in topic_names(rng)]
    return {"topics": topics}, None


def alter_replica_log_dirs(rng: random.Random, version: int) -> Made:
    topics = [{"name": name, "partitions": partitions(rng)} for name in topic_names(rng)]
    directory = {"$": "directory", "of": "first"}
    path = rng.choice((directory, directory, "/no/such/folder", "", "relative"))
    return {"dirs": [{"path": path, "topics": topics}]}, None


def elect_leaders(rng: random.Random, version: int) -> Made:
    topics = [{"topic": name, "partitions": partitions(rng)} for name in topic_names(rng)]
    kind = rng.choice((0, 0, 1)) if version >= 1 else 0
    return {"election_type": kind, "topic_partitions": topics, "timeout_ms": 5000}, None


def alter_partition_reassignments(rng: random.Random, version: int) -> Made:
    replicas = (None, [1], [1], [2], [], [1, 1], [-1], [1, 2])
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": p, "replicas": rng.choice(replicas)} for p in partitions(rng)
            ],
        }
        for name in topic_names(rng)
    ]
    body: Body = {"timeout_ms": 5000, "topics": topics}
    if version >= 1:
        body["allow_replication_factor_change"] = rng.random() < 0.7
    return body, None


def list_partition_reassignments(rng: random.Random, version: int) -> Made:
    topics = [{"name": name, "partition_indexes": partitions(rng)} for name in topic_names(rng)]
    return {"timeout_ms": 5000, "topics": rng.choice((None, topics, topics))}, None


def describe_quorum(rng: random.Random, version: int) -> Made:
    name = rng.choice(("__cluster_metadata", "__cluster_metadata", "~t0", ""))
    part = rng.choice((0, 0, 1))
    return {"topics": [{"topic_name": name, "partitions": [{"partition_index": part}]}]}, None


def update_features(rng: random.Random, version: int) -> Made:
    update: Body = {
        "feature": rng.choice(FEATURES),
        "max_version_level": rng.choice((30, 2, 1, 0, 31, 99)),
    }
    if version >= 1:
        update["upgrade_type"] = rng.choice((1, 1, 2, 3, 0, 4))
    else:
        update |= {"feature": "no.such"}
    return {"timeout_ms": 5000, "feature_updates": [update], "validate_only": version >= 1}, None


def unregister_broker(rng: random.Random, version: int) -> Made:
    return {"broker_id": rng.choice((99, -1))}, None


def unregister_controller(rng: random.Random, version: int) -> Made:
    """Remove the registration of the only controller, or of an unknown one."""
    return {"controller_id": rng.choice((99, -1, 1))}, None


def _mechanism(rng: random.Random) -> int:
    return rng.choice((1, 1, 2, 2, 0, 3))


def alter_user_scram_credentials(rng: random.Random, version: int) -> Made:
    deletions = [
        {"name": rng.choice(values.USERS), "mechanism": _mechanism(rng)}
        for _ in range(rng.choice((0, 0, 0, 1, 2)))
    ]
    upsertions = [
        {
            "name": rng.choice(values.USERS),
            "mechanism": _mechanism(rng),
            "iterations": rng.choice((4096, 4096, 5000, 16_384, 4095, 16_385)),
            "salt": {"$hex": "0102"},
            "salted_password": {"$hex": "aa" * 32},
        }
        for _ in range(rng.choice((0, 1, 1, 2)))
    ]
    return {"deletions": deletions, "upsertions": upsertions}, None


def describe_user_scram_credentials(rng: random.Random, version: int) -> Made:
    users = [{"name": rng.choice(values.USERS)} for _ in range(rng.choice((0, 1, 1, 2)))]
    return {"users": rng.choice((None, users, users))}, None


def _acl(rng: random.Random, *more: Any) -> tuple[Any, ...]:
    """Type, name, pattern, principal, host, operation, permission; `more`: what a filter may say
    beside them. Neither broker of these sequences has an authorizer."""
    return (
        rng.choice((2, 3, 4, 5, 6, *more)),
        rng.choice(("~t0", "*", "kafka-cluster", "")),
        rng.choice((3, 4, *more)),
        rng.choice(("User:a", "User:*", "a")),
        rng.choice(("*", "127.0.0.1")),
        rng.choice((2, 3, 15, *more)),
        rng.choice((2, 3, *more)),
    )


def create_acls(rng: random.Random, version: int) -> Made:
    names = ("resource_type", "resource_name", "resource_pattern_type")
    names += ("principal", "host", "operation", "permission_type")
    acls = [dict(zip(names, _acl(rng), strict=True)) for _ in range(rng.choice((0, 1, 2)))]
    return {"creations": acls}, None


def _acl_filter(rng: random.Random) -> Body:
    names = ("resource_type_filter", "resource_name_filter", "pattern_type_filter")
    names += ("principal_filter", "host_filter", "operation", "permission_type")
    return dict(zip(names, _acl(rng, 1), strict=True))


def describe_acls(rng: random.Random, version: int) -> Made:
    return _acl_filter(rng), None


def delete_acls(rng: random.Random, version: int) -> Made:
    return {"filters": [_acl_filter(rng) for _ in range(rng.choice((0, 1, 2)))]}, None


def create_delegation_token(rng: random.Random, version: int) -> Made:
    """Here and below: on a listener without a login, where nobody deals with tokens."""
    kinds = ("User", "Group", "")
    renewers = [
        {"principal_type": rng.choice(kinds), "principal_name": rng.choice(("~u0", ""))}
        for _ in range(rng.choice((0, 1, 2)))
    ]
    made: Body = {"renewers": renewers, "max_lifetime_ms": rng.choice((-1, 0, 1, 2**63 - 1))}
    if version >= 3:
        made["owner_principal_type"] = rng.choice(kinds)
        made["owner_principal_name"] = rng.choice(("", "~u0", None))
    return made, None


def _hmac(rng: random.Random) -> Body:
    return {"$hex": rng.choice(("", "00", "ff" * 64))}


def renew_delegation_token(rng: random.Random, version: int) -> Made:
    return {"hmac": _hmac(rng), "renew_period_ms": rng.choice((-1, 0, 1, 2**63 - 1))}, None


def expire_delegation_token(rng: random.Random, version: int) -> Made:
    return {"hmac": _hmac(rng), "expiry_time_period_ms": rng.choice((-1, 0, 1, 2**63 - 1))}, None


def describe_delegation_token(rng: random.Random, version: int) -> Made:
    owners = [
        {"principal_type": "User", "principal_name": rng.choice(("~u0", "~u1", ""))}
        for _ in range(rng.choice((0, 1, 2)))
    ]
    return {"owners": rng.choice((None, owners))}, None


def _voter(rng: random.Random) -> Body:
    """A voter that neither broker knows: both have a static quorum of one."""
    return {
        "cluster_id": rng.choice((None, {"$": "cluster_id", "of": "own"}, "", "x")),
        "voter_id": rng.choice((1, 2, 0, -1)),
        "voter_directory_id": {"$hex": rng.choice(("00" * 16, "07" * 16))},
    }


def add_raft_voter(rng: random.Random, version: int) -> Made:
    listeners = [
        {"name": rng.choice(("CONTROLLER", "CONTROLLER", "x")), "host": "localhost", "port": 9}
        for _ in range(rng.choice((0, 1, 1, 2)))
    ]
    made = {**_voter(rng), "timeout_ms": 1_000, "listeners": listeners}
    if version >= 1:
        made["ack_when_committed"] = rng.random() < 0.5
    return made, None


def remove_raft_voter(rng: random.Random, version: int) -> Made:
    return _voter(rng), None


def describe_client_quotas(rng: random.Random, version: int) -> Made:
    components = [
        {
            "entity_type": rng.choice(("user", "client-id", "ip", "group", "")),
            "match_type": rng.choice((0, 1, 2, 3)),
            "match": rng.choice((None, None, "~u0")),
        }
        for _ in range(rng.choice((0, 1, 1, 2)))
    ]
    return {"components": components, "strict": rng.random() < 0.5}, None


def alter_client_quotas(rng: random.Random, version: int) -> Made:
    kinds = rng.choice(("user", "client-id", "ip", "group", "user client-id", "")).split()
    entity = [{"entity_type": kind, "entity_name": rng.choice(("~u0", None, ""))} for kind in kinds]
    op = {
        "key": rng.choice(("producer_byte_rate", "request_percentage", "connection_creation_rate")),
        "value": rng.choice((1.0, 0.5, 0.0, 1e9)),
        "remove": rng.random() < 0.3,
    }
    # Only looked at: what is set would hold the two brokers' clients back.
    return {"entries": [{"entity": entity, "ops": [op]}], "validate_only": True}, None


def api_versions(rng: random.Random, version: int) -> Made:
    if version < 3:
        return {}, None
    names = ("tester", "a b", "", "-x", "x-", "x.y")
    body = {
        "client_software_name": rng.choice(names),
        "client_software_version": rng.choice(names),
    }
    if version >= 5:
        own = {"$": "cluster_id", "of": "own"}
        body |= {"cluster_id": rng.choice((own, None, "", "x")), "node_id": rng.choice((-1, 1, 2))}
    return body, None


def sasl_handshake(rng: random.Random, version: int) -> Made:
    """On a listener without SASL."""
    return {"mechanism": rng.choice(("PLAIN", "SCRAM-SHA-512", "", "x"))}, None


def sasl_authenticate(rng: random.Random, version: int) -> Made:
    """The same."""
    return {"auth_bytes": {"$hex": rng.choice(("", "00610062", "ff" * 40))}}, None


BODIES = {
    "DESCRIBE_CONFIGS": describe_configs,
    "ALTER_CONFIGS": alter_configs,
    "INCREMENTAL_ALTER_CONFIGS": incremental_alter_configs,
    "LIST_CONFIG_RESOURCES": list_config_resources,
    "DESCRIBE_CLUSTER": describe_cluster,
    "DESCRIBE_LOG_DIRS": describe_log_dirs,
    "ALTER_REPLICA_LOG_DIRS": alter_replica_log_dirs,
    "ELECT_LEADERS": elect_leaders,
    "ALTER_PARTITION_REASSIGNMENTS": alter_partition_reassignments,
    "LIST_PARTITION_REASSIGNMENTS": list_partition_reassignments,
    "DESCRIBE_QUORUM": describe_quorum,
    "UPDATE_FEATURES": update_features,
    "UNREGISTER_BROKER": unregister_broker,
    "UNREGISTER_CONTROLLER": unregister_controller,
    "ADD_RAFT_VOTER": add_raft_voter,
    "REMOVE_RAFT_VOTER": remove_raft_voter,
    "ALTER_USER_SCRAM_CREDENTIALS": alter_user_scram_credentials,
    "DESCRIBE_USER_SCRAM_CREDENTIALS": describe_user_scram_credentials,
    "CREATE_ACLS": create_acls,
    "DESCRIBE_ACLS": describe_acls,
    "DELETE_ACLS": delete_acls,
    "CREATE_DELEGATION_TOKEN": create_delegation_token,
    "RENEW_DELEGATION_TOKEN": renew_delegation_token,
    "EXPIRE_DELEGATION_TOKEN": expire_delegation_token,
    "DESCRIBE_DELEGATION_TOKEN": describe_delegation_token,
    "DESCRIBE_CLIENT_QUOTAS": describe_client_quotas,
    "ALTER_CLIENT_QUOTAS": alter_client_quotas,
    "API_VERSIONS": api_versions,
    "SASL_HANDSHAKE": sasl_handshake,
    "SASL_AUTHENTICATE": sasl_authenticate,
}
