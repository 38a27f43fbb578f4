"""The words in which the table is written: rights, topics by name and by id, what was done before.

Owns no row.
"""

from __future__ import annotations

from typing import Any

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from tests.authorization.denials.rows import Body, Need
from tests.differential.sequence import Step

READ, WRITE, CREATE, DELETE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE
ALTER, DESCRIBE = Operation.ALTER, Operation.DESCRIBE
DESCRIBE_CONFIGS, ALTER_CONFIGS = Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
TYPE_TOPIC, TYPE_BROKER, TYPE_LOGGER, TYPE_METRICS, TYPE_GROUP = 2, 4, 8, 16, 32
FOREIGN_ID = {"$hex": "0f" * 16}


def topic(operation: Operation, name: str = "~t") -> Need:
    return operation, Resource.TOPIC, name


def group(operation: Operation, name: str = "~g") -> Need:
    return operation, Resource.GROUP, name


def cluster(operation: Operation) -> Need:
    return operation, Resource.CLUSTER, CLUSTER_NAME


def transaction(operation: Operation, name: str = "~x") -> Need:
    return operation, Resource.TRANSACTIONAL_ID, name


CLUSTER_ACTION = cluster(Operation.CLUSTER_ACTION)
ON_BOTH_TOPICS = {one: (topic(one), topic(one, "~gone")) for one in Operation}


def topics(key: str = "name", names: tuple[str, ...] = ("~t", "~gone"), **more: Any) -> list[Body]:
    """Each by its name."""
    return [{key: name, **more} for name in names]


def by_id(**more: Any) -> list[Body]:
    """A topic that is there and one that is not, by their ids."""
    return [{"topic_id": {"$": "topic_id", "of": "~t"}, **more}, {"topic_id": FOREIGN_ID, **more}]


# --- what was done before -------------------------------------------------------------------------

BATCH: Body = {"n": 1}
OF_PRODUCER = {
    "producer_id": {"$": "producer_id", "of": "~x"},
    "producer_epoch": {"$": "epoch", "of": "~x"},
}
IN_TRANSACTION: Body = {
    "pid": OF_PRODUCER["producer_id"],
    "epoch": OF_PRODUCER["producer_epoch"],
    "seq": 0,
    "txn": True,
}


def records(batch: Body) -> Body:
    return {"index": 0, "records": {"$records": [batch]}}


PRODUCED = Step(
    "PRODUCE",
    9,
    {
        "acks": -1,
        "timeout_ms": 5000,
        "topic_data": topics(names=("~t",), partition_data=[records(BATCH)]),
    },
)
COMMITTED = Step(
    "OFFSET_COMMIT",
    8,
    {
        "group_id": "~g",
        "topics": topics(names=("~t",), partitions=[{"partition_index": 0, "committed_offset": 1}]),
    },
)
# The longest that brokers allow: what one case leaves may not end, and be written, amid another.
TRANSACTION_MS, SESSION_MS = 900_000, 1_800_000
BEGUN = Step(
    *("INIT_PRODUCER_ID", 4),
    {"transactional_id": "~x", "transaction_timeout_ms": TRANSACTION_MS},
)
ADDED = Step(
    "ADD_PARTITIONS_TO_TXN",
    3,
    {
        "v3_and_below_transactional_id": "~x",
        "v3_and_below_producer_id": OF_PRODUCER["producer_id"],
        "v3_and_below_producer_epoch": OF_PRODUCER["producer_epoch"],
        "v3_and_below_topics": topics(names=("~t",), partitions=[0]),
    },
)
