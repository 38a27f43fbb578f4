"""The result of an append: offsets, or the partition's error with message and record errors."""

from __future__ import annotations

from enum import Enum

from protocol.errors import ErrorCode
from storage.log.refusal import AppendRefusal


class AppendOrigin(Enum):
    """The source of an append, which decides on the checks that apply (Kafka's `AppendOrigin`)."""

    CLIENT = 0
    COORDINATOR = 1
    RAFT_LEADER = 2
    REPLICATION = 3


class LogAppendInfo:
    """The result of one append to a partition. `error` is NONE if the records are in the log.

    `error` is NONE also for a duplicate of an idempotent producer, with the offsets of the first
    append. `log_append_time` is -1 unless the topic uses LogAppendTime; for a duplicate it is the
    largest timestamp of the batch in the log, as in Kafka.
    `record_errors` are (index in the batch, message), as in a Produce answer of version 8 and up.
    """

    __slots__ = (
        "duplicate",
        "error",
        "error_message",
        "first_offset",
        "last_offset",
        "log_append_time",
        "log_start_offset",
        "max_timestamp",
        "record_errors",
        "size",
    )

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        max_timestamp: int,
        log_append_time: int,
        log_start_offset: int,
        size: int = 0,
        *,
        duplicate: bool = False,
    ) -> None:
        self.error = ErrorCode.NONE
        self.error_message: str | None = None
        self.record_errors: list[tuple[int, str | None]] = []
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.max_timestamp = max_timestamp
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.size = size
        self.duplicate = duplicate

    @classmethod
    def refused(cls, refusal: AppendRefusal, log_start_offset: int) -> LogAppendInfo:
        """Return the result of an append that was refused, with the refusal's error: the log is
        unchanged."""
        start = log_start_offset if refusal.names_log_start else -1
        info = cls(*refusal.offsets, -1, -1, start)
        info.error = refusal.error
        info.error_message = refusal.message
        info.record_errors = refusal.record_errors
        return info

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"LogAppendInfo({fields})"
