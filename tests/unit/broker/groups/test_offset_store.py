"""Committed offsets as data: commits, reads, transactions, removal."""

from __future__ import annotations

from typing import Any, NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.committed_offset import CommittedOffset
from broker.groups.group_records import offset_tombstone, read_group_record
from broker.groups.offset_store import COMMITS_A_SLICE, OffsetStore
from broker.groups.removal import TombstoneScan
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from protocol.messages.offset_fetch import OffsetFetchRequestTopics
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.clients.group_conversation import committing

ID, OTHER_ID = bytes([1]) * 16, bytes([2]) * 16


class Store(OffsetStore):
    """Appends what it decides at once."""

    def __init__(self) -> None:
        super().__init__(metadata_max_bytes=8, committed_below=lambda: self.committed_below)
        self.next_offset = 0
        self.committed_below = 1_000

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The offset as appended, or None; none of an open transaction."""
        return self._table.get((group_id, topic, partition))

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether some open transaction holds offsets of the group."""
        return self._pending.has_open_transaction(group_id)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset of this partition."""
        return self._pending.is_pending((group_id, topic, partition))

    def put(self, group: str, offset: int, producer_id: int = -1, **changes: Any) -> list[int]:
        request = committing(group, offset, topic="t", **changes)
        records, answers = in_one_go(self.commit(request, 1_000))
        self.apply(records, producer_id)
        return [partition.error_code for partition in answers[0].partitions]

    def apply(self, records: list[Record], producer_id: int = -1) -> None:
        for key, value in records:
            found = read_group_record(key, value)
            assert isinstance(found, tuple)
            name, content = found
            assert isinstance(name, OffsetCommitKey)
            assert content is None or isinstance(content, OffsetCommitValue)
            self.replay(name, content, self.next_offset, producer_id)
            self.next_offset += 1

    def end(self, producer_id: int, *, committed: bool) -> None:
        self.replay_marker(producer_id, committed, self.next_offset)
        self.next_offset += 1

    def offset(self, group: str = "g", partition: int = 0) -> int | None:
        committed = self.get(group, "t", partition)
        return None if committed is None else committed.offset


class FetchedOffset(NamedTuple):
    """Of one partition, by OffsetFetch."""

    committed_offset: int
    error_code: int = 0


class ToldTopic(NamedTuple):
    name: str
    partitions: list[FetchedOffset]


def fetched(
    store: Store, group: str, asked: list[OffsetFetchRequestTopics] | None, require_stable: bool
) -> list[ToldTopic]:
    """What OffsetFetch tells now."""
    wanted = None if asked is None else [(one.name, one.partition_indexes) for one in asked]
    found = store.fetch(group, wanted, require_stable=require_stable)
    if asked is None:
        asked = [
            OffsetFetchRequestTopics(name, bytes(16), list(partitions))
            for name, partitions in found.by_topic.items()
        ]
    answers = []
    for topic in asked:
        partitions = []
        for index in topic.partition_indexes:
            committed = found.find(topic.name, index, topic.topic_id)
            offset = -1 if committed is None else committed.offset
            told = FetchedOffset(offset)
            if found.is_unstable(topic.name, index):
                told = FetchedOffset(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            partitions.append(told)
        answers.append(ToldTopic(topic.name, partitions))
    return answers


def asked(topic_id: bytes = bytes(16), *partitions: int) -> list[OffsetFetchRequestTopics]:
    return [OffsetFetchRequestTopics("t", topic_id, list(partitions or (0,)))]


def test_the_last_commit_counts() -> None:
    store = Store()
    store.put("g", 5)
    store.put("g", 3)
    store.put("h", 9)
    assert (store.offset("g"), store.offset("h"), store.offset("i")) == (3, 9, None)


def test_metadata_over_the_limit_is_refused_partition_by_partition() -> None:
    store = Store()
    assert store.put("g", 5, metadata="12345678") == [0]
    assert store.put("g", 6, metadata="123456789") == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert store.offset() == 5


def test_a_read_of_some_and_of_all() -> None:
    store = Store()
    store.put("g", 5, partitions=[0, 1])
    store.put("h", 5)
    for require_stable in (False, True):
        topics = fetched(store, "g", asked(bytes(16), 0, 1, 2), require_stable)
        assert [p.committed_offset for p in topics[0].partitions] == [5, 6, -1]
        assert fetched(store, "g", None, require_stable)[0].partitions[1].committed_offset == 6
        assert fetched(store, "x", None, require_stable) == []


def test_a_read_tells_what_is_committed_and_a_stable_one_what_is_appended() -> None:
    """The second is answered when all that it tells is committed."""
    store = Store()
    store.put("g", 5)
    store.put("g", 1, producer_id=77, partitions=[1])
    store.committed_below = 2
    store.put("g", 6)
    store.end(77, committed=True)

    def seen(require_stable: bool) -> list[int]:
        topics = fetched(store, "g", None, require_stable)
        return [p.committed_offset for topic in topics for p in topic.partitions]

    assert (seen(False), seen(True)) == ([5], [6, 2])
    store.committed_below = 3
    assert (seen(False), seen(True)) == ([6], [6, 2])
    store.committed_below = 4
    assert (seen(False), seen(True)) == ([6, 2], [6, 2])
    store.apply(in_one_go(store.delete_group("g")))
    assert (seen(False), seen(True)) == ([6, 2], [])
    store.committed_below = 6
    assert (seen(False), seen(True)) == ([], [])


def test_an_offset_of_an_earlier_topic_of_the_name_does_not_count() -> None:
    store = Store()
    store.put("g", 5, topic_id=ID)
    assert fetched(store, "g", asked(ID), False)[0].partitions[0].committed_offset == 5
    assert fetched(store, "g", asked(), False)[0].partitions[0].committed_offset == 5
    assert fetched(store, "g", asked(OTHER_ID), False)[0].partitions[0].committed_offset == -1


def test_offsets_of_a_transaction_count_when_it_is_committed() -> None:
    store = Store()
    store.put("g", 5)
    store.put("g", 8, producer_id=77)
    assert store.offset() == 5
    assert store.is_pending("g", "t", 0) and store.has_open_transaction("g")
    unstable = fetched(store, "g", asked(), True)[0].partitions[0]
    assert (unstable.error_code, unstable.committed_offset) == (
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        -1,
    )
    assert fetched(store, "g", asked(), False)[0].partitions[0].committed_offset == 5
    store.end(77, committed=True)
    assert store.offset() == 8
    assert not store.is_pending("g", "t", 0)


def test_offsets_of_a_transaction_never_count_when_it_is_aborted() -> None:
    store = Store()
    store.put("g", 8, producer_id=77)
    store.end(77, committed=False)
    store.end(78, committed=True)
    assert store.offset() is None
    assert not store.has_open_transaction("g")


def test_a_later_commit_stays_when_an_earlier_transaction_ends() -> None:
    store = Store()
    store.put("g", 8, producer_id=77)
    store.put("g", 3)
    store.end(77, committed=True)
    assert store.offset() == 3


def transactional(**partitions: str | None) -> TxnOffsetCommitRequest:
    return TxnOffsetCommitRequest(
        group_id="g",
        topics=[
            TxnOffsetCommitRequestTopic(
                "t",
                partitions=[
                    TxnOffsetCommitRequestPartition(index, 5 + index, 3, metadata)
                    for index, metadata in enumerate(partitions.values())
                ],
            )
        ],
    )


def test_a_transactional_commit() -> None:
    store = Store()
    request = transactional(a="", b="x" * 9, c=None)
    records, answers = in_one_go(store.commit_transactional(request, now_ms=1_000))
    assert [(p.partition_index, p.error_code) for p in answers[0].partitions] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        (2, ErrorCode.NONE),
    ]
    store.apply(records, producer_id=77)
    assert store.offset() is None
    store.end(77, committed=True)
    committed = store.get("g", "t", 2)
    assert committed is not None
    assert committed == (7, 3, "", 1_000, -1, bytes(16), 1)


def test_two_open_transactions_and_the_later_record_wins() -> None:
    store = Store()
    store.put("g", 8, producer_id=77)
    store.put("g", 9, producer_id=78)
    store.end(78, committed=True)
    assert store.is_pending("g", "t", 0)
    store.end(77, committed=True)
    assert store.offset() == 9
    assert not store.is_pending("g", "t", 0)


def test_deleting_removes_pending_offsets_too() -> None:
    store = Store()
    store.put("g", 8, producer_id=77)
    records = store.delete("g", "t", 0)
    assert records == [offset_tombstone("g", "t", 0)]
    store.apply(records)
    store.end(77, committed=True)
    assert store.offset() is None
    assert store.delete("g", "t", 0) == []


def test_deleting_a_group_and_a_topic() -> None:
    store = Store()
    store.put("g", 1, partitions=[0, 1])
    store.put("g", 1, producer_id=7, partitions=[1, 2])
    store.put("h", 1)
    of_g = [offset_tombstone("g", "t", partition) for partition in (0, 1, 2)]
    assert in_one_go(store.delete_group("g")) == of_g
    assert _found(store.delete_topics(["v", "t"])) == [*of_g, offset_tombstone("h", "t", 0)]
    assert _found(store.delete_topics(["u"])) == []
    store.apply(in_one_go(store.delete_group("g")))
    assert in_one_go(store.delete_group("g")) == []
    assert store.offset("h") == 1
    store.apply([offset_tombstone("x", "y", 0)])


def _expired(
    store: Store, now: int, subscribed: bool = False, since: int = 1_000
) -> tuple[int, bool]:
    records: list[Record | None] = []

    def found() -> TombstoneScan:
        nonlocal nothing_left
        nothing_left = yield from store.expire("g", lambda _: subscribed, lambda _: since, now, 500)

    nothing_left = False
    records += found()
    return len(records) - records.count(None), nothing_left


def _found(found: TombstoneScan) -> list[Record]:
    return [one for one in found if one is not None]


def test_expiry_by_retention() -> None:
    store = Store()
    store.put("g", 1, partitions=[0, 1])
    assert _expired(store, 1_499) == (0, False)
    assert _expired(store, 1_500) == (2, True)
    assert _expired(store, 1_500, subscribed=True) == (0, False)
    assert _expired(store, 1_500, since=1_001) == (0, False)
    store.put("g", 1, producer_id=7)
    assert _expired(store, 1_500) == (1, False)


def test_expiry_of_its_own() -> None:
    store = Store()
    store.put("g", 1, retention_time_ms=200)
    assert _expired(store, 1_199) == (0, False)
    assert _expired(store, 1_200) == (1, True)


def test_a_group_without_offsets_has_nothing_left() -> None:
    assert _expired(Store(), 0) == (0, True)
    store = Store()
    store.put("g", 1, producer_id=7)
    assert _expired(store, 0) == (0, False)


def test_a_slice_looks_at_so_many_partitions() -> None:
    store, many = Store(), list(range(2 * COMMITS_A_SLICE + 1))
    assert len(list(store.commit(committing("g", 1, topic="t", partitions=many), 1_000))) == 2
    store.put("g", 1, partitions=many)
    assert len(list(store.delete_group("g"))) == 2
    request = transactional(**{str(index): "" for index in many})
    assert len(list(store.commit_transactional(request, 1_000))) == 2
