"""One sequence for each deliberate difference that the other grids may miss."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.differential.generate import Versions
from tests.differential.grids.fetches import fetch
from tests.differential.grids.steps import add, batch_of, create, end, init, produce, who
from tests.differential.sequence import Body, Sequence, Step


def grid(versions: Versions) -> Iterator[Sequence]:
    quorum = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    group = {"resource_type": 32, "resource_name": "~g0"}
    cursor = {"topic_name": "~t0", "partition_index": 2**31 - 1}
    alone = [
        Step("DESCRIBE_QUORUM", 2, {"topics": [quorum]}),
        Step("DESCRIBE_CONFIGS", 4, {"resources": [group], "include_documentation": True}),
        Step("API_VERSIONS", 4, {"client_software_name": "a", "client_software_version": "1"}),
        Step("DESCRIBE_TOPIC_PARTITIONS", 0, {"topics": [{"name": "~t0"}], "cursor": cursor}),
        fetch(12, [], session_id=2**31 - 1, session_epoch=0),
    ]
    for step in alone:
        yield Sequence(f"known {step.api}", [create("~t0"), step])
    yield from _destinations(versions)
    unknown = [_topic("~t0", {"partition": 9}), {"partitions": [{"partition": 0}]}]
    yield Sequence("known zero id in a Fetch", [create("~t0", version=7), fetch(13, unknown)])
    yield Sequence("known a topic deleted in a session", _deleted_in_session())
    yield Sequence("known offsets of a deleted topic", _deleted_with_offsets())
    yield Sequence("known sizes of packed batches", _packed(), setup=4)
    yield Sequence("known markers twice", _markers())
    batch = batch_of("~x0", txn=True)
    foreign = produce([batch], version=11)
    foreign.body["topic_data"][0]["partition_data"].append({"index": 1, "records": _records()})
    yield Sequence("known a batch of a transaction alone", [create("~t0"), init(), foreign])
    late = end(version=5, committed=False, **who("~x0", -1))
    again = end(version=5, **who("~x0", -1))
    fenced = [create("~t0"), init(), init(), add(), end(version=1), late, again]
    yield Sequence("known the end of a fenced producer", fenced)
    yield Sequence(
        "aborted transactions under small limits", _aborted(), setup=len(_aborted_before())
    )


def _destinations(versions: Versions) -> Iterator[Sequence]:
    """Yield requests for clusters and nodes that are not this one (KIP-1242)."""
    own = {"$": "cluster_id", "of": "own"}
    software = {"client_software_name": "a", "client_software_version": "1"}
    steps = [Step("DESCRIBE_CLUSTER", 1)]
    steps += [
        Step("API_VERSIONS", 5, {**software, "cluster_id": cluster, "node_id": node})
        for cluster, node in itertools.product((own, None, "", "x"), (-2, -1, 1, 2))
    ]
    if versions["API_VERSIONS"][1] >= 5:
        yield Sequence("known destinations", steps, setup=1)


def _records() -> Body:
    return {"$records": [{"n": 1}]}


def _topic(name: str, *parts: Body) -> Body:
    known = {"topic": name, "topic_id": {"$": "topic_id", "of": name}}
    return {**known, "partitions": [{"fetch_offset": 0, **one} for one in parts]}


def _deleted_in_session() -> list[Step]:
    topic = _topic("~t0", {"partition": 0, "partition_max_bytes": 100})
    session = {"session_id": {"$": "session", "of": "0"}, "session_epoch": 1}
    return [
        create("~t0", version=7),
        fetch(14, [topic], session_id=0, session_epoch=0),
        Step("DELETE_TOPICS", 4, {"topic_names": ["~t0"], "timeout_ms": 30_000}),
        fetch(14, [], **session),
    ]


def _deleted_with_offsets() -> list[Step]:
    offsets = [{"name": "~t0", "partitions": [{"committed_offset": 1}]}]
    return [
        create("~t0"),
        Step("OFFSET_COMMIT", 4, {"group_id": "~g0", "topics": offsets}),
        Step("DELETE_TOPICS", 4, {"topic_names": ["~t0"], "timeout_ms": 30_000}),
        Step(
            "OFFSET_FETCH",
            4,
            {"group_id": "~g0", "topics": [{"name": "~t0", "partition_indexes": [0]}]},
        ),
    ]


def _packed() -> list[Step]:
    """The same records in two partitions, the first packed by the broker; limits byte by byte."""
    large = [{"n": 3, "size": 200, "key": f"k{n}"} for n in range(2)]
    steps = [create("~t0", compression_type="gzip"), produce(large[:1]), produce(large[1:])]
    steps.append(produce([{"n": 1}], partition=1))
    parts = [{"partition": p, "partition_max_bytes": 1 << 20} for p in (0, 1)]
    return steps + [
        fetch(12, [_topic("~t0", *parts)], max_bytes=size) for size in range(60, 320, 4)
    ]


def _markers() -> list[Step]:
    marker = {**who("~x0"), "transaction_result": True, "coordinator_epoch": 0}
    marker["topics"] = [{"name": "~t0", "partition_indexes": [0, 0]}]
    return [create("~t0"), init(), Step("WRITE_TXN_MARKERS", 1, {"markers": [marker]})]


def _aborted_before() -> list[Step]:
    steps = [create("~t0"), init(), produce([{"n": 1, "size": 300}], partition=1)]
    for _ in range(6):
        steps += [add(), produce([batch_of("~x0", txn=True)], txn="~x0"), end(committed=False)]
    return steps


def _aborted() -> list[Step]:
    steps = _aborted_before()
    for most in (1, 100, 200, 400):
        for order in ((1, 0), (0, 1), (0,)):
            parts = [{"partition": p, "partition_max_bytes": most} for p in order]
            steps.append(fetch(12, [_topic("~t0", *parts)], max_bytes=400, isolation_level=1))
    return steps
