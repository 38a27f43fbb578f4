"""Bodies of the requests for topics and their records: what a client would send, from small sets.

Each function gives a body and the connection that it goes over, None for any. Never spoils a value:
`odd_values` does.
"""

from __future__ import annotations

import random
from typing import Any

from tests.differential import values
from tests.differential.record_sets import NOW_MS
from tests.differential.sequence import Body

Made = tuple[Body, int | None]


def topic_names(rng: random.Random) -> list[str]:
    """One topic, or two different ones."""
    return rng.sample(sorted(set(values.TOPICS)), 2) if rng.random() < 0.2 else [_topic(rng)]


def _topic(rng: random.Random) -> str:
    return rng.choice(values.TOPICS)


def partitions(rng: random.Random) -> list[int]:
    return rng.choice(([0], [0], [0], [1], [0, 1], [0, 1], [2], [1, 0, 2]))


def topic_id(name: str) -> Body:
    return {"$": "topic_id", "of": name}


def named(rng: random.Random, item: Any) -> list[Body]:
    """Topics by `name` and id, each with what `item` makes of a partition."""
    return [
        {"name": name, "topic_id": topic_id(name), "partitions": [item(p) for p in partitions(rng)]}
        for name in topic_names(rng)
    ]


def without_ids(topics: list[Body]) -> list[Body]:
    return [{key: value for key, value in one.items() if key != "topic_id"} for one in topics]


# --- records -------------------------------------------------------------------------------------


def batch(rng: random.Random, producer: str | None, place: str, txn: bool) -> Body:
    """A batch, of an idempotent or transactional producer where one is named."""
    made: Body = {"n": rng.choice((1, 1, 2, 3)), "codec": rng.choice((0, 0, 0, 1, 2, 3, 4))}
    made["ts"] = NOW_MS + rng.choice((0, 0, 1, 1000, -1000))
    if rng.random() < 0.2:
        made["size"] = rng.choice((0, 100, 400))
    if rng.random() < 0.05:
        made["key"] = None
    if producer is not None:
        made["pid"] = {"$": "producer_id", "of": producer}
        made["epoch"] = {"$": "epoch", "of": producer}
        made["seq"] = {"$": "sequence", "of": f"{producer}/{place}"}
        if rng.random() < 0.15:
            made["seq"]["add"] = rng.choice((1, -1, -2))
        made["txn"] = txn
    return made


def produce(rng: random.Random, version: int) -> Made:
    """With a transaction, as an idempotent producer, or as neither."""
    kind = rng.random()
    connection = rng.choice(values.MEMBERS)
    transactional_id = rng.choice(values.TRANSACTIONAL_IDS) if kind < 0.35 else None
    producer = transactional_id
    if 0.35 <= kind < 0.55:
        producer = f"idempotent-{connection}"
    topics = []
    for name in topic_names(rng):
        parts = [
            {
                "index": p,
                "records": {"$records": [batch(rng, producer, f"{name}/{p}", kind < 0.35)]},
            }
            for p in partitions(rng)
        ]
        topics.append({"name": name, "topic_id": topic_id(name), "partition_data": parts})
    acks = rng.choice((-1, -1, -1, 1, 0)) if kind > 0.55 else -1
    body = {"acks": acks, "timeout_ms": 1000, "topic_data": topics}
    if transactional_id is not None:
        body["transactional_id"] = transactional_id
    return body, connection


# --- reading -------------------------------------------------------------------------------------


def fetch(rng: random.Random, version: int) -> Made:
    """Without a session, as the first of one, or as its next."""
    connection = rng.choice(values.MEMBERS)
    slot = str(connection)
    kind = rng.random()
    body: Body = {
        "max_wait_ms": rng.choice((0, 1)),
        "min_bytes": rng.choice((0, 1)),
        "max_bytes": rng.choice((1 << 20, 1 << 20, 0, 1, 150, 400)),
        "isolation_level": rng.choice((0, 1)),
    }
    if version >= 7:
        if kind < 0.3:
            body |= {"session_id": 0, "session_epoch": 0}
        elif kind < 0.65:
            body["session_id"] = {"$": "session", "of": slot}
            body["session_epoch"] = {"$": "session_epoch", "of": slot}
        elif kind < 0.7:
            body |= {"session_id": {"$": "session", "of": slot}, "session_epoch": -1}
        else:
            body |= {"session_id": 0, "session_epoch": -1}
    body["topics"] = [_fetched_topic(rng, name) for name in topic_names(rng)]
    if version >= 7 and 0.3 <= kind < 0.7:
        if rng.random() < 0.5:
            body["topics"] = []
        if rng.random() < 0.3:
            body["forgotten_topics_data"] = [
                {"topic": name, "topic_id": topic_id(name), "partitions": partitions(rng)}
                for name in topic_names(rng)
            ]
    return body, connection


def _fetched_topic(rng: random.Random, name: str) -> Body:
    parts = [
        {
            "partition": p,
            "current_leader_epoch": rng.choice((-1, -1, -1, 0)),
            "fetch_offset": rng.choice((0, 0, 0, 1, 2, 3, 6)),
            "partition_max_bytes": rng.choice((1 << 20, 1 << 20, 0, 1, 80, 200)),
        }
        for p in partitions(rng)
    ]
    return {"topic": name, "topic_id": topic_id(name), "partitions": parts}


def list_offsets(rng: random.Random, version: int) -> Made:
    stamps = (-1, -1, -2, -3, -4, -5, 0, NOW_MS, NOW_MS + 1, NOW_MS + 2, NOW_MS + 5000)

    def asked(p: int) -> Body:
        epoch = rng.choice((-1, -1, -1, 0, 1))
        return {
            "partition_index": p,
            "current_leader_epoch": epoch,
            "timestamp": rng.choice(stamps),
        }

    topics = without_ids(named(rng, asked))
    return {"replica_id": -1, "isolation_level": rng.choice((0, 1)), "topics": topics}, None


def delete_records(rng: random.Random, version: int) -> Made:
    topics = named(rng, lambda p: {"partition_index": p, "offset": rng.choice((-1, 0, 1, 2, 3))})
    return {"topics": without_ids(topics), "timeout_ms": 5000}, None


def offset_for_leader_epoch(rng: random.Random, version: int) -> Made:
    topics = [
        {
            "topic": name,
            "partitions": [
                {
                    "partition": p,
                    "current_leader_epoch": rng.choice((-1, 0, 1)),
                    "leader_epoch": rng.choice((0, 0, 1, -1)),
                }
                for p in partitions(rng)
            ],
        }
        for name in topic_names(rng)
    ]
    return {"replica_id": rng.choice((-1, -1, -2)), "topics": topics}, None


def describe_producers(rng: random.Random, version: int) -> Made:
    topics = [{"name": n, "partition_indexes": partitions(rng)} for n in topic_names(rng)]
    return {"topics": topics}, None


# --- topics --------------------------------------------------------------------------------------


def metadata(rng: random.Random, version: int) -> Made:
    topics: list[Body] | None = [{"name": name} for name in topic_names(rng)]
    if version >= 12 and rng.random() < 0.4:
        topics = [{"name": None, "topic_id": topic_id(name)} for name in topic_names(rng)]
    if version >= 1 and rng.random() < 0.1:
        topics = None
    return {
        "topics": topics,
        "allow_auto_topic_creation": version < 4 or rng.random() < 0.15,
        "include_topic_authorized_operations": version >= 8 and rng.random() < 0.3,
        "include_cluster_authorized_operations": 8 <= version <= 10 and rng.random() < 0.3,
    }, None


def create_topics(rng: random.Random, version: int) -> Made:
    topics = []
    for name in topic_names(rng):
        one: Body = {"name": name, "num_partitions": rng.choice((1, 2, 3, -1))}
        one["replication_factor"] = rng.choice((1, 1, -1, 2))
        if rng.random() < 0.15:
            one |= {"num_partitions": -1, "replication_factor": -1}
            one["assignments"] = [
                {"partition_index": p, "broker_ids": rng.choice(([1], [1], [2], [], [1, 1]))}
                for p in range(rng.choice((1, 2)))
            ]
        if rng.random() < 0.4:
            chosen = rng.sample(values.TOPIC_CONFIGS, rng.choice((1, 1, 2)))
            one["configs"] = [{"name": key, "value": value} for key, value in chosen]
        topics.append(one)
    validate = rng.random() < 0.2
    return {"topics": topics, "timeout_ms": 30_000, "validate_only": validate}, None


def delete_topics(rng: random.Random, version: int) -> Made:
    names = topic_names(rng)
    if version < 6:
        return {"topic_names": names, "timeout_ms": 30_000}, None
    by_id = rng.random() < 0.4
    topics = [
        {"name": None, "topic_id": topic_id(name)} if by_id else {"name": name} for name in names
    ]
    return {"topics": topics, "timeout_ms": 30_000}, None


def create_partitions(rng: random.Random, version: int) -> Made:
    topics = [
        {
            "name": name,
            "count": rng.choice((1, 2, 3, 4)),
            "assignments": None
            if rng.random() < 0.8
            else [{"broker_ids": rng.choice(([1], [2], []))} for _ in range(rng.choice((1, 2)))],
        }
        for name in topic_names(rng)
    ]
    validate = rng.random() < 0.2
    return {"topics": topics, "timeout_ms": 30_000, "validate_only": validate}, None


def describe_topic_partitions(rng: random.Random, version: int) -> Made:
    body: Body = {
        "topics": [{"name": name} for name in topic_names(rng)],
        "response_partition_limit": rng.choice((2000, 1, 2)),
        "cursor": None,
    }
    if rng.random() < 0.3:
        body["cursor"] = {"topic_name": _topic(rng), "partition_index": rng.choice((0, 1, -1))}
    return body, None


BODIES = {
    "PRODUCE": produce,
    "FETCH": fetch,
    "LIST_OFFSETS": list_offsets,
    "DELETE_RECORDS": delete_records,
    "OFFSET_FOR_LEADER_EPOCH": offset_for_leader_epoch,
    "DESCRIBE_PRODUCERS": describe_producers,
    "METADATA": metadata,
    "CREATE_TOPICS": create_topics,
    "DELETE_TOPICS": delete_topics,
    "CREATE_PARTITIONS": create_partitions,
    "DESCRIBE_TOPIC_PARTITIONS": describe_topic_partitions,
}
