"""Transactional producers of one log, and what they left in it."""

from __future__ import annotations

from log_format.segment_names import TXN_INDEX_SUFFIX
from log_format.transaction_index import AbortedTxn, decode_transactions
from storage.log.end_transaction import append_end_txn_marker
from storage.log.log_append_info import LogAppendInfo
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, open_log

SMALL = LogConfig(segment_bytes=300, index_interval_bytes=0)


class Producer:
    """A transactional producer of version 1: one epoch for all its transactions."""

    def __init__(self, log: UnifiedLog, pid: int, epoch: int = 0) -> None:
        self.log, self.pid, self.epoch, self.sequence = log, pid, epoch, 0

    def send(self, count: int = 1, *, transactional: bool = True) -> LogAppendInfo:
        sent = batch(
            *[b"v" * 20] * count,
            producer_id=self.pid,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            is_transactional=transactional,
        )
        self.sequence += count
        return self.log.append_as_leader(sent, 0, NOW_MS)

    def end(self, *, commit: bool, coordinator_epoch: int = 0, version: int = 0) -> LogAppendInfo:
        return append_end_txn_marker(
            self.log, self.pid, self.epoch, coordinator_epoch, commit, 0, NOW_MS, version
        )


def commit_all(log: UnifiedLog) -> None:
    log.update_high_watermark(log.log_end_offset)


def file_of(log: UnifiedLog, base: int = 0) -> str:
    return f"{log.directory}/{base:020d}{TXN_INDEX_SUFFIX}"


def aborted_of(log: UnifiedLog) -> list[AbortedTxn]:
    """What the files say, segment by segment."""
    filesystem = log.environment.filesystem
    found = []
    for base in log.segments.base_offsets:
        if filesystem.exists(file_of(log, base)):
            entries = decode_transactions(filesystem.read(file_of(log, base)))
            assert entries, "no file without an entry"
            found += entries
    return found


BOTH = [AbortedTxn(1, 0, 6, 7), AbortedTxn(2, 7, 8, 9)]


def two_aborted() -> UnifiedLog:
    """Offsets 0-1 and 4 aborted (marker 6), 2-3 committed (5), 7 aborted (8), 9 open."""
    log = open_log(config=SMALL)
    one, two = Producer(log, 1), Producer(log, 2)
    one.send(2)
    two.send(2)
    one.send()
    two.end(commit=True)
    one.end(commit=False)
    two.send()
    two.end(commit=False)
    one.send()
    return log
