"""Bodies of the requests for transactions, by both protocols: partitions added, or by Produce.

A producer's id and epoch are symbols of what the broker said before. See `bodies_of_data` for the
form.
"""

from __future__ import annotations

import random

from tests.differential import values
from tests.differential.bodies_of_data import Made, named, partitions, topic_names, without_ids
from tests.differential.sequence import Body


def _id(rng: random.Random) -> str:
    return rng.choice(values.TRANSACTIONAL_IDS)


def producer(rng: random.Random, name: str, old: float = 0.06) -> Body:
    """The producer's id and epoch, now and then one that is gone or to come."""
    epoch: Body = {"$": "epoch", "of": name}
    if rng.random() < old:
        epoch["add"] = rng.choice((-1, 1))
    return {"producer_id": {"$": "producer_id", "of": name}, "producer_epoch": epoch}


def init_producer_id(rng: random.Random, version: int) -> Made:
    name = None if rng.random() < 0.2 else _id(rng)
    connection = rng.choice(values.MEMBERS)
    body: Body = {"transactional_id": name, "transaction_timeout_ms": 60_000}
    if version >= 3 and rng.random() < 0.3:
        body |= producer(rng, name or f"idempotent-{connection}", 0.3)
    return body, connection


def add_partitions_to_txn(rng: random.Random, version: int) -> Made:
    name = _id(rng)
    topics = [{"name": one, "partitions": partitions(rng)} for one in topic_names(rng)]
    who = producer(rng, name)
    if version < 4:
        return {
            "v3_and_below_transactional_id": name,
            "v3_and_below_producer_id": who["producer_id"],
            "v3_and_below_producer_epoch": who["producer_epoch"],
            "v3_and_below_topics": topics,
        }, None
    verify = rng.random() < 0.4
    transactions = [{"transactional_id": name, **who, "verify_only": verify, "topics": topics}]
    return {"transactions": transactions}, None


def add_offsets_to_txn(rng: random.Random, version: int) -> Made:
    name = _id(rng)
    return {
        "transactional_id": name,
        **producer(rng, name),
        "group_id": rng.choice(values.GROUPS),
    }, None


def txn_offset_commit(rng: random.Random, version: int) -> Made:
    name, group, connection = _id(rng), rng.choice(values.GROUPS), rng.choice(values.MEMBERS)
    topics = named(
        rng,
        lambda p: {
            "partition_index": p,
            "committed_offset": rng.choice((0, 2, 7)),
            "committed_metadata": rng.choice(("", None, "m")),
        },
    )
    body = {
        "transactional_id": name,
        "group_id": group,
        **producer(rng, name),
        "topics": topics if version >= 6 else without_ids(topics),
    }
    if version >= 3 and rng.random() < 0.3:
        body["generation_id_or_member_epoch"] = {"$": "generation", "of": group}
        body["member_id"] = {"$": "member", "of": f"{group}/{connection}"}
    return body, connection


def end_txn(rng: random.Random, version: int) -> Made:
    name = _id(rng)
    committed = rng.random() < 0.6
    return {"transactional_id": name, **producer(rng, name), "committed": committed}, None


def write_txn_markers(rng: random.Random, version: int) -> Made:
    name = _id(rng)
    who = producer(rng, name)
    topics = [{"name": one, "partition_indexes": partitions(rng)} for one in topic_names(rng)]
    marker = {
        **who,
        "transaction_result": rng.random() < 0.5,
        "coordinator_epoch": rng.choice((0, 0, -1)),
        "topics": topics,
    }
    if version >= 2:
        marker["transaction_version"] = rng.choice((0, 1, 2))
    return {"markers": [marker]}, None


def describe_transactions(rng: random.Random, version: int) -> Made:
    return {"transactional_ids": list({_id(rng): 0, _id(rng): 0})}, None


def list_transactions(rng: random.Random, version: int) -> Made:
    body: Body = {
        "state_filters": rng.choice(([], ["Ongoing"], ["Empty", "Dead"], ["NoSuch"])),
        "producer_id_filters": [],
    }
    if rng.random() < 0.3:
        body["producer_id_filters"] = [{"$": "producer_id", "of": _id(rng)}]
    if version >= 1:
        body["duration_filter"] = rng.choice((-1, -1, 0, 3_600_000))
    if version >= 2:
        patterns = (None, None, "", ".*x0", "[", "x", ".*")
        body["transactional_id_pattern"] = rng.choice(patterns)
    return body, None


BODIES = {
    "INIT_PRODUCER_ID": init_producer_id,
    "ADD_PARTITIONS_TO_TXN": add_partitions_to_txn,
    "ADD_OFFSETS_TO_TXN": add_offsets_to_txn,
    "TXN_OFFSET_COMMIT": txn_offset_commit,
    "END_TXN": end_txn,
    "WRITE_TXN_MARKERS": write_txn_markers,
    "DESCRIBE_TRANSACTIONS": describe_transactions,
    "LIST_TRANSACTIONS": list_transactions,
}
