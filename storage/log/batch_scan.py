"""A walk through the batches of a segment file, header by header, in bounded memory.

Owns nothing. It is used where no index has the answer: in the last step of a look-up, at the tail
of a segment at a start, in recovery. Kafka's classes: `FileLogInputStream`,
`FileRecords.batchesFrom`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ground.filesystem import File
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordBatchHeader,
    TruncatedBatch,
    crc_is_valid,
    read_header,
)

LOOKUP_CHUNK_BYTES = 8 * 1024
SCAN_CHUNK_BYTES = 1024 * 1024


def iterate_headers(
    file: File, position: int, end: int, chunk_bytes: int = SCAN_CHUNK_BYTES
) -> Iterator[tuple[int, RecordBatchHeader]]:
    """Yield (position, header) of each batch that starts in [position, end), without its body.

    Raises CorruptBatch for bytes that are no header, or a batch that the end of the file cuts off.
    """
    size = file.size
    while position < end:
        chunk = file.pread(min(chunk_bytes, size - position), position)
        at, start = 0, position
        while position < end and at + HEADER_SIZE <= len(chunk):
            header = read_header(chunk, at, size - position)
            yield position, header
            at += header.size_in_bytes
            position = start + at
        if position == start:
            raise TruncatedBatch(f"{size - position} bytes at {position} are no batch header")


def valid_batches(
    file: File, position: int, chunk_bytes: int = SCAN_CHUNK_BYTES
) -> Iterator[tuple[int, RecordBatchHeader]]:
    """Yield (position, header) of each batch that is whole and has a right checksum.

    The first other batch ends the scan, without an error: the batches before it are the valid
    prefix of a torn segment.
    """
    size = file.size
    while size - position >= HEADER_SIZE:
        chunk = file.pread(min(chunk_bytes, size - position), position)
        at, start = 0, position
        while at + HEADER_SIZE <= len(chunk):
            try:
                header = read_header(chunk, at, size - position)
            except CorruptBatch:
                return
            if at + header.size_in_bytes > len(chunk):
                break
            if not crc_is_valid(chunk, at, header):
                return
            yield position, header
            at += header.size_in_bytes
            position = start + at
        if position == start:
            # The batch is larger than the chunk; its length is at most the rest of the file.
            header = read_header(chunk, 0, size - position)
            chunk_bytes = max(chunk_bytes, header.size_in_bytes)
