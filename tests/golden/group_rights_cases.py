"""What groups and transactions answer to those who may not do all that they ask for: requests with
their answers as Apache Kafka gave them.

`python -m tests.golden.group_rights_cases` records `group_rights_answers_kafka.json` anew
from a real broker; `tests/unit/broker/node/test_few_rights_kafka.py` asks Ottla the same. Each case
is asked by a user of its own, who has the rights that stand in it and no others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.golden.controller_cases import comparable
from tests.golden.few_rights import (
    NO_SUCH_ID,
    Ask,
    Call,
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

RECORDED = Path(__file__).parent / "group_rights_answers_kafka.json"

GROUP, TRANSACTION, SHARE = 0, 1, 2
RETRIED = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
IMAGE_TOPICS = {"a": 2, "b": 1}


# --- the requests ------------------------------------------------------------------------------


def _find(kind: int, *keys: str) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(keys[0], kind, list(keys))


def before_cases() -> list[Case]:
    """Asked while there are no internal topics, which none of them makes."""
    return [
        Case("find a group v2", (), _find(GROUP, "g"), 2),
        Case("find groups", (), _find(GROUP, "g", "h"), 6),
        Case("find an id v2", ("DESCRIBE GROUP t",), _find(TRANSACTION, "t"), 2),
        Case("find ids", ("DESCRIBE GROUP t",), _find(TRANSACTION, "t", "u"), 4),
        Case("find a share group", ("DESCRIBE GROUP g",), _find(SHARE, "g:x:0"), 6),
        Case("find a share group v5", (), _find(SHARE, "g:x:0"), 5),
        Case("find nothing", (), FindCoordinatorRequest("", GROUP, []), 6),
    ]


def _member_cases() -> list[Case]:
    protocols = [JoinGroupRequestProtocol("range", b"m")]
    join = JoinGroupRequest("g", 30_000, 30_000, "", None, "consumer", protocols)
    unnamed = JoinGroupRequest("", 1, 1, "", None, "consumer", protocols)
    sync = SyncGroupRequest("g", 1, "m", None, "consumer", "range")
    others = ("DESCRIBE GROUP g", "READ GROUP h")
    leaving = [MemberIdentity("m"), MemberIdentity("n")]
    return [
        Case("join", others, join, 9),
        Case("join v5", others, join, 5),
        Case("join no group, no time", (), unnamed, 9),
        Case("join allowed", ("READ GROUP h",), JoinGroupRequest("h", 1, 1), 9),
        Case("sync", others, sync, 5),
        Case("sync v3", others, sync, 3),
        Case("sync without protocol", others, SyncGroupRequest("g", 1, "m"), 5),
        Case("sync allowed", ("READ GROUP g",), sync, 5),
        Case("heartbeat", others, HeartbeatRequest("g", 1, "m"), 4),
        Case("heartbeat allowed", ("READ GROUP g",), HeartbeatRequest("g", 1, "m"), 4),
        Case("leave", others, LeaveGroupRequest("g", "", leaving), 5),
        Case("leave v2", others, LeaveGroupRequest("g", "m"), 2),
        Case("leave allowed", ("READ GROUP g",), LeaveGroupRequest("g", "", leaving), 5),
    ]


def _commit(group: str, *topics: tuple[str, bytes, list[int]]) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group,
        topics=[
            OffsetCommitRequestTopic(
                name, id_, [OffsetCommitRequestPartition(index, 5 + index) for index in indexes]
            )
            for name, id_, indexes in topics
        ],
    )


def _commit_cases(ids: Ids) -> list[Case]:
    named = (("b", bytes(16), [0]), ("a", bytes(16), [0, 9]), ("x", bytes(16), [0]))
    by_id = (("", ids["b"], [0]), ("", ids["a"], [0, 9]), ("", NO_SUCH_ID, [0]))
    some = ("READ GROUP g", "READ TOPIC a", "DESCRIBE TOPIC b")
    return [
        Case("commit", ("DESCRIBE GROUP g", "READ TOPIC a"), _commit("g", *named), 9),
        Case("commit v2", (), _commit("g", *named), 2),
        Case("commit by id", ("READ TOPIC a",), _commit("g", *by_id), 10),
        Case("commit no group", (), _commit("", *named), 9),
        Case("commit some", some, _commit("g", *named), 9),
        Case("commit some by id", some, _commit("g", *by_id), 10),
        Case("commit none", ("READ GROUP g",), _commit("g", *named), 8),
        Case("commit none, elsewhere", ("READ GROUP new",), _commit("new", *named), 9),
    ]


def _fetch(*groups: tuple[str, list[tuple[str, bytes, list[int]]] | None]) -> OffsetFetchRequest:
    """In the form of every version."""
    group, topics = groups[0]
    return OffsetFetchRequest(
        group,
        None if topics is None else [OffsetFetchRequestTopic(n, at) for n, _, at in topics],
        [
            OffsetFetchRequestGroup(
                name,
                topics=None if asked is None else [OffsetFetchRequestTopics(*one) for one in asked],
            )
            for name, asked in groups
        ],
    )


def _fetch_cases(ids: Ids) -> list[Case]:
    named = [("b", bytes(16), [0]), ("a", bytes(16), [0, 9]), ("x", bytes(16), [0])]
    by_id = [("", ids["b"], [0]), ("", NO_SUCH_ID, [0]), ("", ids["a"], [0, 9])]
    some = ("DESCRIBE GROUP g", "DESCRIBE TOPIC a")
    hidden = ("READ TOPIC a",)
    return [
        Case("fetch v1", hidden, _fetch(("g", named)), 1),
        Case("fetch v2", hidden, _fetch(("g", named)), 2),
        Case("fetch v7", hidden, _fetch(("g", named)), 7),
        Case("fetch all v7", hidden, _fetch(("g", None)), 7),
        Case("fetch", hidden, _fetch(("g", named), ("h", None)), 9),
        Case("fetch some v1", some, _fetch(("g", named)), 1),
        Case("fetch some v7", some, _fetch(("g", named)), 7),
        Case("fetch some", some, _fetch(("h", named), ("g", named), ("g", None)), 9),
        Case("fetch some by id", some, _fetch(("g", by_id), ("h", by_id)), 10),
        Case("fetch all of some v7", some, _fetch(("g", None)), 7),
        Case("fetch all of some by id", some, _fetch(("g", None)), 10),
        Case("fetch none", ("READ GROUP g",), _fetch(("g", named)), 9),
        Case("fetch all of none", ("READ GROUP g",), _fetch(("g", None)), 9),
    ]


def _admin_cases() -> list[Case]:
    def describe(*names: str, asked: bool = True) -> DescribeGroupsRequest:
        return DescribeGroupsRequest(list(names), asked)

    some = ("READ GROUP h", "DESCRIBE GROUP x")
    full = ("DELETE GROUP g", "ALTER_CONFIGS GROUP g", "READ GROUP g")
    ids = DeleteGroupsRequest(["g", "h", "x", "g", "y"])
    return [
        Case("describe", some, describe("g", "h", "x", "g", "y"), 6),
        Case("describe v2", some, describe("g", "h", "x"), 2),
        Case("describe v5", some, describe("g", "h", "x"), 5),
        Case("describe, not asked", some, describe("g", "h", asked=False), 6),
        Case("describe by delete", full, describe("g"), 5),
        Case("list", (), ListGroupsRequest(), 5),
        Case("list some", ("DELETE GROUP h", "DESCRIBE GROUP x"), ListGroupsRequest(), 5),
        Case("list all", ("DESCRIBE CLUSTER",), ListGroupsRequest(), 4),
        Case("list by another right", ("ALTER_CONFIGS CLUSTER",), ListGroupsRequest(), 4),
        Case("delete", ("READ GROUP g", "DESCRIBE GROUP h"), ids, 2),
        Case("delete some", ("DELETE GROUP x", "DELETE GROUP y"), ids, 2),
        Case("delete some v3", ("DELETE GROUP x", "DELETE GROUP y"), ids, 3),
    ]


def _producer_cases() -> list[Case]:
    def init(name: str | None, **changes: int) -> InitProducerIdRequest:
        return InitProducerIdRequest(name, **{"transaction_timeout_ms": 60_000, **changes})

    writer = ("WRITE TRANSACTIONAL_ID t",)
    return [
        Case("init", ("READ TOPIC a", "WRITE TRANSACTIONAL_ID t"), init(None), 5),
        Case("init v0", (), init(None), 0),
        Case("init idempotent", ("IDEMPOTENT_WRITE CLUSTER",), init(None), 5),
        Case("init writer", ("WRITE TOPIC nowhere",), init(None), 5),
        Case("init id", ("DESCRIBE TRANSACTIONAL_ID t", "IDEMPOTENT_WRITE CLUSTER"), init("t"), 5),
        Case("init no id", (), init(""), 5),
        Case("init contradiction", (), init("t", producer_id=5), 5),
        Case("init contradiction without id", (), init(None, producer_id=5), 5),
        Case("init no time", (), init("t", transaction_timeout_ms=0), 5),
        Case("init no time allowed", writer, init("t", transaction_timeout_ms=0), 5),
    ]


def _add(*topics: tuple[str, list[int]]) -> AddPartitionsToTxnRequest:
    """By a producer that there is not, in the form of every version."""
    asked = [AddPartitionsToTxnTopic(*one) for one in topics]
    both = [AddPartitionsToTxnTransaction(name, 77, 0, False, asked) for name in ("t", "u")]
    return AddPartitionsToTxnRequest(both, "t", 77, 0, asked)


def _transaction_cases() -> list[Case]:
    id_ = "WRITE TRANSACTIONAL_ID t"
    every = [("b", [0]), ("a", [0, 9]), ("x", [0]), ("__consumer_offsets", [0])]
    offsets, end = AddOffsetsToTxnRequest("t", 77, 0, "g"), EndTxnRequest("t", 77, 0, True)
    writer = (id_, "WRITE TOPIC a", "WRITE TOPIC __consumer_offsets")
    return [
        Case("add", ("DESCRIBE TRANSACTIONAL_ID t", "WRITE TOPIC a"), _add(*every), 3),
        Case("add v0", (), _add(*every), 0),
        Case("add none", (id_,), _add(*every), 3),
        Case("add some", writer, _add(*every), 3),
        Case("add what is not there", writer, _add(("a", [0, 9])), 3),
        Case("add, no such producer", writer, _add(("a", [0, 1])), 3),
        Case("add nothing", (), _add(), 3),
        Case("add as a broker v4", ("ALTER CLUSTER", *writer), _add(("a", [0])), 4),
        Case("add as a broker", ("ALTER CLUSTER", *writer), _add(("a", [0])), 5),
        Case("offsets", ("DESCRIBE TRANSACTIONAL_ID t",), offsets, 4),
        Case("offsets, the group alone", ("READ GROUP g",), offsets, 4),
        Case("offsets, the id alone", (id_, "DESCRIBE GROUP g"), offsets, 4),
        Case("offsets v0, the id alone", (id_,), offsets, 0),
        Case("offsets allowed", (id_, "READ GROUP g"), offsets, 4),
        Case("end", ("DESCRIBE TRANSACTIONAL_ID t",), end, 5),
        Case("end v0", ("WRITE TRANSACTIONAL_ID u",), end, 0),
        Case("end allowed", (id_,), end, 4),
    ]


def _txn_commit(*topics: tuple[str, bytes, list[int]]) -> TxnOffsetCommitRequest:
    named = [
        TxnOffsetCommitRequestTopic(
            name, id_, [TxnOffsetCommitRequestPartition(index, 3) for index in indexes]
        )
        for name, id_, indexes in topics
    ]
    return TxnOffsetCommitRequest("t", "g", 77, 0, topics=named)


def _offset_cases(ids: Ids) -> list[Case]:
    request = _txn_commit(("b", bytes(16), [0]), ("a", bytes(16), [0, 9]), ("x", bytes(16), [0]))
    by_id = _txn_commit(("", ids["b"], [0]), ("", ids["a"], [0, 9]), ("", NO_SUCH_ID, [0]))
    id_, group, topic = "WRITE TRANSACTIONAL_ID t", "READ GROUP g", "READ TOPIC a"
    return [
        Case("commit in t", (group, topic), request, 3),
        Case("commit in t, the id alone", (id_, topic, "DESCRIBE GROUP g"), request, 3),
        Case("commit in t, no topic", (id_, group, "DESCRIBE TOPIC a"), request, 5),
        Case("commit in t, a topic", (id_, group, topic), request, 4),
        Case("commit in t by id", (group, topic), by_id, 6),
        Case("commit in t by id, no topic", (id_, group, "DESCRIBE TOPIC a"), by_id, 6),
        Case("commit in t by id, a topic", (id_, group, topic), by_id, 6),
        Case("commit in t, nothing", (), TxnOffsetCommitRequest("t", "g", 77, 0), 3),
    ]


def _admin_of_transactions_cases() -> list[Case]:
    def marker(producer: int, *topics: tuple[str, list[int]]) -> WritableTxnMarker:
        named = [WritableTxnMarkerTopic(*one) for one in topics]
        return WritableTxnMarker(producer, 0, True, named, 0)

    markers = WriteTxnMarkersRequest([marker(5, ("x", [0]), ("y", [0])), marker(6, ("x", [0]))])
    one = WriteTxnMarkersRequest([marker(5, ("x", [0]))])
    describe = DescribeTransactionsRequest(["u", "t", "v", "w"])
    return [
        Case("markers", ("DESCRIBE CLUSTER", "WRITE TOPIC x"), markers, 1),
        Case("markers by alter", ("ALTER CLUSTER",), one, 1),
        Case("markers by a broker", ("CLUSTER_ACTION CLUSTER",), one, 2),
        Case("describe ids", ("DESCRIBE TOPIC a",), describe, 0),
        Case(
            "describe some ids",
            ("WRITE TRANSACTIONAL_ID t", "DESCRIBE TRANSACTIONAL_ID v", "DESCRIBE TOPIC b"),
            describe,
            0,
        ),
        Case("list ids", ("DESCRIBE CLUSTER",), ListTransactionsRequest(), 2),
        Case("list some ids", ("DESCRIBE TRANSACTIONAL_ID u",), ListTransactionsRequest(), 2),
        Case("list written ids", ("WRITE TRANSACTIONAL_ID t",), ListTransactionsRequest(), 0),
    ]


def _offset_deletion_cases() -> list[Case]:
    def delete(group: str, *topics: tuple[str, list[int]]) -> OffsetDeleteRequest:
        named = [
            OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(one) for one in indexes])
            for name, indexes in topics
        ]
        return OffsetDeleteRequest(group, named)

    every = (("b", [0]), ("a", [0, 9]), ("x", [0]))
    group, topic = "DELETE GROUP g", "READ TOPIC a"
    absent = ("DELETE GROUP absent", topic)
    return [
        Case("delete offsets", (topic, "READ GROUP g"), delete("g", *every), 0),
        Case("delete offsets, no topic", (group, "DESCRIBE TOPIC a"), delete("g", *every), 0),
        Case("delete offsets, a topic", (group, topic), delete("g", *every), 0),
        Case("delete offsets nowhere", absent, delete("absent", *every), 0),
        Case("delete offsets nowhere, no topic", absent[:1], delete("absent", *every), 0),
        Case("delete no offsets", (), delete("g"), 0),
    ]


def cases(ids: Ids) -> list[Case]:
    """Asked when `prepare` has made what they speak of."""
    return [
        Case("find some groups", ("DESCRIBE GROUP h",), _find(GROUP, "g", "h", "g"), 6),
        Case("find some ids", ("WRITE TRANSACTIONAL_ID u",), _find(TRANSACTION, "t", "u"), 4),
        *_member_cases(),
        *_commit_cases(ids),
        *_fetch_cases(ids),
        *_admin_cases(),
        *_producer_cases(),
        *_transaction_cases(),
        *_offset_cases(ids),
        *_admin_of_transactions_cases(),
        *_offset_deletion_cases(),
    ]


# --- what there is ------------------------------------------------------------------------------


def prepare(call: Call, pause: Callable[[], None]) -> None:
    """As one who may do all: groups `g` and `h`, an open transaction `t` and an empty one `u`."""

    def until_good(request: Any, version: int, error: Callable[[Any], int]) -> Any:
        for _ in range(600):
            answer = call(request, version)
            if error(answer) not in RETRIED:
                assert error(answer) == 0, answer
                return answer
            pause()
        raise AssertionError(f"no other answer to {request}")

    for kind, key in ((GROUP, "g"), (TRANSACTION, "t")):
        until_good(_find(kind, key), 4, lambda answer: answer.coordinators[0].error_code)
    for group, topics in (("g", IMAGE_TOPICS), ("h", {"a": 1})):
        committed = [(name, bytes(16), list(range(count))) for name, count in topics.items()]
        until_good(
            _commit(group, *committed), 9, lambda answer: answer.topics[0].partitions[0].error_code
        )
    for name in ("u", "t"):
        init = InitProducerIdRequest(name, 60_000)
        mine = until_good(init, 4, lambda answer: answer.error_code)
    topics = [AddPartitionsToTxnTopic(name, [0]) for name in IMAGE_TOPICS]
    adding = AddPartitionsToTxnRequest([], "t", mine.producer_id, mine.producer_epoch, topics)

    def added(answer: Any) -> int:
        (code,) = {
            one.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        }
        return int(code)

    until_good(adding, 3, added)


def plain(case: Case, answer: Any) -> Any:
    """An answer, comparable between brokers: what Kafka keeps in hash maps is sorted, but so that
    those who are denied stay behind or before the others."""
    found = without_places(comparable(answer), _DRAWN)
    for key in ("groups", "transaction_states", "results"):
        if case.name.startswith(("list", "describe", "delete")) and key in found:
            runs = groupby(found[key], lambda one: one.get("error_code", 0) in _DENIED)
            found[key] = [one for _, run in runs for one in sorted(run, key=str)]
    if "results_by_topic_v3_and_below" in found:
        found["results_by_topic_v3_and_below"].sort(key=lambda one: one["name"])
    for one in found.get("coordinators", []):
        if one["error_code"] == ErrorCode.INVALID_REQUEST:
            del one["error_message"]  # what is not served is said in words of Ottla's own
    return found


_DENIED = (
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
_DRAWN = ("producer_id", "transaction_start_time_ms")


def all_cases(ids: Ids) -> list[Case]:
    """The cases in the order in which they are asked."""
    return [*before_cases(), *cases(ids)]


RIGHTS = rights_of(all_cases(dict.fromkeys(IMAGE_TOPICS, bytes(16))))


def answers(ask: Ask, pause: Callable[[float], None]) -> dict[str, Any]:
    """Ask a broker that has no topics yet; `pause` waits some seconds."""
    admin, kept = as_admin(ask), dict[str, Any]()
    make_topics(admin, IMAGE_TOPICS)
    pause(0.5)
    ids, first = topics_now(admin), len(before_cases())
    for number, (user, case) in enumerate(users(all_cases(ids))):
        if number == first:
            kept["topics"] = sorted(topics_now(admin))
            prepare(admin, lambda: pause(0.02))
        assert case.name not in kept, case.name
        kept[case.name] = answered(case, user, ask, plain)
    return kept


# --- recording ----------------------------------------------------------------------------------


def record() -> None:
    """Ask a real broker."""
    with GuardedKafka(RIGHTS) as kafka:
        kept = answers(kafka.ask, time.sleep)
    write_json(RECORDED, kept, sort_keys=True)


if __name__ == "__main__":
    record()
