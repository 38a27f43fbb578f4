"""The offsets of a shard's groups: committed ones, and those of open transactions.

Owns both kinds (`offset_table`, `pending_offsets`). They change only in `replay` and
`replay_marker`. The other methods decide: they return the records to append and the answer, in
steps if a request may name many partitions. Never checks whether a group may commit: the `Group`
does. Follows Kafka's `OffsetMetadataManager`; KIP-211 (expiry), KIP-447 (stable offsets), KIP-848
(topic ids in OffsetCommit and OffsetFetch v10).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence

from broker.coordinator.coordinator_log import NO_PRODUCER_ID, Record
from broker.groups.committed_offset import CommittedOffset, Plain
from broker.groups.fetched_offsets import FetchedOffsets, RequestedPartitions
from broker.groups.group_records import offset_commit_record, offset_tombstone
from broker.groups.offset_table import OffsetTable, PartitionOffset
from broker.groups.pending_offsets import PendingOffsets
from broker.groups.removal import TombstoneScan
from ground.sliced_work import Pace, Steps, each
from protocol.errors import ErrorCode
from protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

NO_TIMESTAMP = -1

COMMITS_A_SLICE = 200
"""The number of a request's partitions that are handled in one slice."""


class OffsetStore:
    """The offsets of a partition of `__consumer_offsets`, with that log's high watermark as
    `committed_below()`."""

    def __init__(self, metadata_max_bytes: int, committed_below: Callable[[], int]) -> None:
        """Create an empty store. `committed_below()` returns the high watermark of the log."""
        self._metadata_max_bytes = metadata_max_bytes
        self._table = OffsetTable(committed_below)
        self._pending = PendingOffsets()

    @property
    def count(self) -> int:
        """The number of offsets, without those of open transactions."""
        return self._table.count

    def all_committed(self) -> Iterator[tuple[str, str, list[PartitionOffset]]]:
        """Yield the committed offsets of each group and topic, as they are at that step.

        The offsets may change between two steps.
        """
        table = self._table
        for group_id in table.group_ids():
            for topic in table.topics(group_id):
                yield group_id, topic, table.committed_of(group_id, topic)

    # -- replay --------------------------------------------------------------------------------

    def replay(
        self,
        key: OffsetCommitKey,
        value: OffsetCommitValue | None,
        record_offset: int,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Apply an OffsetCommit record: set the offset, or the pending offset of a producer's
        transaction. A tombstone removes the offset, also from all open transactions."""
        offset_key = (key.group, key.topic, key.partition)
        if value is None:
            self._table.remove(offset_key, record_offset)
            self._pending.remove(offset_key)
        elif producer_id == NO_PRODUCER_ID:
            self._table.put(offset_key, CommittedOffset.of(value, record_offset), record_offset)
        else:
            self._pending.put(producer_id, offset_key, CommittedOffset.of(value, record_offset))

    def replay_marker(self, producer_id: int, committed: bool, marker_offset: int) -> None:
        """End a transaction: store its offsets if it committed, else drop them.

        An offset whose record is later in the log than the transaction's record stays. Compaction
        keeps the later of the two records, and loading a compacted log must end with the same
        offset.
        """
        pending = self._pending.take(producer_id)
        if not committed:
            return
        for key, offset in pending.items():
            existing = self._table.get(key)
            if existing is None or existing.record_offset < offset.record_offset:
                self._table.put(key, offset, marker_offset)

    # -- OffsetCommit --------------------------------------------------------------------------

    def commit(
        self, request: OffsetCommitRequest, now_ms: int
    ) -> Steps[tuple[list[Record], list[OffsetCommitResponseTopic]]]:
        """Return the records for the offsets of `request`, and the answer for their commit.

        A partition with too much metadata gets OFFSET_METADATA_TOO_LARGE in the answer, and no
        record.
        """
        retention = request.retention_time_ms
        expires = NO_TIMESTAMP if retention == -1 else now_ms + retention
        pace = Pace(COMMITS_A_SLICE)
        records: list[Record] = []
        answers = []
        for topic in request.topics:
            partitions = []
            for partition in topic.partitions:
                if pace.is_full():
                    yield None
                error = self._metadata_error(partition.committed_metadata)
                if error is ErrorCode.NONE:
                    value = _value(partition, now_ms)
                    value.expire_timestamp, value.topic_id = expires, topic.topic_id
                    key = (request.group_id, topic.name, partition.partition_index)
                    records.append(offset_commit_record(*key, value))
                partitions.append(
                    OffsetCommitResponsePartition(partition.partition_index, int(error))
                )
            answers.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
        return records, answers

    def commit_transactional(
        self, request: TxnOffsetCommitRequest, now_ms: int
    ) -> Steps[tuple[list[Record], list[TxnOffsetCommitResponseTopic]]]:
        """Return the records for the offsets of a transaction, and the answer for their commit.

        The records have no expiry. A partition with too much metadata gets
        OFFSET_METADATA_TOO_LARGE, and no record.
        """
        pace = Pace(COMMITS_A_SLICE)
        records: list[Record] = []
        answers = []
        for topic in request.topics:
            partitions = []
            for partition in topic.partitions:
                if pace.is_full():
                    yield None
                error = self._metadata_error(partition.committed_metadata)
                if error is ErrorCode.NONE:
                    key = (request.group_id, topic.name, partition.partition_index)
                    value = _value(partition, now_ms)
                    value.topic_id = topic.topic_id
                    records.append(offset_commit_record(*key, value))
                partitions.append(
                    TxnOffsetCommitResponsePartition(partition.partition_index, int(error))
                )
            answers.append(TxnOffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
        return records, answers

    def _metadata_error(self, metadata: str | None) -> ErrorCode:
        """Return OFFSET_METADATA_TOO_LARGE if the metadata has more characters than the limit, else
        NONE."""
        # Kafka counts characters here, although the key is called offset.metadata.max.bytes.
        if metadata is not None and len(metadata) > self._metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    # -- OffsetFetch ---------------------------------------------------------------------------

    def fetch(
        self, group_id: str, requested: RequestedPartitions | None, *, require_stable: bool
    ) -> FetchedOffsets:
        """Return the group's offsets as they are now: those `requested`, or all if that is None.

        With `require_stable`, these are the appended offsets, with a mark on those that an open
        transaction may change; the caller answers when they are committed. Without, these are the
        offsets that are committed now.
        """
        table = self._table
        by_topic: dict[str, dict[int, Plain]] = {}
        if requested is None:
            by_topic = table.all(group_id, committed=not require_stable)
        else:
            get = table.get if require_stable else table.get_committed
            for topic, partitions in requested:
                offsets = by_topic.setdefault(topic, {})
                for partition in partitions:
                    committed = get((group_id, topic, partition))
                    if committed is not None:
                        offsets[partition] = committed.plain()
        unstable = dict.fromkeys(self._pending.keys(group_id)) if require_stable else {}
        return FetchedOffsets(group_id, by_topic, unstable)

    # -- removal -------------------------------------------------------------------------------

    def delete(self, group_id: str, topic: str, partition: int) -> list[Record]:
        """Return the records that remove an offset; none if there is no such offset."""
        key = (group_id, topic, partition)
        if self._table.get(key) is not None or self._pending.is_pending(key):
            return [offset_tombstone(*key)]
        return []

    def delete_group(self, group_id: str) -> Steps[list[Record]]:
        """Return the records that remove all of a group's offsets, even in open transactions."""
        keys = dict.fromkeys(self._table.keys(group_id) + self._pending.keys(group_id))
        records: list[Record] = []
        yield from each(lambda key: records.append(offset_tombstone(*key)), keys, COMMITS_A_SLICE)
        return records

    def delete_topics(self, topics: Sequence[str]) -> TombstoneScan:
        """Yield the tombstones of deleted topics' offsets in every group, for a `ShardRemoval`.
        Yield None before each group."""
        deleted = dict.fromkeys(topics)
        for group_id in dict.fromkeys([*self._table.group_ids(), *self._pending.group_ids()]):
            yield None
            held = [topic for topic in self._table.topics(group_id) if topic in deleted]
            keys = [key for name in held for key in self._table.keys_of_topic(group_id, name)]
            keys += [key for key in self._pending.keys(group_id) if key[1] in deleted]
            for key in dict.fromkeys(keys):
                yield offset_tombstone(*key)

    def expire(
        self,
        group_id: str,
        is_subscribed: Callable[[str], bool],
        unused_since: Callable[[CommittedOffset], int],
        now_ms: int,
        retention_ms: int,
    ) -> Generator[Record | None, None, bool]:
        """Yield the tombstone of each expired offset of a group, and None for each that stays.

        Offsets of subscribed topics and of open transactions stay. Return whether the group has no
        offsets left then, not even in an open transaction. `unused_since` returns the start of an
        offset's retention, in ms since the epoch; it depends on the group's state (KIP-211). An
        offset with its own expiry (OffsetCommit v2-4) expires at that time.
        """
        nothing_left = True
        for key in self._table.keys(group_id):
            committed = self._table.get(key)
            assert committed is not None
            if committed.expire_timestamp_ms != NO_TIMESTAMP:
                over = now_ms >= committed.expire_timestamp_ms
            else:
                over = now_ms - unused_since(committed) >= retention_ms
            if over and not is_subscribed(key[1]) and not self._pending.is_pending(key):
                yield offset_tombstone(*key)
            else:
                nothing_left = False
                yield None
        return nothing_left and not self._pending.has_open_transaction(group_id)


def _value(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition, now_ms: int
) -> OffsetCommitValue:
    """Return the record's value of a committed offset."""
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
    )
