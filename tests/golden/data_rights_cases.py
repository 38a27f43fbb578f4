"""What the APIs of records and of metadata answer to those who may not do all that they ask for:
requests with their answers as Apache Kafka gave them.

`python -m tests.golden.data_rights_cases` records `data_rights_answers_kafka.json` anew from
a real broker; `tests/unit/broker/node/test_few_rights_kafka.py` asks Ottla the same.
Each case is asked by a user of its own, who has the rights that stand in it and no others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_producers import DescribeProducersRequest
from protocol.messages.describe_producers import TopicRequest as ProducersTopic
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    TopicRequest,
)
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.golden.controller_cases import comparable
from tests.golden.few_rights import (
    NO_SUCH_ID,
    Ask,
    Case,
    GuardedKafka,
    Ids,
    answered,
    as_admin,
    make_topics,
    rights_of,
    topics_now,
    users,
    without_places,
)
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "data_rights_answers_kafka.json"

TOPICS = {"a": 2, "b": 1, "c": 1, "d": 1}
MIB = 1 << 20


# --- the requests ------------------------------------------------------------------------------


def _all_topics_cases() -> list[Case]:
    everything = MetadataRequest(None, False, True, True)
    pages = DescribeTopicPartitionsRequest([], 2)
    hidden = DescribeTopicPartitionsRequest([], 2, DescribeTopicPartitionsRequestCursor("b", 0))
    some = ("READ TOPIC a", "DESCRIBE_CONFIGS TOPIC b", "ALTER TOPIC c", "DESCRIBE TOPIC new")
    return [
        Case("all topics", some, everything, 10),
        Case("all topics, none of them", (), everything, 12),
        Case("all topics v0", some, MetadataRequest([]), 0),
        Case("pages", some, pages, 0),
        Case("pages, none of them", (), pages, 0),
        Case("pages behind a hidden topic", some, hidden, 0),
    ]


def _metadata_cases(ids: Ids) -> list[Case]:
    def named(*names: str, create: bool = True) -> MetadataRequest:
        topics = [MetadataRequestTopic(name=name) for name in names]
        return MetadataRequest(topics, create, True, True)

    asked = named("a", "none", "__consumer_offsets", "bad name")
    old = MetadataRequest([MetadataRequestTopic(name=name) for name in ("a", "none")], True)
    by_id = MetadataRequest(
        [MetadataRequestTopic(one) for one in (ids["a"], NO_SUCH_ID, ids["b"])],
        include_topic_authorized_operations=True,
    )
    to_make = ("a", "new", "bad name", "__transaction_state", "none")
    may_see = tuple(f"DESCRIBE TOPIC {name}" for name in ("new", "__transaction_state"))
    return [
        Case("named v1", (), old, 1),
        Case("named v8", (), asked, 8),
        Case("named v10", ("DESCRIBE CLUSTER",), asked, 10),
        Case("named v13", ("DESCRIBE CLUSTER", "CREATE CLUSTER"), asked, 13),
        Case("a seen topic", ("WRITE TOPIC a",), asked, 12),
        Case("by id", ("DESCRIBE TOPIC b",), by_id, 12),
        Case("by id, none", (), by_id, 13),
        Case("not to be made", may_see, named(*to_make, create=False), 12),
        Case("not made", may_see, named(*to_make), 12),
        Case(
            "not made, of two",
            (*may_see, "CREATE TOPIC new"),
            named("new", "__transaction_state"),
            9,
        ),
        Case(
            "made by the cluster's right",
            ("CREATE CLUSTER", "READ TOPIC other"),
            named("other"),
            11,
        ),
    ]


def _described_cases() -> list[Case]:
    def pages(*names: str, limit: int = 10, cursor: str | None = None) -> Any:
        at = None if cursor is None else DescribeTopicPartitionsRequestCursor(cursor, 0)
        return DescribeTopicPartitionsRequest([TopicRequest(name) for name in names], limit, at)

    some = ("READ TOPIC a", "READ TOPIC c", "READ TOPIC no")
    cluster = DescribeClusterRequest(True)
    return [
        Case("partitions", (), pages("a", "none", "bad name"), 0),
        Case("partitions, a page", some, pages("a", "aa", "b", "c", "d", "no", limit=2), 0),
        Case("partitions behind", some, pages("a", "b", "c", "d", "no", cursor="c", limit=1), 0),
        Case("partitions behind a hidden one", some, pages("a", "b", "c", "d", cursor="b"), 0),
        Case("cluster", (), cluster, 2),
        Case("cluster, by its describer", ("DESCRIBE CLUSTER",), cluster, 0),
        Case("cluster, by its alterer", ("ALTER CLUSTER",), cluster, 1),
        Case("controllers", (), DescribeClusterRequest(True, 2), 1),
    ]


def _fetch_cases(ids: Ids) -> list[Case]:
    def topics(version: int, *named: tuple[str, int]) -> list[FetchTopic]:
        by_id = version >= 13
        return [
            FetchTopic(
                "" if by_id else name,
                ids.get(name, NO_SUCH_ID) if by_id else bytes(16),
                [FetchPartition(index, partition_max_bytes=MIB)],
            )
            for name, index in named
        ]

    def fetch(version: int, *named: tuple[str, int], replica: int = -1, epoch: int = -1) -> Any:
        return FetchRequest(
            replica_id=replica if version < 15 else -1,
            replica_state=ReplicaState(replica) if version >= 15 else None,
            max_bytes=MIB,
            session_epoch=epoch,
            topics=topics(version, *named),
        )

    mixed = (("b", 0), ("no", 0), ("a", 0), ("c", 0), ("a", 7))
    two = (("a", 0), ("none", 0))
    some = ("READ TOPIC a", "READ TOPIC no", "DESCRIBE TOPIC b")
    broker = ("CLUSTER_ACTION CLUSTER",)
    return [
        Case("fetch", ("DESCRIBE TOPIC a",), fetch(12, *two), 12),
        Case("fetch by id", (), fetch(13, *two), 13),
        Case("fetch some", some, fetch(12, *mixed), 12),
        Case("fetch some by id", some, fetch(18, *mixed), 18),
        Case("fetch with a session", some, fetch(17, *mixed, epoch=0), 17),
        Case("fetch as a broker", ("READ TOPIC a",), fetch(12, *two, replica=2), 12),
        Case("fetch as a broker by id", ("ALTER CLUSTER",), fetch(17, *two, replica=2), 17),
        Case("fetch as a broker in a session", (), fetch(12, *two, replica=2, epoch=0), 12),
        Case("fetch by a broker", broker, fetch(13, ("none", 0), replica=2), 13),
        Case("fetch by a broker as nobody", broker, fetch(12, *two), 12),
    ]


def _offset_cases() -> list[Case]:
    def offsets(*names: str, replica: int = -1) -> ListOffsetsRequest:
        asked = [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -1)]) for name in names]
        return ListOffsetsRequest(replica, 0, asked)

    twice = ListOffsetsTopic("a", [ListOffsetsPartition(0, -1, -1)] * 2)
    epochs = OffsetForLeaderEpochRequest(
        -1,
        [
            OffsetForLeaderTopic(name, [OffsetForLeaderPartition(0, -1, 0)])
            for name in ("b", "none", "a")
        ],
    )
    deleting = DeleteRecordsRequest(
        [
            DeleteRecordsTopic(name, [DeleteRecordsPartition(0, 0), DeleteRecordsPartition(0, 0)])
            for name in ("b", "none", "a")
        ],
        1_000,
    )
    producers = DescribeProducersRequest(
        [ProducersTopic(name, [0, 9]) for name in ("a", "none", "bad name", "b")]
    )
    return [
        Case("offsets", ("DESCRIBE_CONFIGS TOPIC a",), offsets("a", "none"), 7),
        Case("offsets of some", ("WRITE TOPIC b",), offsets("a", "b", "none"), 10),
        Case("offsets twice", (), ListOffsetsRequest(-1, 0, [twice]), 1),
        Case("offsets as a broker", (), offsets("a", replica=2), 7),
        Case("epochs", ("DESCRIBE CLUSTER",), epochs, 4),
        Case("epochs of some", ("DESCRIBE TOPIC a",), epochs, 3),
        Case("epochs by a broker", ("CLUSTER_ACTION CLUSTER",), epochs, 4),
        Case("delete records", ("WRITE TOPIC a",), deleting, 2),
        Case("delete some records", ("DELETE TOPIC a",), deleting, 1),
        Case("producers", ("DESCRIBE TOPIC a",), producers, 0),
        Case("some producers", ("READ TOPIC a",), producers, 0),
    ]


def _produce_cases(ids: Ids) -> list[Case]:
    plain_batch = build_batch([Record(-1, 1, None, b"v")])
    in_transaction = build_batch(
        [Record(-1, 1, None, b"v")],
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )

    def produce(
        version: int, *names: str, id_: str | None = None, batch: Any = plain_batch, acks: int = 1
    ) -> ProduceRequest:
        by_id = version >= 13
        data = [
            TopicProduceData(
                "" if by_id else name,
                ids.get(name, NO_SUCH_ID) if by_id else bytes(16),
                [PartitionProduceData(0, memoryview(bytes(batch)))],
            )
            for name in names
        ]
        return ProduceRequest(id_, acks, 3_000, data)

    write = ("WRITE TOPIC a",)
    with_id = (*write, "WRITE TRANSACTIONAL_ID x")
    return [
        Case("produce", ("READ TOPIC a",), produce(12, "a", "none", "b"), 12),
        Case("produce by id", ("DESCRIBE TOPIC a",), produce(13, "a", "none", "b"), 13),
        Case("produce some", write, produce(9, "a", "none", "b"), 9),
        Case("produce some by id", write, produce(13, "a", "none", "b", acks=-1), 13),
        Case("produce without an answer", write, produce(12, "a", "b", acks=0), 12),
        Case("produce, an empty name", write, produce(12, ""), 12),
        Case("produce with an id", write, produce(12, "a", id_="x"), 12),
        Case(
            "in a transaction", write, produce(11, "a", "none", id_="x", batch=in_transaction), 11
        ),
        Case("in none", with_id, produce(11, "a", batch=in_transaction), 11),
        Case("no topic", with_id, produce(11, "b", id_="x", batch=in_transaction), 11),
    ]


def cases(ids: Ids) -> list[Case]:
    """Asked when there are `TOPICS`. Those that make topics come last."""
    return [
        *_all_topics_cases(),
        *_described_cases(),
        *_produce_cases(ids),
        *_fetch_cases(ids),
        *_offset_cases(),
        *_metadata_cases(ids),
    ]


RIGHTS = rights_of(cases(dict.fromkeys(TOPICS, bytes(16))))


def answers(ask: Ask, pause: Callable[[float], None]) -> dict[str, Any]:
    """Ask a broker that has no topics yet; `pause` waits some seconds."""
    admin, kept = as_admin(ask), dict[str, Any]()
    make_topics(admin, TOPICS)
    pause(0.5)
    for user, case in users(cases(topics_now(admin))):
        assert case.name not in kept, case.name
        kept[case.name] = answered(case, user, ask, plain)
    return kept


def plain(case: Case, answer: Any) -> Any:
    """An answer, comparable between brokers: what Kafka keeps in hash maps is sorted, but so that
    those who are denied stay behind."""
    if answer is None:
        return "closed"
    found: dict[str, Any] = without_places(comparable(answer), _DRAWN)
    key = {"MetadataResponse": "topics", "DescribeTopicPartitionsResponse": "topics"}.get(
        type(answer).__name__
    )
    if key is not None:
        found[key].sort(key=lambda one: (one["error_code"] == _DENIED, _named(one)))
    for unordered in _UNORDERED.get(type(answer).__name__, ()):
        found[unordered].sort(key=_named)
    return found


def _named(one: dict[str, Any]) -> str:
    return json.dumps([one.get("name"), one], sort_keys=True)


_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_UNORDERED = {"ProduceResponse": ("responses",), "DeleteRecordsResponse": ("topics",)}
_DRAWN = ("session_id",)


# --- recording ----------------------------------------------------------------------------------


def record() -> None:
    """Ask a real broker."""
    with GuardedKafka(RIGHTS) as kafka:
        kept = answers(kafka.ask, time.sleep)
    write_json(RECORDED, kept, sort_keys=True)


if __name__ == "__main__":
    record()
