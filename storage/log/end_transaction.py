"""The end of a producer's transaction in one partition: the check and the append of its marker.

Owns nothing. Never: asks a coordinator, or decides how a transaction ends.

Kafka's `UnifiedLog.append` with `AppendOrigin.COORDINATOR`, for a control batch. KIP-98, KIP-890.
"""

from __future__ import annotations

from functools import partial

from protocol.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_transaction_marker,
)
from protocol.errors import ErrorCode
from protocol.record_batch import TimestampType
from storage.log.log_append_info import LogAppendInfo
from storage.log.producer_state import EPOCH_BUMP_VERSION
from storage.log.refusal import LOG_APPEND_TIME, AppendRefusal
from storage.log.unified_log import OFFLINE, UnifiedLog

_NO_PRODUCER = AppendRefusal(
    ErrorCode.UNKNOWN_SERVER_ERROR,
    "A marker needs a producer id, a producer epoch and a transaction version, each other than -1.",
)


def append_end_txn_marker(
    log: UnifiedLog,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    committed: bool,
    leader_epoch: int,
    now_ms: int,
    transaction_version: int,
) -> LogAppendInfo:
    """Append the marker that ends a producer's transaction, also if none is open here.

    `transaction_version` is the level of that feature under which the transaction ran. The result
    may be INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED; as in Kafka it is
    UNKNOWN_SERVER_ERROR if producer id, producer epoch or transaction version is missing (-1).
    """
    if log.offline:
        return log.refused(OFFLINE)
    if -1 in (producer_id, producer_epoch, transaction_version):
        return log.refused(_NO_PRODUCER)
    offset = log.log_end_offset
    fault = log.producer_state.check_marker(
        producer_id, producer_epoch, coordinator_epoch, offset, transaction_version
    )
    if fault is not None:
        return log.refused(AppendRefusal(fault.code, fault.message or ""))
    kind = ControlRecordType.COMMIT if committed else ControlRecordType.ABORT
    batch = build_transaction_marker(
        kind,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=now_ms,
        leader_epoch=leader_epoch,
        base_offset=offset,
        timestamp_type=TimestampType(log.config.message_timestamp_type == LOG_APPEND_TIME),
    )
    written = partial(
        log.producer_state.end_transaction,
        producer_id,
        producer_epoch,
        EndTransactionMarker(kind, coordinator_epoch),
        offset,
        now_ms,
        raised=transaction_version >= EPOCH_BUMP_VERSION,
    )
    return log.append_marker(batch, leader_epoch, now_ms, written)
