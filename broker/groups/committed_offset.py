"""One committed offset, as the log's record of it says and where that record is.

Owns no state and decides nothing. Follows Kafka's `OffsetAndMetadata`.
"""

from __future__ import annotations

from typing import NamedTuple

from protocol.messages.group_records import OffsetCommitValue
from protocol.primitives import ZERO_UUID

Key = tuple[str, str, int]
"""Group id, topic, partition."""

Plain = tuple[int, int, str, int, int, bytes, int]
"""A CommittedOffset as it is kept. Python's collector soon looks no more at plain tuples of plain
values, so it never stops the loop to look through a million of them."""


class CommittedOffset(NamedTuple):
    """What was committed, and where the record of it is in the log. Times in ms since the epoch."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: bytes
    record_offset: int

    @staticmethod
    def of(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
        """What the record at `record_offset` says."""
        return CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )

    def plain(self) -> Plain:
        """As it is kept; `CommittedOffset(*plain)` makes it again."""
        return (
            self.offset,
            self.leader_epoch,
            self.metadata,
            self.commit_timestamp_ms,
            self.expire_timestamp_ms,
            self.topic_id,
            self.record_offset,
        )

    def is_for(self, topic_id: bytes) -> bool:
        """Whether it was committed for that topic, not for an earlier one of the same name."""
        return ZERO_UUID in (topic_id, self.topic_id) or topic_id == self.topic_id
