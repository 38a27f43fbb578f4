"""The reader of the original records that dead letters copy.

Owns the part of the log that it read last, and the records of one batch there: letters come in the
order of their offsets, so most of them need no further read. Reads run in a thread, and records are
searched in slices. At most `READ_BYTES` are read at once, unless a batch is larger.

A record that cannot be read has no content, because its letter must be written anyway: the record
is gone or damaged, or is too large to be copied. Only records below the high watermark are read.
Never writes. Follows Kafka's `ShareGroupDLQRecordFetcher`, except that a compressed batch may
unpack to more bytes than a dead letter may have.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from broker.share.dead_letters.letter_batch import Content
from broker.share.state.share_log import SharePartitionKey
from ground.sliced_work import Job, Pace, Steps
from protocol.errors import ErrorCode
from protocol.frames.frame_memory import Allocate
from protocol.record_batch import CorruptBatch, RecordBatchHeader, iterate_batches
from protocol.record_scan import scan_records
from storage.log.batch_body import BatchBody
from storage.log.file_records import FileRecords

log = logging.getLogger(f"ottla.{__name__}")

READ_BYTES = 1024 * 1024
"""The size of a read of the log."""
OFFSETS_AT_ONCE = 5_000
"""The most offsets that one call of `SourceReader.read` returns, and the most records of a batch
whose places are kept."""
_HEADERS_A_SLICE = 1_000
_PIECES_A_SLICE = 1_000
_PIECES_OF_BATCH = 20
"""The work to open a batch, in records that are copied in the same time."""

NOT_LED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
"""The errors of a read after which another broker, or none, has the records."""


class SourceLog(Protocol):
    """The port to the logs that this broker leads."""

    def read(
        self, key: SharePartitionKey, offset: int, max_bytes: int
    ) -> FileRecords | bytes | ErrorCode:
        """Return whole batches from the one that contains `offset` or follows it, below the high
        watermark; the first one even if it is larger. Empty: there are none. Else an error."""


class SourceRecords(NamedTuple):
    """Original records of a range of offsets."""

    contents: dict[int, Content]
    """The contents by offset; without those that do not exist or cannot be copied."""
    last: int
    """The last offset about which this is known; the caller asks again for those behind it."""


class _IndexedBatch(NamedTuple):
    """The places of a batch's records, from one offset up to another."""

    body: BatchBody
    first: int
    until: int
    """The offset behind the last one that was searched."""
    places: dict[int, tuple[int, int, int, int]]
    """By offset: length and end of the key, length and end of the value; -1 for null."""

    def content(self, offset: int) -> Content | None:
        """Return the content of a record; None if the batch has no record at `offset`."""
        place = self.places.get(offset)
        if place is None:
            return None
        key_length, key_end, value_length, value_end = place
        view = self.body.view
        key = None if key_length < 0 else bytes(view[key_end - key_length : key_end])
        value = None if value_length < 0 else bytes(view[value_end - value_length : value_end])
        return key, value


class SourceReader:
    """A reader for the letters of one request. Call its methods one after the other."""

    def __init__(self, source: SourceLog, allocate: Allocate) -> None:
        """Begin without data. `allocate` returns the buffers of large batches."""
        self._source = source
        self._allocate = allocate
        self._partition: tuple[bytes, int] | None = None
        self._part = memoryview(b"")
        self._headers: Iterator[tuple[int, RecordBatchHeader]] = iter(())
        self._at: tuple[int, RecordBatchHeader] | None = None
        self._batch: _IndexedBatch | None = None
        self._pace = Pace(_PIECES_A_SLICE)
        self._is_logged = False

    def read(
        self, key: SharePartitionKey, first: int, last: int, room: int, max_bytes: int
    ) -> Steps[SourceRecords | None]:
        """Return the contents of the offsets from `first` on, up to `last` or until `room` is full.

        Content above `max_bytes` is left out. None: this broker does not lead the partition.
        """
        last = min(last, first + OFFSETS_AT_ONCE - 1)
        contents: dict[int, Content] = {}
        offset = first
        while offset <= last:
            if self._pace.is_full(_PIECES_OF_BATCH):
                yield None
            batch = yield from self._batch_with(key, offset)
            if batch is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                return None
            if not isinstance(batch, _IndexedBatch):
                break
            for at in range(offset, min(last + 1, batch.until)):
                if self._pace.is_full():
                    yield None
                content = batch.content(at)
                size = sum(len(data) for data in content or () if data is not None)
                if content is None or size > max_bytes:
                    continue
                if size > room:
                    return SourceRecords(contents, at - 1)
                contents[at] = content
                room -= size
            offset = batch.until
        return SourceRecords(contents, last)

    def close(self) -> Steps[None]:
        """Free the last batch."""
        yield from self._close_batch()
        self._part = memoryview(b"")

    # -- the batch of an offset ----------------------------------------------------------------

    def _batch_with(
        self, key: SharePartitionKey, offset: int
    ) -> Steps[_IndexedBatch | ErrorCode | None]:
        """Return a batch in which `offset` was searched. None: the log has no record from there on,
        or cannot be read. NOT_LEADER_OR_FOLLOWER: this broker does not lead the partition."""
        batch = self._batch
        is_same = self._partition == (key.topic_id, key.partition)
        if is_same and batch is not None and batch.first <= offset < batch.until:
            return batch
        try:
            if is_same and self._at is not None and self._at[1].base_offset <= offset:
                batch = yield from self._find_in_part(offset)
                if batch is not None:
                    return batch
            error = yield from self._read_part(key, offset)
            if error is not ErrorCode.NONE:
                return error
            return (yield from self._find_in_part(offset))
        except (CorruptBatch, OSError) as fault:
            self._log(f"the log of {key.text} cannot be read at offset {offset}: {fault}")
            self._partition = self._at = None
            return None

    def _read_part(self, key: SharePartitionKey, offset: int) -> Steps[ErrorCode]:
        """Read the part of the log that begins with the batch of `offset`. Raises OSError."""
        yield from self._close_batch()
        self._partition = self._at = None
        records = self._source.read(key, offset, READ_BYTES)
        if isinstance(records, ErrorCode):
            if records in NOT_LED:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            self._log(f"the log of {key.text} cannot be read at offset {offset}: {records.name}")
            return records
        data = records if isinstance(records, bytes) else (yield Job(records.read, len(records)))
        self._part = memoryview(data)
        self._headers = iterate_batches(self._part, allow_partial_tail=True)
        self._at = next(self._headers, None)
        self._partition = (key.topic_id, key.partition)
        return ErrorCode.NONE

    def _find_in_part(self, offset: int) -> Steps[_IndexedBatch | None]:
        """Return the batch of this part that contains `offset` or follows it, with the places of
        its records from there on; None if there is none. Raises CorruptBatch."""
        pace = Pace(_HEADERS_A_SLICE)
        while self._at is not None and self._at[1].last_offset < offset:
            if pace.is_full():
                yield None
            self._at = next(self._headers, None)
        if self._at is None:
            return None
        yield from self._close_batch()
        position, header = self._at
        packed = self._part[position : position + header.size_in_bytes]
        body = BatchBody(packed, header, self._allocate)
        places: dict[int, tuple[int, int, int, int]] = {}
        until = header.next_offset
        try:
            yield from body.open()
            for scanned in scan_records(header, body.view):
                if scanned is None:
                    yield None
                elif scanned[0] >= offset:
                    if len(places) == OFFSETS_AT_ONCE:
                        until = scanned[0]
                        break
                    places[scanned[0]] = scanned[2:]
        except CorruptBatch as fault:
            # Only this batch: its header says where the next one begins.
            self._log(f"records of the batch at offset {header.base_offset} are damaged: {fault}")
        self._batch = _IndexedBatch(body, offset, until, places)
        return self._batch

    def _close_batch(self) -> Steps[None]:
        """Free the batch whose records were searched last."""
        batch, self._batch = self._batch, None
        if batch is not None:
            yield from batch.body.close()

    def _log(self, text: str) -> None:
        """Log that records are not copied, once in the life of this reader."""
        if not self._is_logged:
            self._is_logged = True
            log.warning("dead letters without the key and value of their record: %s", text)
