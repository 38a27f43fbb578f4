"""What a file of a data folder holds, as lines for people: `ottla dump-log`.

Pure: a file's name and bytes in, lines out. What may not be shown of a record is the caller's to
say. It understands segments, offset, time and transaction
indexes, producer snapshots, and shows the small text files as they are. It changes nothing and
repairs nothing; damage is a line that begins with `damaged:`.

The words of a line are those of Kafka's `kafka-dump-log` (its class `DumpLogSegments`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct

from protocol.compression import Codec
from protocol.control_records import (
    ControlRecordType,
    control_record_type,
    transaction_marker_epoch,
)
from protocol.record_batch import CorruptBatch, RecordBatchHeader, crc_is_valid, iterate_batches
from protocol.records import Record, iterate_records
from storage.log.checkpoints import (
    CLEAN_SHUTDOWN,
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    decode_leader_epochs,
    decode_offsets,
)
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from storage.log.producer_snapshot import decode_snapshot
from storage.log.transaction_index import decode_transactions

_SHOWN_CHARACTERS_MAX = 200
_OFFSET_CHECKPOINTS = (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
_MARKERS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
_LEADER_EPOCHS = "leader-epoch-checkpoint"


ShownInstead = Callable[[bytes], str | None]


class UnknownFile(Exception):
    """By its name this is no file of a data folder."""


def _all_may_be_shown(_value: bytes) -> None:
    return None


def describe_file(
    name: str,
    data: bytes,
    *,
    with_records: bool = False,
    instead: ShownInstead = _all_may_be_shown,
) -> Iterator[str]:
    """Lines on a file of this name and content; records of a segment only when wanted.

    `instead(value)` is what stands for the value of a record without a key; None: the value itself.
    Raises UnknownFile for a name that no file of a data folder has.
    """
    suffix = name.removesuffix(".deleted").removesuffix(".cleaned").rpartition(".")[2]
    if suffix in ("log", "checkpoint"):
        return _segment(data, instead if with_records else None)
    if suffix == "index":
        return _index(name, data, OFFSET_ENTRY)
    if suffix == "timeindex":
        return _index(name, data, TIME_ENTRY)
    if suffix == "txnindex":
        return _transaction_index(data)
    if suffix == "snapshot":
        return _snapshot(data)
    if name in _OFFSET_CHECKPOINTS:
        return _offset_checkpoint(data)
    if name == _LEADER_EPOCHS:
        return _leader_epochs(data)
    if name in (META_PROPERTIES, PARTITION_METADATA, CLEAN_SHUTDOWN, "quorum-state"):
        return iter(data.decode("utf-8", "replace").splitlines())
    raise UnknownFile(
        f"dump-log cannot read '{name}': expected .log, .index, .timeindex, .txnindex, .snapshot, "
        ".checkpoint, a checkpoint without a suffix, quorum-state or meta.properties"
    )


def _segment(data: bytes, instead: ShownInstead | None) -> Iterator[str]:
    end = 0
    try:
        for position, header in iterate_batches(data):
            yield _batch_line(data, position, header)
            end = position + header.size_in_bytes
            if instead is not None:
                for record in iterate_records(data, position):
                    yield _record_line(header, record, instead)
    except CorruptBatch as damage:
        rest = data[end:]
        if rest.strip(b"\0"):
            yield f"damaged: position {end}, {len(rest)} bytes to the end of the file: {damage}"
        else:
            yield f"position {end}: {len(rest)} zero bytes to the end of the file"


def _batch_line(data: bytes, position: int, header: RecordBatchHeader) -> str:
    facts: dict[str, object] = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": position,
        _timestamp_name(header): header.max_timestamp,
        "size": header.size_in_bytes,
        "magic": header.magic,
        "compresscodec": Codec(header.compression).name.lower(),
        "crc": header.crc,
        "isvalid": crc_is_valid(data, position, header),
    }
    return _line(facts)


def _record_line(header: RecordBatchHeader, record: Record, instead: ShownInstead) -> str:
    if header.is_control:
        return _control_line(header, record)
    facts = _record_facts(header, record)
    facts["headerKeys"] = [key for key, _ in record.headers]
    facts["key"] = _shown(record.key)
    hidden = instead(record.value) if record.key is None and record.value is not None else None
    facts["payload"] = _shown(record.value) if hidden is None else hidden
    return f"| {_line(facts)}"


def _record_facts(header: RecordBatchHeader, record: Record) -> dict[str, object]:
    return {
        "offset": record.offset,
        _timestamp_name(header): record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _control_line(header: RecordBatchHeader, record: Record) -> str:
    """What brokers wrote for each other: its kind, and the coordinator's epoch of a marker."""
    facts = _record_facts(header, record)
    facts["sequence"] = -1
    facts["headerKeys"] = [key for key, _ in record.headers]
    try:
        kind = control_record_type(record.key)
        if kind in _MARKERS:
            facts["endTxnMarker"] = kind.name
            facts["coordinatorEpoch"] = transaction_marker_epoch(record.value)
        else:
            facts["controlType"] = "unknown" if kind is None else kind.name
    except CorruptBatch as damage:
        return f"| {_line(facts)} damaged: {damage}"
    return f"| {_line(facts)}"


def _transaction_index(data: bytes) -> Iterator[str]:
    entries = decode_transactions(data)
    if entries is None:
        yield "damaged: no transaction index of version 0"
        return
    for entry in entries:
        facts: dict[str, object] = {
            "version": 0,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        yield _line(facts)


def _index(name: str, data: bytes, entry: Struct) -> Iterator[str]:
    """An index keeps offsets relative to the segment's base, which its name says."""
    base = name.partition(".")[0]
    base_offset = int(base) if base.isdecimal() else 0
    whole = len(data) - len(data) % entry.size
    previous: tuple[int, int] | None = None
    for at, pair in enumerate(entry.iter_unpack(data[:whole])):
        first, second = int(pair[0]), int(pair[1])
        if previous is not None and (first, second) == (0, 0):
            yield f"{whole // entry.size - at} empty entries to the end of the file"
            return
        if entry is OFFSET_ENTRY:
            yield f"offset: {base_offset + first} position: {second}"
        else:
            yield f"timestamp: {first} offset: {base_offset + second}"
        if previous is not None and first < previous[0]:
            yield f"damaged: entry {at} lies before the one above it"
        previous = (first, second)
    if whole != len(data):
        yield f"damaged: {len(data) - whole} bytes are less than one entry"


def _snapshot(data: bytes) -> Iterator[str]:
    entries = decode_snapshot(data)
    if entries is None:
        yield "damaged: no producer snapshot of version 1 with a right checksum"
        return
    for entry in entries:
        facts: dict[str, object] = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_first_offset,
            "lastTimestamp": entry.last_timestamp,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
        }
        yield _line(facts)


def _offset_checkpoint(data: bytes) -> Iterator[str]:
    offsets = decode_offsets(data)
    if offsets is None:
        yield "damaged: no offset checkpoint of version 0"
        return
    for (topic, partition), offset in offsets.items():
        yield f"{topic}-{partition} offset: {offset}"


def _leader_epochs(data: bytes) -> Iterator[str]:
    epochs = decode_leader_epochs(data)
    if epochs is None:
        yield "damaged: no leader epoch checkpoint of version 0"
        return
    for epoch, start in epochs:
        yield f"leaderEpoch: {epoch} startOffset: {start}"


def _timestamp_name(header: RecordBatchHeader) -> str:
    return "LogAppendTime" if header.timestamp_type else "CreateTime"


def _line(facts: dict[str, object]) -> str:
    return " ".join(f"{name}: {_plain(value)}" for name, value in facts.items())


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _shown(data: bytes | None) -> str:
    """Text where it is text that fits a line, else the first bytes in hexadecimal."""
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if (text or not data) and text.isprintable():
        return text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}…"
    return f"0x{data[: _SHOWN_CHARACTERS_MAX // 2].hex()}{'…' if len(data) > 100 else ''}"
