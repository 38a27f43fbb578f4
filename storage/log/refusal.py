"""A refused append, as a value: error code, Kafka's message, errors of single records."""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.errors import ErrorCode
from storage.log_config import LogConfig

LOG_APPEND_TIME = "LogAppendTime"
_WITHOUT_LOG_START = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AppendRefusal:
    """The reason for which an append was refused.

    `record_errors` are (index in the batch, message). `is_no_batch` means that the bytes are not
    exactly one batch, so the log was not checked at all. `offsets` are the first and the last
    offset that a leader sent, if they are the reason.
    """

    error: ErrorCode
    message: str
    record_errors: list[tuple[int, str | None]] = field(default_factory=list)
    is_no_batch: bool = False
    offsets: tuple[int, int] = (-1, -1)

    @property
    def names_log_start(self) -> bool:
        """Whether the response has the log start offset; the same as in Kafka's
        `ReplicaManager`."""
        return not self.is_no_batch and self.error not in _WITHOUT_LOG_START


def out_of_range(timestamp: int, offset: int, config: LogConfig, now_ms: int) -> str:
    """Return Kafka's message for a record with a timestamp that is too old or too new."""
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    return (
        f"Timestamp {timestamp} of message with offset {offset} is out of range. "
        f"The timestamp should be within [{earliest}, {latest}]"
    )
