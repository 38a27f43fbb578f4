"""The part of the table for administrators: what most often the controller decides, so that it is
asked on both listeners.
"""

from __future__ import annotations

from typing import Any

from ottla.plugins.authorizer import Operation, Resource
from tests.authorization.denials.rows import ALICE, BROKER, CONTROLLER, TOKEN, Body, Row
from tests.authorization.denials.words import (
    ALTER,
    ALTER_CONFIGS,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    ON_BOTH_TOPICS,
    READ,
    TYPE_BROKER,
    TYPE_GROUP,
    TYPE_LOGGER,
    TYPE_TOPIC,
    by_id,
    cluster,
    group,
    topic,
    topics,
)
from tests.differential.sequence import Step

BOTH = (BROKER, CONTROLLER)
NAMED_BY_ID = [{"name": None, **one} for one in by_id()]

MADE = {"num_partitions": 1, "replication_factor": 1}


def create(*names: str) -> Body:
    return {"topics": topics(names=names, **MADE), "timeout_ms": 5000}


def resources(*listed: tuple[int, str], **more: Any) -> list[Body]:
    return [{"resource_type": kind, "resource_name": name, **more} for kind, name in listed]


TOPICS_AND_GROUP = ((TYPE_TOPIC, "~t"), (TYPE_TOPIC, "~gone"), (TYPE_GROUP, "~g"))
SET = {"configs": [{"name": "consumer.session.timeout.ms", "value": "50000"}]}
RETENTION = {"configs": [{"name": "retention.ms", "value": "1000000"}]}
THREADS = {"configs": [{"name": "log.cleaner.threads", "value": "1"}]}
SHOWN = {"configuration_keys": ["retention.ms", "log.cleaner.threads"]}
ELECTED = {"election_type": 0, "timeout_ms": 5000}
REASSIGNED = {"partitions": [{"partition_index": 0, "replicas": None}]}
EACH_USER = {"entity_type": "user", "match_type": 2, "match": None}
PASSWORD = {
    "mechanism": 1,
    "iterations": 4096,
    "salt": {"$hex": "01"},
    "salted_password": {"$hex": "aa" * 32},
}


BOB = {
    "resource_type": Resource.TOPIC,
    "resource_name": "~t",
    "principal": "User:bob",
    "host": "*",
    "operation": READ,
    "permission_type": 3,
}
OF_TOPIC = {
    "resource_type_filter": Resource.TOPIC,
    "resource_name_filter": "~t",
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


MADE_TOKEN = Step("CREATE_DELEGATION_TOKEN", 3, {"max_lifetime_ms": -1})
RENEWED_BY_ALICE = Step(
    "CREATE_DELEGATION_TOKEN",
    3,
    {
        "max_lifetime_ms": -1,
        "renewers": [{"principal_type": "User", "principal_name": ALICE}],
    },
)
FOR_BOB = {"owner_principal_type": "User", "owner_principal_name": "bob", "max_lifetime_ms": -1}
OF_CAROL = {"owners": [{"principal_type": "User", "principal_name": "carol"}]}
MADE_FOR_CAROL = Step(
    "CREATE_DELEGATION_TOKEN",
    3,
    {"owner_principal_type": "User", "owner_principal_name": "carol", "max_lifetime_ms": -1},
)
HMAC = {"hmac": {"$": "hmac", "of": "last"}}
# Its owner can: the controller knows the token.
KNOWN_TOKEN = Step("RENEW_DELEGATION_TOKEN", 2, {**HMAC, "renew_period_ms": -1})


def alter(api: str, version: int, value: Body) -> tuple[Row, ...]:
    """Both ways to change configs."""
    both = (topic(ALTER_CONFIGS), topic(ALTER_CONFIGS, "~gone"))
    of_topics = resources(*TOPICS_AND_GROUP[:2], **RETENTION)
    of_group = resources(TOPICS_AND_GROUP[2], **value)
    of_broker = resources((TYPE_BROKER, "1"), **THREADS)
    return (
        Row(api, version, {"resources": of_topics}, both, "of topics", (), BOTH),
        Row(
            *(api, version, {"resources": of_group}, (group(ALTER_CONFIGS),), "of a group"),
            listeners=BOTH,
        ),
        Row(
            *(api, version, {"resources": of_broker, "validate_only": True}),
            (cluster(ALTER_CONFIGS),),
            "of a broker",
            listeners=BOTH,
        ),
    )


def quota_of(user: str, value: float = 1e9) -> Body:
    """A quota that nobody feels."""
    ops = [{"key": "producer_byte_rate", "value": value, "remove": False}]
    return {"entity": [{"entity_type": "user", "entity_name": user}], "ops": ops}


def on_cluster(
    api: str, version: int, body: Body, operation: Operation, listeners: tuple[str, ...] = BOTH
) -> Row:
    """What needs one right on the cluster."""
    return Row(api, version, body, (cluster(operation),), listeners=listeners)


NO_VOTER: Body = {"cluster_id": "bm90IHRoaXMgY2x1c3Rlcg", "voter_id": 97}
"""Of another cluster, so that nothing changes."""

ADMINISTRATION = (
    Row(
        *("CREATE_TOPICS", 7, create("~new", "~t")),
        (cluster(CREATE), topic(DESCRIBE_CONFIGS, "~new")),
        "Create on the cluster",
        listeners=BOTH,
    ),
    Row(
        *("CREATE_TOPICS", 7, create("~new", "~t")),
        (topic(CREATE, "~new"), topic(CREATE), topic(DESCRIBE_CONFIGS, "~new")),
        "Create on each",
        listeners=BOTH,
    ),
    Row(
        *("CREATE_TOPICS", 4, {**create("~new", "~t"), "validate_only": True}, (cluster(CREATE),)),
        "validated only",
        listeners=BOTH,
    ),
    Row(
        *("DELETE_TOPICS", 5, {"topic_names": ["~t", "~gone"], "timeout_ms": 5000}),
        ON_BOTH_TOPICS[DELETE],
        "by name",
        listeners=BOTH,
    ),
    Row(
        *("DELETE_TOPICS", 6, {"topics": topics(), "timeout_ms": 5000}, (cluster(DELETE),)),
        "Delete on the cluster",
        listeners=BOTH,
    ),
    Row(
        *("DELETE_TOPICS", 6, {"topics": NAMED_BY_ID, "timeout_ms": 5000}),
        (topic(DESCRIBE), topic(DELETE)),
        "by id",
        listeners=BOTH,
    ),
    Row(
        *(
            "CREATE_PARTITIONS",
            3,
            {"topics": topics(count=2, assignments=None), "timeout_ms": 5000},
        ),
        ON_BOTH_TOPICS[ALTER],
        listeners=BOTH,
    ),
    Row(
        *("DESCRIBE_CONFIGS", 4, {"resources": resources(*TOPICS_AND_GROUP, **SHOWN)}),
        (topic(DESCRIBE_CONFIGS), topic(DESCRIBE_CONFIGS, "~gone"), group(DESCRIBE_CONFIGS)),
        "of topics and a group",
    ),
    Row(
        "DESCRIBE_CONFIGS",
        4,
        {"resources": resources((TYPE_BROKER, "1"), (TYPE_LOGGER, "1"), **SHOWN)},
        (cluster(DESCRIBE_CONFIGS),),
        "of a broker",
    ),
    *alter("ALTER_CONFIGS", 2, SET),
    *alter("INCREMENTAL_ALTER_CONFIGS", 1, SET),
    Row("LIST_CONFIG_RESOURCES", 1, {"resource_types": [2]}, (cluster(DESCRIBE_CONFIGS),)),
    on_cluster(
        *("ALTER_REPLICA_LOG_DIRS", 2),
        {"dirs": [{"path": "/no/such/folder", "topics": topics(partitions=[0])}]},
        ALTER,
        (BROKER,),
    ),
    on_cluster(
        *("DESCRIBE_LOG_DIRS", 4, {"topics": topics("topic", partitions=[0])}, DESCRIBE, (BROKER,))
    ),
    on_cluster("DESCRIBE_LOG_DIRS", 2, {"topics": None}, DESCRIBE, (BROKER,)),
    on_cluster(
        *("ELECT_LEADERS", 2, {**ELECTED, "topic_partitions": topics("topic", partitions=[0])}),
        ALTER,
    ),
    on_cluster("ALTER_PARTITION_REASSIGNMENTS", 1, {"topics": topics(**REASSIGNED)}, ALTER),
    on_cluster(
        "LIST_PARTITION_REASSIGNMENTS", 0, {"topics": topics(partition_indexes=[0])}, DESCRIBE
    ),
    on_cluster(
        "DESCRIBE_QUORUM",
        2,
        {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
        DESCRIBE,
    ),
    on_cluster(
        "UPDATE_FEATURES",
        2,
        {
            "feature_updates": [{"feature": "no.such", "max_version_level": 1, "upgrade_type": 1}],
            "validate_only": True,
        },
        ALTER,
    ),
    on_cluster("UNREGISTER_BROKER", 0, {"broker_id": 98}, ALTER),
    on_cluster("UNREGISTER_CONTROLLER", 0, {"controller_id": 98}, ALTER),
    on_cluster("ADD_RAFT_VOTER", 1, {**NO_VOTER, "timeout_ms": 1000}, ALTER),
    on_cluster("REMOVE_RAFT_VOTER", 0, NO_VOTER, ALTER),
    on_cluster(
        "ALTER_USER_SCRAM_CREDENTIALS",
        0,
        {"upsertions": [{"name": "~u", **PASSWORD}, {"name": "~v", **PASSWORD, "iterations": 1}]},
        ALTER,
    ),
    on_cluster(
        "ALTER_CLIENT_QUOTAS",
        1,
        {"entries": [quota_of("~u"), quota_of("~v", value=-1.0)], "validate_only": True},
        ALTER_CONFIGS,
    ),
    on_cluster("DESCRIBE_ACLS", 3, OF_TOPIC, DESCRIBE),
    on_cluster("CREATE_ACLS", 3, {"creations": [BOB, {**BOB, "resource_name": ""}]}, ALTER),
    on_cluster("DELETE_ACLS", 3, {"filters": [OF_TOPIC]}, ALTER),
    on_cluster("DESCRIBE_USER_SCRAM_CREDENTIALS", 0, {"users": [{"name": "~u"}]}, DESCRIBE),
    on_cluster(
        *("DESCRIBE_CLIENT_QUOTAS", 1, {"components": [EACH_USER]}),
        DESCRIBE_CONFIGS,
        (BROKER,),
    ),
)

TOKENS = (
    Row("CREATE_DELEGATION_TOKEN", 3, {"max_lifetime_ms": -1}, (), "for oneself", (), BOTH),
    Row(
        *("CREATE_DELEGATION_TOKEN", 3, FOR_BOB),
        ((Operation.CREATE_TOKENS, Resource.USER, "User:bob"),),
        "for another one",
        listeners=BOTH,
    ),
    *(
        Row(api, 2, {**HMAC, field: period}, (), what, (before, KNOWN_TOKEN), BOTH)
        for api, field, period in (
            ("RENEW_DELEGATION_TOKEN", "renew_period_ms", 1000),
            ("EXPIRE_DELEGATION_TOKEN", "expiry_time_period_ms", -1),
        )
        for what, before in (("of another one", MADE_TOKEN), ("as its renewer", RENEWED_BY_ALICE))
    ),
    *(
        Row("DESCRIBE_DELEGATION_TOKEN", 3, OF_CAROL, (need,), what, (MADE_FOR_CAROL,), BOTH)
        for what, need in (
            ("Describe on it", (DESCRIBE, Resource.DELEGATION_TOKEN, TOKEN)),
            (
                "DescribeTokens on its owner",
                (Operation.DESCRIBE_TOKENS, Resource.USER, "User:carol"),
            ),
        )
    ),
)
