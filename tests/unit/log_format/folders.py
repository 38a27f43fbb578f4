"""Folders that the server's own storage wrote, as a copy on the disk for the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from log_format.files import Files
from log_format.partitions.partition_log import PartitionLog
from log_format.partitions.partition_reader import parts_of, read_part
from log_format.records.segment_pieces import crc32c_function
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from storage.log.unified_log import UnifiedLog
from tests.unit.log_format.pieces import record_of_row
from tests.unit.storage.harness import NOW_MS, batch, open_log, read_all
from tests.unit.storage.transactional_fixture import SMALL

HOUR_MS = 3_600_000
FIRST_MS = NOW_MS - 100 * HOUR_MS


def copied(log: UnifiedLog, folder: Path) -> Path:
    """The files of a log, as they are now, in `folder`/topic-0."""
    target = folder / "topic-0"
    target.mkdir(parents=True)
    filesystem = log.environment.filesystem
    for name in filesystem.list_dir(log.directory):
        (target / name).write_bytes(filesystem.read(f"{log.directory}/{name}"))
    return target


def opened(folder: Path, **options: Any) -> PartitionLog:
    """The log of a folder topic-0."""
    return PartitionLog(Files(), str(folder), "topic", 0, crc32c_function(), **options)


def rows_of_log(
    log: PartitionLog,
    start: int = 0,
    end: int = 2**62,
    *,
    committed: bool = True,
    step_bytes: int = 1 << 20,
) -> list[tuple[Any, ...]]:
    """Offset, time, key, value, headers of each record, as a job reads them."""
    return [
        record_of_row(row)
        for part in parts_of(log, start, end, committed=committed, step_bytes=step_bytes)
        for found in read_part(Files(), part, crc32c_function())
        for row in found.to_pylist()
    ]


def rows_of_server(log: UnifiedLog) -> list[tuple[Any, ...]]:
    """The same of all records but control records, as the server reads them."""
    data = read_all(log)
    return [
        (one.offset, one.timestamp, one.key, one.value, one.headers)
        for position, header in iterate_batches(data)
        if not header.is_control
        for one in iterate_records(data, position)
    ]


def several_segments(count: int = 12) -> UnifiedLog:
    """Batches of two records and a few codecs, an hour apart, in small segments."""
    log = open_log(config=SMALL)
    for number in range(count):
        sent = batch(
            b"a%d" % number * 9,
            b"b%d" % number * 9,
            timestamp=FIRST_MS + number * HOUR_MS,
            compression=number % 5,
        )
        info = log.append_as_leader(sent, 0, NOW_MS)
        assert info.error is ErrorCode.NONE
    return log
