"""The table: each API with what it needs, as requests.

`~t` is a topic that is there, `~gone` one that is not; `~g` a group, `~x` a transactional id. Where
one of several rights is enough, each has a row. What is asked beyond these needs is seen too: of
each check that the requests here make, the mutant that leaves it out must change an answer. An API
that asks nothing is in `ASKS_NOTHING`; one that is served and in neither makes a test fail.
"""

from __future__ import annotations

from typing import Any

from ottla.plugins.authorizer import Operation
from tests.authorization.denials.needs_of_admins import ADMINISTRATION, NAMED_BY_ID, TOKENS
from tests.authorization.denials.needs_of_edges import EDGES
from tests.authorization.denials.needs_of_nodes import ROWS_OF_NODES
from tests.authorization.denials.needs_of_shares import ROWS_OF_SHARES
from tests.authorization.denials.rows import (
    BROKER,
    CONTROLLER,
    Body,
    Need,
    Row,
    at_their_oldest,
)
from tests.authorization.denials.words import (
    ADDED,
    ALTER,
    ALTER_CONFIGS,
    BATCH,
    BEGUN,
    CLUSTER_ACTION,
    COMMITTED,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IN_TRANSACTION,
    OF_PRODUCER,
    ON_BOTH_TOPICS,
    PRODUCED,
    READ,
    SESSION_MS,
    TRANSACTION_MS,
    WRITE,
    by_id,
    cluster,
    group,
    records,
    topic,
    topics,
    transaction,
)
from tests.differential.sequence import Step

BOTH = (BROKER, CONTROLLER)
ASKS_NOTHING = frozenset(
    {
        *("SASL_HANDSHAKE", "SASL_AUTHENTICATE", "API_VERSIONS"),
        *("RENEW_DELEGATION_TOKEN", "EXPIRE_DELEGATION_TOKEN"),  # for owners and renewers alone
    }
)

# --- records --------------------------------------------------------------------------------------


def produce(listed: list[Body], **more: Any) -> Body:
    return {"acks": -1, "timeout_ms": 5000, "topic_data": listed, **more}


PLAIN = {"partition_data": [records(BATCH)]}
TRANSACTIONAL = {"partition_data": [records(IN_TRANSACTION)]}
FETCHED = {"partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}


def fetch(listed: list[Body], **more: Any) -> Body:
    body = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_id": 0}
    return {**body, "session_epoch": -1, "topics": listed, **more}


RECORDS = (
    Row("PRODUCE", 12, produce(topics(**PLAIN)), ON_BOTH_TOPICS[WRITE]),
    Row("PRODUCE", 13, produce(by_id(**PLAIN)), (topic(WRITE),), "by id"),
    Row(
        *("PRODUCE", 12, produce(topics(names=("~t",), **PLAIN), acks=0), (topic(WRITE),)),
        what="without an answer",
        answered=False,
    ),
    Row(
        *("PRODUCE", 12, produce(topics(**TRANSACTIONAL), transactional_id="~x")),
        (transaction(WRITE), *ON_BOTH_TOPICS[WRITE]),
        "in a transaction",
        (BEGUN,),
    ),
    Row("FETCH", 12, fetch(topics("topic", **FETCHED)), ON_BOTH_TOPICS[READ], "", (PRODUCED,)),
    Row("FETCH", 17, fetch(by_id(**FETCHED)), (topic(READ),), "by id", (PRODUCED,)),
    Row(
        *("FETCH", 17, fetch(by_id(**FETCHED), session_epoch=0), (topic(READ),)),
        "in a session",
        (PRODUCED,),
    ),
    Row(
        *("FETCH", 12, fetch(topics("topic", **FETCHED), replica_id=99), (CLUSTER_ACTION,)),
        "as a follower",
        (PRODUCED,),
    ),
    Row(
        *("FETCH", 17, fetch(by_id(**FETCHED), replica_state={"replica_id": 99})),
        (CLUSTER_ACTION,),
        "as a follower, by id",
        (PRODUCED,),
    ),
    Row(
        "LIST_OFFSETS",
        10,
        {
            "replica_id": -1,
            "topics": topics(partitions=[{"partition_index": 0, "timestamp": -1}]),
        },
        ON_BOTH_TOPICS[DESCRIBE],
    ),
    *(
        Row(
            "OFFSET_FOR_LEADER_EPOCH",
            4,
            {
                "replica_id": replica,
                "topics": topics("topic", partitions=[{"partition": 0, "leader_epoch": 0}]),
            },
            needs,
            what,
        )
        for replica, needs, what in (
            (-1, ON_BOTH_TOPICS[DESCRIBE], ""),
            (99, (CLUSTER_ACTION,), "as a follower"),
        )
    ),
    Row(
        "DELETE_RECORDS",
        2,
        {"topics": topics(partitions=[{"partition_index": 0, "offset": 1}]), "timeout_ms": 5000},
        ON_BOTH_TOPICS[DELETE],
        "",
        (PRODUCED,),
    ),
    Row(
        *("DESCRIBE_PRODUCERS", 0, {"topics": topics(partition_indexes=[0])}, ON_BOTH_TOPICS[READ]),
        "",
        (PRODUCED,),
    ),
)

# --- what is there --------------------------------------------------------------------------------


def metadata(listed: list[Body] | None, **more: Any) -> Body:
    return {"topics": listed, "allow_auto_topic_creation": False, **more}


NEW = metadata(topics(names=("~new",)), allow_auto_topic_creation=True)
BITS = {"include_topic_authorized_operations": True}

VIEWS = (
    Row("METADATA", 13, metadata(topics()), ON_BOTH_TOPICS[DESCRIBE]),
    Row("METADATA", 13, metadata(None), (topic(DESCRIBE),), "all"),
    Row("METADATA", 13, metadata(NAMED_BY_ID), (topic(DESCRIBE),), "by id"),
    Row(
        *("METADATA", 13, NEW, (topic(DESCRIBE, "~new"), cluster(CREATE))),
        "that makes a topic, Create on the cluster",
    ),
    Row(
        *("METADATA", 13, NEW, (topic(DESCRIBE, "~new"), topic(CREATE, "~new"))),
        "that makes a topic, Create on it",
    ),
    Row(
        *("METADATA", 12, metadata(topics(names=("~t",)), **BITS)),
        tuple(topic(one) for one in (DESCRIBE, READ, WRITE, CREATE, DELETE, ALTER))
        + (topic(DESCRIBE_CONFIGS), topic(ALTER_CONFIGS)),
        "with operations",
    ),
    Row(
        *("METADATA", 10, metadata([], include_cluster_authorized_operations=True)),
        tuple(
            cluster(one)
            for one in (
                *(DESCRIBE, CREATE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
                *(Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE),
            )
        ),
        "with operations of the cluster",
    ),
    Row(
        *("DESCRIBE_TOPIC_PARTITIONS", 0, {"topics": topics(), "response_partition_limit": 10}),
        ON_BOTH_TOPICS[DESCRIBE],
    ),
    Row(
        *("DESCRIBE_TOPIC_PARTITIONS", 0, {"topics": [], "response_partition_limit": 1000}),
        (topic(DESCRIBE),),
        "all",
    ),
    Row(
        "DESCRIBE_TOPIC_PARTITIONS",
        0,
        {
            "topics": topics(names=("~t", "~u")),
            "response_partition_limit": 10,
            "cursor": {"topic_name": "~t", "partition_index": 0},
        },
        (topic(DESCRIBE), topic(DESCRIBE, "~u")),
        "after a cursor",
        (
            Step(
                "CREATE_TOPICS",
                7,
                {
                    "topics": [{"name": "~u", "num_partitions": 1, "replication_factor": 1}],
                    "timeout_ms": 5000,
                },
            ),
        ),
    ),
    Row(
        *("DESCRIBE_CLUSTER", 2, {"include_cluster_authorized_operations": True}),
        tuple(
            cluster(one)
            for one in (
                *(DESCRIBE, CREATE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS),
                *(Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE),
            )
        ),
        "with operations",
    ),
    Row("DESCRIBE_CLUSTER", 2, {"endpoint_type": 1}, (), "of the brokers"),
    Row(
        *("DESCRIBE_CLUSTER", 2, {"endpoint_type": 2}, (cluster(ALTER),), "of the controllers"),
        listeners=BOTH,
    ),
)

# --- groups ---------------------------------------------------------------------------------------

COMMITS = {"partitions": [{"partition_index": 0, "committed_offset": 1}]}
FETCHES = {"partition_indexes": [0]}


SYNCED = {
    "group_id": "~g",
    "member_id": "m",
    "protocol_type": "consumer",
    "protocol_name": "range",
}


def coordinator(kind: int, *keys: str) -> Body:
    return {"key_type": kind, "coordinator_keys": list(keys)}


def offsets(listed: list[Body] | None) -> Body:
    return {"groups": [{"group_id": "~g", "topics": listed}]}


DESCRIBED: Body = {"group_ids": ["~g"]}


def joined(*names: str) -> Body:
    return {
        "group_id": "~g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": list(names),
        "topic_partitions": [],
    }


GROUPS = (
    Row("FIND_COORDINATOR", 6, coordinator(0, "~g"), (group(DESCRIBE),), "of a group"),
    Row("FIND_COORDINATOR", 6, coordinator(1, "~x"), (transaction(DESCRIBE),), "of a transaction"),
    Row("FIND_COORDINATOR", 3, {"key": "~g", "key_type": 0}, (group(DESCRIBE),), "one alone"),
    Row(
        "JOIN_GROUP",
        9,
        {
            "group_id": "~g",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": {"$hex": "00"}}],
        },
        (group(READ),),
    ),
    Row("SYNC_GROUP", 5, SYNCED, (group(READ),)),
    Row("HEARTBEAT", 4, {"group_id": "~g", "member_id": "m"}, (group(READ),)),
    Row(
        *("CONSUMER_GROUP_HEARTBEAT", 1, joined("~t", "~gone")),
        (group(READ), *ON_BOTH_TOPICS[DESCRIBE]),
    ),
    Row("CONSUMER_GROUP_HEARTBEAT", 1, joined(), (group(READ),), "of no topics"),
    Row(
        *("CONSUMER_GROUP_DESCRIBE", 1, {"group_ids": ["~g", "~nogroup"]}),
        (group(DESCRIBE), group(DESCRIBE, "~nogroup"), topic(DESCRIBE)),
        "",
        (
            # Kafka's coordinator knows a topic some time after it was made.
            Step(
                "FETCH",
                12,
                fetch(topics("topic", ("~t",), **FETCHED), min_bytes=1, max_wait_ms=900),
            ),
            Step("CONSUMER_GROUP_HEARTBEAT", 1, joined("~t")),
        ),
    ),
    Row(
        *("CONSUMER_GROUP_DESCRIBE", 1, {**DESCRIBED, "include_authorized_operations": True}),
        tuple(group(one) for one in (DESCRIBE, READ, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS)),
        "with operations",
        (Step("CONSUMER_GROUP_HEARTBEAT", 1, joined()),),
    ),
    Row("LEAVE_GROUP", 5, {"group_id": "~g", "members": [{"member_id": "m"}]}, (group(READ),)),
    Row("LEAVE_GROUP", 2, {"group_id": "~g", "member_id": "m"}, (group(READ),), "one alone"),
    Row(
        *("OFFSET_COMMIT", 9, {"group_id": "~g", "topics": topics(**COMMITS)}),
        (group(READ), *ON_BOTH_TOPICS[READ]),
    ),
    Row(
        *("OFFSET_COMMIT", 10, {"group_id": "~g", "topics": by_id(**COMMITS)}),
        (group(READ), topic(READ)),
        "by id",
    ),
    Row(
        *("OFFSET_FETCH", 9, offsets(topics(**FETCHES))),
        (group(DESCRIBE), *ON_BOTH_TOPICS[DESCRIBE]),
        "",
        (COMMITTED,),
    ),
    Row(
        *("OFFSET_FETCH", 9, offsets(None), (group(DESCRIBE), topic(DESCRIBE))),
        "of all topics",
        (COMMITTED,),
    ),
    Row(
        *("OFFSET_FETCH", 10, offsets(by_id(**FETCHES)), (group(DESCRIBE), topic(DESCRIBE))),
        "by id",
        (COMMITTED,),
    ),
    Row(
        *("OFFSET_FETCH", 7, {"group_id": "~g", "topics": topics(**FETCHES)}),
        (group(DESCRIBE), *ON_BOTH_TOPICS[DESCRIBE]),
        "one alone",
        (COMMITTED,),
    ),
    Row(
        *("OFFSET_FETCH", 7, {"group_id": "~g", "topics": None}),
        (group(DESCRIBE), topic(DESCRIBE)),
        "one alone, of all topics",
        (COMMITTED,),
    ),
    Row(
        *(
            "OFFSET_DELETE",
            0,
            {"group_id": "~g", "topics": topics(partitions=[{"partition_index": 0}])},
        ),
        (group(DELETE), *ON_BOTH_TOPICS[READ]),
        "",
        (COMMITTED,),
    ),
    Row(
        *("DESCRIBE_GROUPS", 6, {"groups": ["~g", "~nogroup"]}),
        (group(DESCRIBE), group(DESCRIBE, "~nogroup")),
        "",
        (COMMITTED,),
    ),
    Row(
        *("DESCRIBE_GROUPS", 6, {"groups": ["~g"], "include_authorized_operations": True}),
        tuple(group(one) for one in (DESCRIBE, READ, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS)),
        "with operations",
        (COMMITTED,),
    ),
    Row("LIST_GROUPS", 5, {}, (group(DESCRIBE),), "Describe on it", (COMMITTED,)),
    Row("LIST_GROUPS", 5, {}, (cluster(DESCRIBE),), "Describe on the cluster", (COMMITTED,)),
    Row(
        *("DELETE_GROUPS", 3, {"groups_names": ["~g", "~nogroup"]}),
        (group(DELETE), group(DELETE, "~nogroup")),
        "",
        (COMMITTED,),
    ),
)

# --- transactions ---------------------------------------------------------------------------------

OF_OLD_PRODUCER = {f"v3_and_below_{name}": value for name, value in OF_PRODUCER.items()}
MARKER = {**OF_PRODUCER, "transaction_result": False, "coordinator_epoch": 0}


def init(name: str | None) -> Body:
    return {"transactional_id": name, "transaction_timeout_ms": TRANSACTION_MS}


def markers(need: Need, what: str) -> Row:
    listed = topics(names=("~t",), partition_indexes=[0])
    body = {"markers": [{**MARKER, "topics": listed}]}
    return Row("WRITE_TXN_MARKERS", 1, body, (need,), what, (BEGUN, ADDED))


TRANSACTIONS = (
    Row("INIT_PRODUCER_ID", 5, init("~x"), (transaction(WRITE),), "transactional"),
    Row(
        *("INIT_PRODUCER_ID", 5, init(None), (cluster(Operation.IDEMPOTENT_WRITE),)),
        "IdempotentWrite",
    ),
    Row("INIT_PRODUCER_ID", 5, init(None), (topic(WRITE),), "Write on some topic"),
    Row(
        "ADD_PARTITIONS_TO_TXN",
        3,
        {
            "v3_and_below_transactional_id": "~x",
            **OF_OLD_PRODUCER,
            "v3_and_below_topics": topics(partitions=[0]),
        },
        (transaction(WRITE), *ON_BOTH_TOPICS[WRITE]),
        "",
        (BEGUN,),
    ),
    Row(
        "ADD_PARTITIONS_TO_TXN",
        5,
        {
            "transactions": [
                {
                    "transactional_id": "~x",
                    **OF_PRODUCER,
                    "topics": topics(names=("~t",), partitions=[0]),
                }
            ]
        },
        (CLUSTER_ACTION,),
        "of a broker",
        (BEGUN,),
    ),
    Row(
        *("ADD_OFFSETS_TO_TXN", 4, {"transactional_id": "~x", **OF_PRODUCER, "group_id": "~g"}),
        (transaction(WRITE), group(READ)),
        "",
        (BEGUN,),
    ),
    Row(
        "TXN_OFFSET_COMMIT",
        4,
        {
            "transactional_id": "~x",
            "group_id": "~g",
            **OF_PRODUCER,
            "topics": topics(**COMMITS),
        },
        (transaction(WRITE), group(READ), *ON_BOTH_TOPICS[READ]),
        "",
        (
            BEGUN,
            Step(
                "ADD_OFFSETS_TO_TXN", 4, {"transactional_id": "~x", **OF_PRODUCER, "group_id": "~g"}
            ),
        ),
    ),
    Row(
        "TXN_OFFSET_COMMIT",
        6,
        {
            "transactional_id": "~x",
            "group_id": "~g",
            **OF_PRODUCER,
            "topics": by_id(**COMMITS),
        },
        (transaction(WRITE), group(READ), topic(READ)),
        "by id",
        (BEGUN,),
    ),
    Row(
        *("END_TXN", 4, {"transactional_id": "~x", **OF_PRODUCER, "committed": False}),
        (transaction(WRITE),),
        "",
        (BEGUN, ADDED),
    ),
    markers(CLUSTER_ACTION, "ClusterAction"),
    markers(cluster(ALTER), "Alter"),
    Row(
        *("DESCRIBE_TRANSACTIONS", 0, {"transactional_ids": ["~x", "~none"]}),
        (transaction(DESCRIBE), transaction(DESCRIBE, "~none"), topic(DESCRIBE)),
        "",
        (BEGUN, ADDED),
    ),
    Row("LIST_TRANSACTIONS", 1, {}, (transaction(DESCRIBE),), "", (BEGUN, ADDED)),
)

NEEDING_NOTHING = tuple(
    Row(api, version, body, listeners=BOTH)
    for api, version, body in (
        ("API_VERSIONS", 4, {"client_software_name": "a", "client_software_version": "1"}),
        ("SASL_HANDSHAKE", 1, {"mechanism": "PLAIN"}),
        ("SASL_AUTHENTICATE", 2, {}),
    )
)
PARTS = (
    NEEDING_NOTHING,
    RECORDS,
    VIEWS,
    GROUPS,
    TRANSACTIONS,
    ADMINISTRATION,
    TOKENS,
    ROWS_OF_NODES,
    ROWS_OF_SHARES,
)
NEWEST: tuple[Row, ...] = tuple(row for part in PARTS for row in part)
OLDEST = (
    Row("FIND_COORDINATOR", 0, {"key": "~g"}, (group(DESCRIBE),), "at its oldest", brief=True),
    Row(
        *("OFFSET_FETCH", 1, {"group_id": "~g", "topics": topics(**FETCHES)}),
        (group(DESCRIBE), *ON_BOTH_TOPICS[DESCRIBE]),
        "at its oldest",
        (COMMITTED,),
        brief=True,
    ),
    *at_their_oldest(NEWEST),
)
ROWS: tuple[Row, ...] = (*NEWEST, *EDGES, *OLDEST)
