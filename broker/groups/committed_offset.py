"""A committed offset: the content of its record in the log, and where that record is.

Owns no state and never decides. Follows Kafka's `OffsetAndMetadata`.
"""

from __future__ import annotations

from typing import NamedTuple

from protocol.messages.group_records import OffsetCommitValue
from protocol.primitives import ZERO_UUID

Key = tuple[str, str, int]
"""The group id, the topic, and the partition of an offset."""

Plain = tuple[int, int, str, int, int, bytes, int]
"""The form in which a CommittedOffset is stored. Python's garbage collector soon stops tracking
plain tuples of plain values, so that a million of them never make it block the loop."""


class CommittedOffset(NamedTuple):
    """A committed offset and the log offset of its record. Times are in ms since the epoch."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: bytes
    record_offset: int

    @staticmethod
    def of(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
        """Return the committed offset in a record's value; the record is at `record_offset`."""
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
        """Return the form to store; `CommittedOffset(*plain)` reverses it."""
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
        """Return whether the commit was for this topic, not an earlier topic of the same name.

        A zero id, here or in the commit, fits every topic.
        """
        return ZERO_UUID in (topic_id, self.topic_id) or topic_id == self.topic_id
