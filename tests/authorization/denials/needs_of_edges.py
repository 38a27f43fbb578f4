"""The part of the table where a request is odd: empty, about one thing twice, wrong beside denied.

What is wrong and what is denied are told in some order; whoever may nothing must not learn by it
what is there. Each is asked by one without rights and by one with all of them.
"""

from __future__ import annotations

from ottla.plugins.authorizer import Operation
from tests.authorization.denials.needs_of_admins import (
    BOTH,
    ELECTED,
    MADE,
    NAMED_BY_ID,
    PASSWORD,
    RETENTION,
    resources,
)
from tests.authorization.denials.rows import BROKER, Body, Need, Row
from tests.authorization.denials.words import (
    ADDED,
    ALTER,
    ALTER_CONFIGS,
    BEGUN,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    OF_PRODUCER,
    ON_BOTH_TOPICS,
    READ,
    TYPE_BROKER,
    TYPE_LOGGER,
    TYPE_METRICS,
    TYPE_TOPIC,
    WRITE,
    cluster,
    group,
    topic,
    topics,
    transaction,
)

TWICE = ("~t", "~t", "~gone", "~gone")
ODD = ("~a b", "", "..", "~t")


def odd(
    api: str,
    version: int,
    body: Body,
    what: str,
    needs: tuple[Need, ...],
    listeners: tuple[str, ...] = (BROKER,),
) -> Row:
    return Row(api, version, body, needs, what, listeners=listeners, brief=True)


def on_names(operation: Operation, names: tuple[str, ...]) -> tuple[Need, ...]:
    return tuple(topic(operation, name) for name in dict.fromkeys(names) if name)


def logger(name: str, value: str) -> Body:
    return {"configs": [{"name": name, "config_operation": 0, "value": value}]}


PART = {"partitions": [{"partition_index": 0, "timestamp": -1}]}
NO_SUCH_PART = {"partitions": [{"partition_index": 7, "timestamp": -1}]}
OFFSET = {"partitions": [{"partition_index": 7, "committed_offset": 1}]}
LOGGER = "ottla.no.such.logger"

TOPICS = (
    odd("METADATA", 13, {"topics": []}, "of no topic", ()),
    odd(
        *("METADATA", 13, {"topics": topics(names=ODD)}, "of odd names"),
        on_names(DESCRIBE, ODD),
    ),
    odd(
        *("METADATA", 13, {"topics": topics(names=TWICE)}, "of topics named twice"),
        ON_BOTH_TOPICS[DESCRIBE],
    ),
    odd(
        *("METADATA", 13, {"topics": [{"name": "__consumer_offsets"}]}, "of an internal topic"),
        (topic(DESCRIBE, "__consumer_offsets"),),
    ),
    odd(
        "LIST_OFFSETS",
        10,
        {"topics": topics(**NO_SUCH_PART)},
        "of no such part",
        ON_BOTH_TOPICS[DESCRIBE],
    ),
    odd(
        *("DESCRIBE_TOPIC_PARTITIONS", 0),
        {"topics": topics(names=TWICE), "response_partition_limit": 1},
        "named twice",
        ON_BOTH_TOPICS[DESCRIBE],
    ),
    odd(
        *("DESCRIBE_TOPIC_PARTITIONS", 0),
        {"topics": topics(names=ODD), "response_partition_limit": 10},
        "of odd names",
        on_names(DESCRIBE, ODD),
    ),
    odd(
        "CREATE_TOPICS", 7, {"topics": [], "timeout_ms": 5000}, "of none", (cluster(CREATE),), BOTH
    ),
    odd(
        *("CREATE_TOPICS", 7),
        {"topics": topics(names=("~n", "~n", "~m"), **MADE), "timeout_ms": 5000},
        "named twice",
        (cluster(CREATE),),
        BOTH,
    ),
    odd(
        *("CREATE_TOPICS", 7, {"topics": topics(names=ODD, **MADE), "timeout_ms": 5000}),
        "of odd names",
        (cluster(CREATE),),
        BOTH,
    ),
    odd(
        *("CREATE_TOPICS", 7),
        {"topics": topics(names=("__cluster_metadata", "~n"), **MADE), "timeout_ms": 5000},
        "of the metadata",
        (cluster(CREATE),),
        BOTH,
    ),
    odd(
        *("DELETE_TOPICS", 6, {"topics": topics(names=TWICE), "timeout_ms": 5000}),
        "named twice",
        ON_BOTH_TOPICS[DELETE],
        BOTH,
    ),
    odd(
        *("DELETE_TOPICS", 6),
        {"topics": [*NAMED_BY_ID, {"name": "~t"}], "timeout_ms": 5000},
        "by name and by id",
        (topic(DELETE),),
        BOTH,
    ),
    odd("DELETE_TOPICS", 6, {"topics": [], "timeout_ms": 5000}, "of none", (topic(DELETE),), BOTH),
    odd(
        *("CREATE_PARTITIONS", 3),
        {"topics": topics(names=TWICE, count=2, assignments=None), "timeout_ms": 5000},
        "named twice",
        ON_BOTH_TOPICS[ALTER],
        BOTH,
    ),
    odd(
        *("CREATE_PARTITIONS", 3),
        {"topics": topics(count=0, assignments=None), "timeout_ms": 5000},
        "of no count",
        ON_BOTH_TOPICS[ALTER],
        BOTH,
    ),
    odd(
        *("DELETE_RECORDS", 2),
        {"topics": topics(partitions=[{"partition_index": 7, "offset": 1}]), "timeout_ms": 5000},
        "of no such part",
        ON_BOTH_TOPICS[DELETE],
    ),
)

COORDINATION = (
    odd(
        *(
            "FIND_COORDINATOR",
            6,
            {"key_type": 2, "coordinator_keys": ["~g:AAAAAAAAAAAAAAAAAAAAAQ:0"]},
        ),
        "of a share group",
        (CLUSTER_ACTION,),
    ),
    odd(
        *("FIND_COORDINATOR", 6, {"key_type": 0, "coordinator_keys": ["", "~g", "~g"]}),
        "of no name, and twice",
        (group(DESCRIBE),),
    ),
    odd(
        "FIND_COORDINATOR",
        6,
        {"key_type": 0, "coordinator_keys": []},
        "of none",
        (group(DESCRIBE),),
    ),
    odd(
        "JOIN_GROUP",
        9,
        {"group_id": "", "session_timeout_ms": 30_000},
        "of no name",
        (group(READ),),
    ),
    odd("JOIN_GROUP", 9, {"group_id": "~g", "session_timeout_ms": 1}, "too short", (group(READ),)),
    odd("HEARTBEAT", 4, {"group_id": ""}, "of no name", (group(READ),)),
    odd("LEAVE_GROUP", 5, {"group_id": "~g", "members": []}, "of none", (group(READ),)),
    odd("OFFSET_COMMIT", 9, {"group_id": "~g", "topics": []}, "of none", (group(READ),)),
    odd(
        *("OFFSET_COMMIT", 9, {"group_id": "~g", "topics": topics(**OFFSET)}),
        "of no such part",
        (group(READ), *ON_BOTH_TOPICS[READ]),
    ),
    odd(
        *("OFFSET_FETCH", 9),
        {"groups": [{"group_id": "~g", "topics": topics(partition_indexes=[7])}] * 2},
        "twice, of no such part",
        (group(DESCRIBE), *ON_BOTH_TOPICS[DESCRIBE]),
    ),
    odd("DESCRIBE_GROUPS", 6, {"groups": ["", "~g", "~g"]}, "twice", (group(DESCRIBE),)),
    odd("DELETE_GROUPS", 3, {"groups_names": ["", "~g", "~g"]}, "twice", (group(DELETE),)),
    odd("INIT_PRODUCER_ID", 5, {"transactional_id": ""}, "of no name", (transaction(WRITE),)),
    odd(
        *("INIT_PRODUCER_ID", 5, {"transactional_id": "~x", "transaction_timeout_ms": 0}),
        "without time",
        (transaction(WRITE),),
    ),
    odd(
        *("END_TXN", 4, {"transactional_id": "~x", "producer_id": 7, "producer_epoch": 7}),
        "of a stranger",
        (transaction(WRITE),),
    ),
    odd("WRITE_TXN_MARKERS", 1, {"markers": []}, "of none", (CLUSTER_ACTION,)),
    odd(
        "DESCRIBE_TRANSACTIONS",
        0,
        {"transactional_ids": ["", "~x", "~x"]},
        "twice",
        (transaction(DESCRIBE),),
    ),
    Row(
        "ADD_PARTITIONS_TO_TXN",
        5,
        {
            "transactions": [
                {
                    "transactional_id": "~x",
                    **OF_PRODUCER,
                    "verify_only": True,
                    "topics": topics(names=("~t",), partitions=[0]),
                }
            ]
        },
        (CLUSTER_ACTION,),
        "to verify",
        (BEGUN, ADDED),
        brief=True,
    ),
)

CLUSTER = (
    odd("DESCRIBE_CONFIGS", 4, {"resources": []}, "of none", (cluster(DESCRIBE_CONFIGS),)),
    odd(
        *("DESCRIBE_CONFIGS", 4),
        {"resources": resources((TYPE_METRICS, "~m"), (TYPE_BROKER, ""), (TYPE_BROKER, "77"))},
        "of metrics and other brokers",
        (cluster(DESCRIBE_CONFIGS),),
    ),
    odd(
        *("DESCRIBE_CONFIGS", 4, {"resources": resources(*[(TYPE_TOPIC, "~t")] * 2)}),
        "twice",
        (topic(DESCRIBE_CONFIGS),),
    ),
    odd(
        *("INCREMENTAL_ALTER_CONFIGS", 1),
        {"resources": resources(*[(TYPE_TOPIC, "~t")] * 2, **RETENTION)},
        "twice",
        (topic(ALTER_CONFIGS),),
    ),
    odd(
        *("INCREMENTAL_ALTER_CONFIGS", 1),
        {"resources": resources((TYPE_LOGGER, "1"), **logger(LOGGER, "X")), "validate_only": True},
        "of a logger",
        (cluster(ALTER_CONFIGS),),
    ),
    odd(
        *("INCREMENTAL_ALTER_CONFIGS", 1),
        {"resources": resources((TYPE_METRICS, "~m"), **logger("interval.ms", "1000"))},
        "of metrics",
        (cluster(ALTER_CONFIGS),),
        BOTH,
    ),
    odd(
        "LIST_CONFIG_RESOURCES",
        1,
        {"resource_types": [99]},
        "of an unknown type",
        (cluster(DESCRIBE_CONFIGS),),
    ),
    odd(
        "ELECT_LEADERS",
        2,
        {**ELECTED, "topic_partitions": None},
        "everywhere",
        (cluster(ALTER),),
        BOTH,
    ),
    odd("ALTER_PARTITION_REASSIGNMENTS", 1, {"topics": []}, "of none", (cluster(ALTER),), BOTH),
    odd("LIST_PARTITION_REASSIGNMENTS", 0, {"topics": None}, "all", (cluster(DESCRIBE),), BOTH),
    odd(
        *("DESCRIBE_QUORUM", 2, {"topics": [{"topic_name": "~t", "partitions": [{}]}]}),
        "of a topic",
        (cluster(DESCRIBE),),
        BOTH,
    ),
    odd("UPDATE_FEATURES", 2, {"feature_updates": []}, "of none", (cluster(ALTER),), BOTH),
    odd("CREATE_ACLS", 3, {"creations": []}, "of none", (cluster(ALTER),), BOTH),
    odd("DELETE_ACLS", 3, {"filters": []}, "of none", (cluster(ALTER),), BOTH),
    odd("ALTER_USER_SCRAM_CREDENTIALS", 0, {}, "of none", (cluster(ALTER),), BOTH),
    odd(
        *("ALTER_USER_SCRAM_CREDENTIALS", 0),
        {
            "upsertions": [{"name": "~u", **PASSWORD}] * 2,
            "deletions": [{"name": "~w", "mechanism": 1}],
        },
        "twice",
        (cluster(ALTER),),
        BOTH,
    ),
    odd("ALTER_REPLICA_LOG_DIRS", 2, {"dirs": []}, "of none", (cluster(ALTER),)),
    odd("DESCRIBE_LOG_DIRS", 4, {"topics": []}, "of none", (cluster(DESCRIBE),)),
    odd(
        *("DESCRIBE_CLIENT_QUOTAS", 1, {"components": [{"entity_type": "x", "match_type": 9}]}),
        "of nothing known",
        (cluster(DESCRIBE_CONFIGS),),
    ),
)
EDGES: tuple[Row, ...] = (*TOPICS, *COORDINATION, *CLUSTER)
