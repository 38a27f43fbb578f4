"""Steps that the grids share: a topic with these configs, records into it, a producer, a member."""

from __future__ import annotations

from typing import Any

from tests.differential.sequence import Body, Step


def create(*names: str, partitions: int = 2, version: int = 5, **configs: str) -> Step:
    """Topics with these partitions and configs (`cleanup_policy` for `cleanup.policy`)."""
    entries = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topics = [
        {"name": n, "num_partitions": partitions, "replication_factor": 1, "configs": entries}
        for n in names
    ]
    return Step("CREATE_TOPICS", version, {"topics": topics, "timeout_ms": 30_000})


def produce(
    records: Any,
    *,
    topic: str = "~t0",
    partition: int = 0,
    version: int = 9,
    acks: int = -1,
    txn: str | None = None,
    connection: int = 0,
) -> Step:
    """One partition's records: batches of `record_sets`, or bytes as `$hex`."""
    if isinstance(records, list):
        records = {"$records": records}
    data = [{"index": partition, "records": records}]
    named = [{"name": topic, "topic_id": {"$": "topic_id", "of": topic}, "partition_data": data}]
    body: Body = {"acks": acks, "timeout_ms": 1000, "topic_data": named}
    if txn is not None:
        body["transactional_id"] = txn
    return Step("PRODUCE", version, body, connection)


def batch_of(producer: str, place: str = "~t0/0", **other: Any) -> Body:
    """A batch of a producer that is known by its name."""
    return {
        "n": 1,
        "pid": {"$": "producer_id", "of": producer},
        "epoch": {"$": "epoch", "of": producer},
        "seq": {"$": "sequence", "of": f"{producer}/{place}"},
        **other,
    }


def who(producer: str, epoch: int = 0, other: bool = False) -> Body:
    """`producer_id` and `producer_epoch`; the epoch with something added."""
    symbol: Body = {"$": "epoch", "of": producer}
    if epoch:
        symbol["add"] = epoch
    known = {"$": "producer_id", "of": "nobody" if other else producer}
    return {"producer_id": known, "producer_epoch": symbol}


def init(txn: str | None = "~x0", version: int = 4, **body: Any) -> Step:
    """InitProducerId."""
    made = {"transactional_id": txn, "transaction_timeout_ms": 60_000, **body}
    return Step("INIT_PRODUCER_ID", version, made)


def add(
    txn: str = "~x0", version: int = 3, partitions: tuple[int, ...] = (0,), **body: Any
) -> Step:
    """AddPartitionsToTxn of `~t0`, as clients send it."""
    known = body or who(txn)
    return Step("ADD_PARTITIONS_TO_TXN", version, {
        "v3_and_below_transactional_id": txn,
        "v3_and_below_producer_id": known["producer_id"],
        "v3_and_below_producer_epoch": known["producer_epoch"],
        "v3_and_below_topics": [{"name": "~t0", "partitions": list(partitions)}],
    })  # fmt: skip


def end(txn: str = "~x0", version: int = 4, committed: bool = True, **body: Any) -> Step:
    """EndTxn."""
    known = body or who(txn)
    return Step("END_TXN", version, {"transactional_id": txn, **known, "committed": committed})


def join(connection: int = 0, version: int = 9, group: str = "~g0", **body: Any) -> Step:
    """JoinGroup as the member that this connection is."""
    made = {
        "group_id": group,
        "session_timeout_ms": 30_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": {"$": "member", "of": f"{group}/{connection}"},
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": {"$hex": "00"}}],
        **body,
    }
    return Step("JOIN_GROUP", version, made, connection)


def sync(connection: int = 0, version: int = 5, group: str = "~g0", **body: Any) -> Step:
    """SyncGroup, with an assignment for this member."""
    me = {"$": "member", "of": f"{group}/{connection}"}
    made = {
        "group_id": group,
        "generation_id": {"$": "generation", "of": group},
        "member_id": me,
        "protocol_type": None,
        "protocol_name": None,
        "assignments": [{"member_id": me, "assignment": {"$hex": "0a"}}],
        **body,
    }
    return Step("SYNC_GROUP", version, made, connection)


def stable_group(version: int = 9) -> list[Step]:
    """`~g0` with the one member of connection 0."""
    return [join(version=version, member_id=""), join(version=version), sync()]
