"""The check of the batches that a leader sent, before a follower appends them.

Owns nothing. Never: trusts the leader's bytes, which may have been damaged on the way, or patches
them. Kafka's `UnifiedLog.appendAsFollower` and `Partition.doAppendRecordsToFollower`.
"""

from __future__ import annotations

from ground.topic_partition import TopicPartition
from protocol.control_records import read_transaction_marker
from protocol.errors import ErrorCode
from protocol.record_batch import CorruptBatch, RecordBatchHeader, crc_is_valid, iterate_batches
from storage.log.refusal import AppendRefusal


def batches_to_copy(
    records: memoryview,
    leader_epoch: int,
    partition: TopicPartition,
    log_start_offset: int,
    log_end_offset: int,
) -> list[tuple[int, RecordBatchHeader]] | AppendRefusal:
    """Return (position, header) of the whole batches to append, or the refusal if none may be.

    Batches of a later epoch than `leader_epoch`, that of the fetch, are left out.
    """
    batches: list[tuple[int, RecordBatchHeader]] = []
    end = log_end_offset
    try:
        for position, header in iterate_batches(records, allow_partial_tail=True):
            if header.partition_leader_epoch > leader_epoch:
                break
            if not crc_is_valid(records, position, header):
                raise CorruptBatch(f"the batch at offset {header.base_offset} has a wrong CRC")
            if header.is_control and header.has_producer_id:
                read_transaction_marker(records, position)  # raises if it is damaged
            # DeleteRecords may move the log start into a batch. An empty follower that starts
            # there gets the whole batch (KAFKA-6975).
            begins_inside = end == log_start_offset and header.last_offset >= end and not batches
            if header.base_offset < end and not begins_inside:
                return _unexpected_offset(header, partition, end)
            batches.append((position, header))
            end = header.next_offset
    except CorruptBatch as damage:
        return AppendRefusal(ErrorCode.CORRUPT_MESSAGE, str(damage))
    return batches


def _unexpected_offset(
    header: RecordBatchHeader, partition: TopicPartition, next_offset: int
) -> AppendRefusal:
    """Return the refusal of a batch that begins before `next_offset`."""
    return AppendRefusal(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"Unexpected offset in append to {partition}. First offset {header.base_offset} is less "
        f"than the next offset {next_offset}.",
        offsets=(header.base_offset, header.last_offset),
    )
