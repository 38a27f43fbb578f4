"""The committed offsets of one shard's groups.

Owns offsets by group, topic and partition, and offsets of open transactions, which count only when
their transaction is committed. Changes in `replay` and `replay_marker` alone; the other methods
decide: they return the records to append, and the answer. Never asks whether a group may commit:
`offset_protocol` does. Follows Kafka's `OffsetMetadataManager`; KIP-211 (expiry), KIP-447 (stable
offsets), KIP-848 (topic ids in OffsetCommit and OffsetFetch v10).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker.groups.group_records import offset_commit_record, offset_tombstone
from broker.replication.coordinator_log import NO_PRODUCER_ID, Record
from protocol.errors import ErrorCode
from protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.primitives import ZERO_UUID

NO_OFFSET = -1
NO_TIMESTAMP = -1


class CommittedOffset(NamedTuple):
    """What was committed, and where the record of it is in the log."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: bytes
    record_offset: int


Key = tuple[str, str, int]
"""Group id, topic, partition."""

_Partitions = dict[int, CommittedOffset]


class OffsetStore:
    """Offsets of one partition of `__consumer_offsets`."""

    def __init__(self, metadata_max_bytes: int) -> None:
        self._metadata_max_bytes = metadata_max_bytes
        self._groups: dict[str, dict[str, _Partitions]] = {}
        self._pending: dict[int, dict[Key, CommittedOffset]] = {}

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset, or None."""
        return self._groups.get(group_id, {}).get(topic, {}).get(partition)

    def group_ids(self) -> Iterator[str]:
        """Groups that have a committed offset."""
        return iter(self._groups)

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether some open transaction holds offsets of the group."""
        return any(key[0] == group_id for pending in self._pending.values() for key in pending)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction holds an offset of this partition."""
        key = (group_id, topic, partition)
        return any(key in pending for pending in self._pending.values())

    # -- replay --------------------------------------------------------------------------------

    def replay(
        self,
        key: OffsetCommitKey,
        value: OffsetCommitValue | None,
        record_offset: int,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Apply an OffsetCommit record, or its tombstone."""
        where = (key.group, key.topic, key.partition)
        if value is None:
            self._remove(where)
            for pending in self._pending.values():
                pending.pop(where, None)
            return
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )
        if producer_id == NO_PRODUCER_ID:
            self._put(where, committed)
        else:
            self._pending.setdefault(producer_id, {})[where] = committed

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A transaction ended: its offsets count now, or never did.

        An offset that was committed later than the transaction's record stays (compaction keeps
        the later of the two records, and both ways must end alike).
        """
        pending = self._pending.pop(producer_id, {})
        if not committed:
            return
        for where, offset in pending.items():
            existing = self.get(*where)
            if existing is None or existing.record_offset < offset.record_offset:
                self._put(where, offset)

    def _put(self, where: Key, committed: CommittedOffset) -> None:
        group_id, topic, partition = where
        self._groups.setdefault(group_id, {}).setdefault(topic, {})[partition] = committed

    def _remove(self, where: Key) -> None:
        group_id, topic, partition = where
        topics = self._groups.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None:
            return
        partitions.pop(partition, None)
        if not partitions:
            del topics[topic]
        if not topics:
            del self._groups[group_id]

    # -- OffsetCommit --------------------------------------------------------------------------

    def commit(
        self, request: OffsetCommitRequest, now_ms: int
    ) -> tuple[list[Record], list[OffsetCommitResponseTopic]]:
        """Records for the offsets of `request`, and what to answer when they are committed."""
        retention = request.retention_time_ms
        expires = NO_TIMESTAMP if retention == -1 else now_ms + retention
        records: list[Record] = []
        answers = []
        for topic in request.topics:
            partitions = []
            for partition in topic.partitions:
                error = self._check(partition)
                if error is ErrorCode.NONE:
                    value = OffsetCommitValue(
                        offset=partition.committed_offset,
                        leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.committed_metadata or "",
                        commit_timestamp=now_ms,
                        expire_timestamp=expires,
                        topic_id=topic.topic_id,
                    )
                    records.append(
                        offset_commit_record(
                            request.group_id, topic.name, partition.partition_index, value
                        )
                    )
                partitions.append(
                    OffsetCommitResponsePartition(partition.partition_index, int(error))
                )
            answers.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, partitions))
        return records, answers

    def _check(self, partition: OffsetCommitRequestPartition) -> ErrorCode:
        metadata = partition.committed_metadata
        # Kafka counts characters, whatever the name of the key says.
        if metadata is not None and len(metadata) > self._metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    # -- OffsetFetch ---------------------------------------------------------------------------

    def fetch(
        self, group_id: str, topics: list[OffsetFetchRequestTopics] | None, require_stable: bool
    ) -> tuple[list[OffsetFetchResponseTopics], int]:
        """Offsets of `topics` (None: all), and where the latest record they come from is."""
        if topics is None:
            topics = [
                OffsetFetchRequestTopics(name=name, partition_indexes=list(partitions))
                for name, partitions in self._groups.get(group_id, {}).items()
            ]
        answers = []
        latest = -1
        for topic in topics:
            partitions = []
            for index in topic.partition_indexes:
                committed = self.get(group_id, topic.name, index)
                if require_stable and self.is_pending(group_id, topic.name, index):
                    answer = no_offset(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                elif committed is None or _of_another_topic(committed, topic.topic_id):
                    answer = no_offset(index)
                else:
                    latest = max(latest, committed.record_offset)
                    answer = OffsetFetchResponsePartitions(
                        index, committed.offset, committed.leader_epoch, committed.metadata
                    )
                partitions.append(answer)
            answers.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions))
        return answers, latest

    # -- removal -------------------------------------------------------------------------------

    def delete(self, group_id: str, topic: str, partition: int) -> list[Record]:
        """Records that remove one offset; none where there is none."""
        known = self.get(group_id, topic, partition) is not None
        if known or self.is_pending(group_id, topic, partition):
            return [offset_tombstone(group_id, topic, partition)]
        return []

    def delete_group(self, group_id: str) -> list[Record]:
        """Records that remove all of a group's offsets, those of open transactions too."""
        keys: dict[Key, None] = dict.fromkeys(self._keys(group_id))
        for pending in self._pending.values():
            keys.update(dict.fromkeys(key for key in pending if key[0] == group_id))
        return [offset_tombstone(*key) for key in keys]

    def delete_topic(self, topic: str) -> list[Record]:
        """Records that remove the offsets of a topic that was deleted, in every group."""
        keys: dict[Key, None] = {}
        for group_id, topics in self._groups.items():
            keys.update(
                dict.fromkeys((group_id, topic, partition) for partition in topics.get(topic, {}))
            )
        for pending in self._pending.values():
            keys.update(dict.fromkeys(key for key in pending if key[1] == topic))
        return [offset_tombstone(*key) for key in keys]

    def expire(
        self,
        group_id: str,
        is_subscribed: Callable[[str], bool],
        unused_since: Callable[[CommittedOffset], int],
        now_ms: int,
        retention_ms: int,
    ) -> tuple[list[Record], bool]:
        """Records that remove expired offsets; whether nothing of the group is left then.

        `unused_since` says from when the retention counts (KIP-211: it depends on the group's
        state). An offset with an expiry of its own (OffsetCommit v2-4) follows that.
        """
        records: list[Record] = []
        nothing_left = True
        for key in self._keys(group_id):
            committed = self.get(*key)
            assert committed is not None
            if committed.expire_timestamp_ms != NO_TIMESTAMP:
                over = now_ms >= committed.expire_timestamp_ms
            else:
                over = now_ms - unused_since(committed) >= retention_ms
            if over and not is_subscribed(key[1]) and not self.is_pending(*key):
                records.append(offset_tombstone(*key))
            else:
                nothing_left = False
        return records, nothing_left and not self.has_open_transaction(group_id)

    def _keys(self, group_id: str) -> list[Key]:
        return [
            (group_id, topic, partition)
            for topic, partitions in self._groups.get(group_id, {}).items()
            for partition in partitions
        ]


def no_offset(index: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    """The answer for a partition without a committed offset."""
    return OffsetFetchResponsePartitions(index, NO_OFFSET, -1, "", int(error))


def _of_another_topic(committed: CommittedOffset, topic_id: bytes) -> bool:
    """Whether it was committed for an earlier topic of the same name."""
    return ZERO_UUID not in (topic_id, committed.topic_id) and topic_id != committed.topic_id
