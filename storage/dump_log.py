"""What a file of a data folder holds, as entries and as lines for people: `ottla dump-log`.

Pure: a file's name and bytes in, entries out, each a kind and facts by name. It understands
segments, offset, time and transaction indexes, producer snapshots, and shows the small text files
as they are. What a record's key and value mean, and what of them may not be shown, is the caller's
to say. It changes nothing and repairs nothing; damage is an entry of its own.

The names of facts, and with them the words of a line, are those of Kafka's `kafka-dump-log` (its
class `DumpLogSegments`).
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from log_format.transaction_index import decode_transactions
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

_SHOWN_CHARACTERS_MAX = 200
_OFFSET_CHECKPOINTS = (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
_MARKERS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
_LEADER_EPOCHS = "leader-epoch-checkpoint"

BATCH, RECORD, ENTRY, LINE, DAMAGE, REST = "batch", "record", "entry", "line", "damage", "rest"
"""Kinds of entries. LINE, DAMAGE and REST (what is empty behind the last entry) are a `text`."""


class TimeMs(int):
    """A time in ms since the epoch; -1 where there is none."""


class Entry(NamedTuple):
    """One thing that a file holds."""

    kind: str
    facts: dict[str, object]


class Decoded(NamedTuple):
    """What a record means: dicts, lists and plain values, or a text that stands for them."""

    key: object
    value: object


Decode = Callable[[Record], Decoded | None]
"""None: the record's bytes are shown as they are."""


class UnknownFile(Exception):
    """By its name this is no file of a data folder."""


def undecoded(_record: Record) -> None:
    """All is shown as it is."""


# --- entries -------------------------------------------------------------------------------------


def entries_of(
    name: str, data: bytes, *, with_records: bool = False, decode: Decode = undecoded
) -> Iterator[Entry]:
    """What a file of this name and content holds; records of a segment only when wanted.

    Raises UnknownFile for a name that no file of a data folder has.
    """
    suffix = suffix_of(name)
    if suffix in ("log", "checkpoint"):
        return segment_entries(data, decode if with_records else None)
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
        return (_text(LINE, one) for one in data.decode("utf-8", "replace").splitlines())
    raise UnknownFile(
        f"dump-log cannot read '{name}': expected .log, .index, .timeindex, .txnindex, .snapshot, "
        ".checkpoint, a checkpoint without a suffix, quorum-state or meta.properties"
    )


def suffix_of(name: str) -> str:
    """What kind of file it was before it was marked as deleted or cleaned."""
    return name.removesuffix(".deleted").removesuffix(".cleaned").rpartition(".")[2]


def segment_entries(data: bytes, decode: Decode | None, start: int = 0) -> Iterator[Entry]:
    """Batches, and their records if there is something to decode them; `data` begins at byte
    `start` of its file."""
    end = 0
    try:
        for position, header in iterate_batches(data):
            is_valid = crc_is_valid(data, position, header)
            yield batch_entry(header, start + position, is_valid=is_valid)
            end = position + header.size_in_bytes
            if decode is not None:
                for record in iterate_records(data, position):
                    yield record_entry(header, record, decode)
    except CorruptBatch as damage:
        rest, at = data[end:], start + end
        if rest.strip(b"\0"):
            text = f"position {at}, {len(rest)} bytes to the end of the file: {damage}"
            yield _text(DAMAGE, text)
        else:
            yield _text(REST, f"position {at}: {len(rest)} zero bytes to the end of the file")


def whole_bytes(data: bytes) -> int:
    """How many bytes of a segment are batches that are there whole."""
    end = 0
    try:
        for position, header in iterate_batches(data):
            end = position + header.size_in_bytes
    except CorruptBatch:
        pass  # what comes next is being written, or is room for it
    return end


def _text(kind: str, text: str) -> Entry:
    return Entry(kind, {"text": text})


def batch_entry(header: RecordBatchHeader, position: int, *, is_valid: bool | None) -> Entry:
    """The batch at byte `position` of its file. `is_valid`: whether its CRC is right; None where
    nobody looked."""
    horizon = header.delete_horizon_ms
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
        "deleteHorizonMs": None if horizon is None else TimeMs(horizon),
        "position": position,
        _timestamp_name(header): TimeMs(header.max_timestamp),
        "size": header.size_in_bytes,
        "magic": header.magic,
        "compresscodec": Codec(header.compression).name.lower(),
        "crc": header.crc,
        "isvalid": is_valid,
    }
    return Entry(BATCH, facts)


def record_entry(header: RecordBatchHeader, record: Record, decode: Decode) -> Entry:
    """One record of a batch, decoded."""
    if header.is_control:
        return _control(header, record)
    facts = _record_facts(header, record)
    facts["headerKeys"] = [key for key, _ in record.headers]
    decoded = decode(record)
    if decoded is None:
        decoded = Decoded(record.key, record.value)
    facts["key"], facts["payload"] = decoded
    return Entry(RECORD, facts)


def _record_facts(header: RecordBatchHeader, record: Record) -> dict[str, object]:
    return {
        "offset": record.offset,
        _timestamp_name(header): TimeMs(record.timestamp),
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _control(header: RecordBatchHeader, record: Record) -> Entry:
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
        facts["damaged"] = str(damage)
    return Entry(RECORD, facts)


def _transaction_index(data: bytes) -> Iterator[Entry]:
    entries = decode_transactions(data)
    if entries is None:
        yield _text(DAMAGE, "no transaction index of version 0")
        return
    for entry in entries:
        facts: dict[str, object] = {
            "version": 0,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        yield Entry(ENTRY, facts)


def _index(name: str, data: bytes, entry: Struct) -> Iterator[Entry]:
    """An index keeps offsets relative to the segment's base, which its name says."""
    base = name.partition(".")[0]
    base_offset = int(base) if base.isdecimal() else 0
    whole = len(data) - len(data) % entry.size
    previous: tuple[int, int] | None = None
    for at, pair in enumerate(entry.iter_unpack(data[:whole])):
        first, second = int(pair[0]), int(pair[1])
        if previous is not None and (first, second) == (0, 0):
            left = whole // entry.size - at
            yield _text(REST, f"{left} empty entries to the end of the file")
            return
        if entry is OFFSET_ENTRY:
            yield Entry(ENTRY, {"offset": base_offset + first, "position": second})
        else:
            yield Entry(ENTRY, {"timestamp": TimeMs(first), "offset": base_offset + second})
        if previous is not None and first < previous[0]:
            yield _text(DAMAGE, f"entry {at} lies before the one above it")
        previous = (first, second)
    if whole != len(data):
        yield _text(DAMAGE, f"{len(data) - whole} bytes are less than one entry")


def _snapshot(data: bytes) -> Iterator[Entry]:
    entries = decode_snapshot(data)
    if entries is None:
        yield _text(DAMAGE, "no producer snapshot of version 1 with a right checksum")
        return
    for entry in entries:
        facts: dict[str, object] = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": entry.current_txn_first_offset,
            "lastTimestamp": TimeMs(entry.last_timestamp),
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
        }
        yield Entry(ENTRY, facts)


def _offset_checkpoint(data: bytes) -> Iterator[Entry]:
    offsets = decode_offsets(data)
    if offsets is None:
        yield _text(DAMAGE, "no offset checkpoint of version 0")
        return
    for (topic, partition), offset in offsets.items():
        yield Entry(ENTRY, {"topic": topic, "partition": partition, "offset": offset})


def _leader_epochs(data: bytes) -> Iterator[Entry]:
    epochs = decode_leader_epochs(data)
    if epochs is None:
        yield _text(DAMAGE, "no leader epoch checkpoint of version 0")
        return
    for epoch, start in epochs:
        yield Entry(ENTRY, {"leaderEpoch": epoch, "startOffset": start})


def _timestamp_name(header: RecordBatchHeader) -> str:
    return "LogAppendTime" if header.timestamp_type else "CreateTime"


# --- as lines and objects ------------------------------------------------------------------------


def line_of(entry: Entry, time_text: Callable[[int], str] = str) -> str:
    """An entry for people. `time_text(ms)` is how times are written; -1 stays as it is."""
    kind, facts = entry
    if kind in (LINE, REST):
        return str(facts["text"])
    if kind == DAMAGE:
        return f"damaged: {facts['text']}"
    words = [f"{name}: {_plain(name, value, time_text)}" for name, value in facts.items()]
    if "topic" in facts:
        words[:2] = [f"{facts['topic']}-{facts['partition']}"]
    return f"| {' '.join(words)}" if kind == RECORD else " ".join(words)


def object_of(entry: Entry) -> dict[str, object]:
    """An entry for programs: times in ms; bytes that are no text in base64, under a name that
    says so."""
    found: dict[str, object] = {"kind": entry.kind}
    for name, value in entry.facts.items():
        if not isinstance(value, bytes):
            found[name] = value
            continue
        try:
            found[name] = value.decode()
        except UnicodeDecodeError:
            found[f"{name}_base64"] = b64encode(value).decode()
    return found


def _plain(name: str, value: object, time_text: Callable[[int], str]) -> str:
    if name in ("key", "payload"):
        return _meant(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TimeMs) and value >= 0:
        return time_text(value)
    return "none" if value is None else str(int(value) if isinstance(value, TimeMs) else value)


def _meant(value: object) -> str:
    """A key or value: its bytes, the text that stands for it, or what was decoded."""
    if value is None or isinstance(value, bytes):
        return _shown(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
