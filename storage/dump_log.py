"""The content of a data folder's files, as entries and as lines for people: `ottla dump-log`.

A pure function: a file's name and bytes in, entries out. Each entry has a kind and named facts. It
decodes segments, offset, time and transaction indexes and producer snapshots, and shows the small
text files as they are. The caller supplies the decoder of keys and values, which also hides
secrets. It never changes or repairs a file; damage is an entry too.

The names of facts, and so the words of a line, are those of Kafka's `kafka-dump-log` (its class
`DumpLogSegments`).
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
"""The kinds of entries. LINE, DAMAGE and REST (empty bytes behind the last entry) have one fact,
`text`."""


class TimeMs(int):
    """A time in ms since the epoch; -1 for no time."""


class DumpEntry(NamedTuple):
    """An item of a file: its kind, and its facts by name."""

    kind: str
    facts: dict[str, object]


class Decoded(NamedTuple):
    """A record's decoded key and value: dicts, lists and plain values, or a text in their place."""

    key: object
    value: object


Decode = Callable[[Record], Decoded | None]
"""A decoder of records. It returns None for a record whose bytes are shown as they are."""


class UnknownFile(Exception):
    """A file name that no file of a data folder has."""


def undecoded(_record: Record) -> None:
    """Decode nothing: the bytes of each record are shown as they are."""


# --- entries -------------------------------------------------------------------------------------


def entries_of(
    name: str, data: bytes, *, with_records: bool = False, decode: Decode = undecoded
) -> Iterator[DumpEntry]:
    """Return the entries of a file with this name and content.

    A segment's records are among them only if `with_records` is true. Raises UnknownFile for a
    name that no file of a data folder has.
    """
    suffix = suffix_of(name)
    if suffix in ("log", "checkpoint"):
        return segment_entries(data, decode if with_records else None)
    if suffix == "index":
        return _index(name, data, OFFSET_ENTRY)
    if suffix == "timeindex":
        return _index(name, data, TIME_ENTRY)
    if suffix == "txnindex":
        return _transaction_entries(data)
    if suffix == "snapshot":
        return _snapshot_entries(data)
    if name in _OFFSET_CHECKPOINTS:
        return _offset_entries(data)
    if name == _LEADER_EPOCHS:
        return _leader_epoch_entries(data)
    if name in (META_PROPERTIES, PARTITION_METADATA, CLEAN_SHUTDOWN, "quorum-state"):
        return (_text_entry(LINE, line) for line in data.decode("utf-8", "replace").splitlines())
    raise UnknownFile(
        f"dump-log cannot read '{name}': expected .log, .index, .timeindex, .txnindex, .snapshot, "
        ".checkpoint, a checkpoint without a suffix, quorum-state or meta.properties"
    )


def suffix_of(name: str) -> str:
    """Return a file name's suffix (such as `log`), without `.deleted` or `.cleaned` behind it. A
    name without a dot is returned whole."""
    return name.removesuffix(".deleted").removesuffix(".cleaned").rpartition(".")[2]


def segment_entries(data: bytes, decode: Decode | None, start: int = 0) -> Iterator[DumpEntry]:
    """Yield the batches of a segment, and their records unless `decode` is None.

    `data` begins at byte `start` of the file. Bytes that are no whole batch are the last entry:
    DAMAGE, or REST if all of them are zero.
    """
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
        rest, rest_start = data[end:], start + end
        if rest.strip(b"\0"):
            text = f"position {rest_start}, {len(rest)} bytes to the end of the file: {damage}"
            yield _text_entry(DAMAGE, text)
        else:
            yield _text_entry(
                REST, f"position {rest_start}: {len(rest)} zero bytes to the end of the file"
            )


def whole_bytes(data: bytes) -> int:
    """Return the number of bytes, from the start of a segment, that are whole batches."""
    end = 0
    try:
        for position, header in iterate_batches(data):
            end = position + header.size_in_bytes
    except CorruptBatch:
        pass  # the next batch is still being written, or the space is preallocated
    return end


def _text_entry(kind: str, text: str) -> DumpEntry:
    return DumpEntry(kind, {"text": text})


def batch_entry(header: RecordBatchHeader, position: int, *, is_valid: bool | None) -> DumpEntry:
    """Return the entry of the batch at byte `position` of its file.

    `is_valid` says whether its CRC is right; None if the CRC was not checked.
    """
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
    return DumpEntry(BATCH, facts)


def record_entry(header: RecordBatchHeader, record: Record, decode: Decode) -> DumpEntry:
    """Return the entry of a batch's record, its key and value decoded by `decode`. A control record
    has its type in their place."""
    if header.is_control:
        return _control(header, record)
    facts = _record_facts(header, record)
    facts["headerKeys"] = [key for key, _ in record.headers]
    decoded = decode(record)
    if decoded is None:
        decoded = Decoded(record.key, record.value)
    facts["key"], facts["payload"] = decoded
    return DumpEntry(RECORD, facts)


def _record_facts(header: RecordBatchHeader, record: Record) -> dict[str, object]:
    """Return a record's offset, timestamp, and sizes of key and value in bytes, -1 for null."""
    return {
        "offset": record.offset,
        _timestamp_name(header): TimeMs(record.timestamp),
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _control(header: RecordBatchHeader, record: Record) -> DumpEntry:
    """Return the entry of a control record: its type, and for a transaction marker the
    coordinator's epoch. A record that cannot be decoded has the fact `damaged`."""
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
    return DumpEntry(RECORD, facts)


def _transaction_entries(data: bytes) -> Iterator[DumpEntry]:
    """Yield an entry for each aborted transaction; one of damage if the file cannot be decoded."""
    entries = decode_transactions(data)
    if entries is None:
        yield _text_entry(DAMAGE, "no transaction index of version 0")
        return
    for entry in entries:
        facts: dict[str, object] = {
            "version": 0,
            "producerId": entry.producer_id,
            "firstOffset": entry.first_offset,
            "lastOffset": entry.last_offset,
            "lastStableOffset": entry.last_stable_offset,
        }
        yield DumpEntry(ENTRY, facts)


def _index(name: str, data: bytes, entry: Struct) -> Iterator[DumpEntry]:
    """Yield the entries of an offset or time index, with absolute offsets.

    The file has offsets relative to the segment's base offset, which is the file's name. Empty
    entries at the end are one REST; a falling or incomplete entry gives DAMAGE.
    """
    base = name.partition(".")[0]
    base_offset = int(base) if base.isdecimal() else 0
    whole = len(data) - len(data) % entry.size
    previous: tuple[int, int] | None = None
    for number, pair in enumerate(entry.iter_unpack(data[:whole])):
        first, second = int(pair[0]), int(pair[1])
        if previous is not None and (first, second) == (0, 0):
            entries_left = whole // entry.size - number
            yield _text_entry(REST, f"{entries_left} empty entries to the end of the file")
            return
        if entry is OFFSET_ENTRY:
            yield DumpEntry(ENTRY, {"offset": base_offset + first, "position": second})
        else:
            yield DumpEntry(ENTRY, {"timestamp": TimeMs(first), "offset": base_offset + second})
        if previous is not None and first < previous[0]:
            yield _text_entry(DAMAGE, f"entry {number} lies before the one above it")
        previous = (first, second)
    if whole != len(data):
        yield _text_entry(DAMAGE, f"{len(data) - whole} bytes are less than one entry")


def _snapshot_entries(data: bytes) -> Iterator[DumpEntry]:
    """Yield an entry for each producer; one of damage if the file cannot be decoded."""
    entries = decode_snapshot(data)
    if entries is None:
        yield _text_entry(DAMAGE, "no producer snapshot of version 1 with a right checksum")
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
        yield DumpEntry(ENTRY, facts)


def _offset_entries(data: bytes) -> Iterator[DumpEntry]:
    """Yield an entry for each partition's offset; one of damage if the file cannot be decoded."""
    offsets = decode_offsets(data)
    if offsets is None:
        yield _text_entry(DAMAGE, "no offset checkpoint of version 0")
        return
    for (topic, partition), offset in offsets.items():
        yield DumpEntry(ENTRY, {"topic": topic, "partition": partition, "offset": offset})


def _leader_epoch_entries(data: bytes) -> Iterator[DumpEntry]:
    """Yield an entry for each leader epoch; one of damage if the file cannot be decoded."""
    epochs = decode_leader_epochs(data)
    if epochs is None:
        yield _text_entry(DAMAGE, "no leader epoch checkpoint of version 0")
        return
    for epoch, start in epochs:
        yield DumpEntry(ENTRY, {"leaderEpoch": epoch, "startOffset": start})


def _timestamp_name(header: RecordBatchHeader) -> str:
    """Return the name of the fact that has the batch's timestamps: `LogAppendTime` or
    `CreateTime`."""
    return "LogAppendTime" if header.timestamp_type else "CreateTime"


# --- as lines and objects ------------------------------------------------------------------------


def line_of(entry: DumpEntry, time_text: Callable[[int], str] = str) -> str:
    """Return an entry as a line for people.

    `time_text(ms)` formats a time; -1, which is no time, stays -1.
    """
    kind, facts = entry
    if kind in (LINE, REST):
        return str(facts["text"])
    if kind == DAMAGE:
        return f"damaged: {facts['text']}"
    words = [f"{name}: {_fact_text(name, value, time_text)}" for name, value in facts.items()]
    if "topic" in facts:
        words[:2] = [f"{facts['topic']}-{facts['partition']}"]
    return f"| {' '.join(words)}" if kind == RECORD else " ".join(words)


def object_of(entry: DumpEntry) -> dict[str, object]:
    """Return an entry as a JSON object for programs.

    Times are in ms. Bytes that are not UTF-8 are in base64, under the name with `_base64` added.
    """
    json_object: dict[str, object] = {"kind": entry.kind}
    for name, value in entry.facts.items():
        if not isinstance(value, bytes):
            json_object[name] = value
            continue
        try:
            json_object[name] = value.decode()
        except UnicodeDecodeError:
            json_object[f"{name}_base64"] = b64encode(value).decode()
    return json_object


def _fact_text(name: str, value: object, time_text: Callable[[int], str]) -> str:
    """Return the text of a field's value: keys and payloads decoded, times by `time_text`, none for
    null."""
    if name in ("key", "payload"):
        return _decoded_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TimeMs) and value >= 0:
        return time_text(value)
    return "none" if value is None else str(int(value) if isinstance(value, TimeMs) else value)


def _decoded_text(value: object) -> str:
    """Return a key or value as text: its bytes, the decoder's text, or decoded values as JSON."""
    if value is None or isinstance(value, bytes):
        return _bytes_text(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bytes_text(data: bytes | None) -> str:
    """Return up to 200 characters of printable UTF-8 text, or else up to 100 bytes in hexadecimal.
    A longer value ends with `…`; None is `null`."""
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if (text or not data) and text.isprintable():
        return text if len(text) <= _SHOWN_CHARACTERS_MAX else f"{text[:_SHOWN_CHARACTERS_MAX]}…"
    return f"0x{data[: _SHOWN_CHARACTERS_MAX // 2].hex()}{'…' if len(data) > 100 else ''}"
