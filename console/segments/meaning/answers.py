"""Batches, records and bytes as the page gets them. Names of fields are Kafka's where it has one.

Offsets, sizes and positions are in bytes and whole numbers; times are ms since 1970, -1 for none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from console.answers import ABSENT, Absent


@dataclass(frozen=True, slots=True)
class BatchShown:
    """A batch's header, as `ottla dump-log` names it; `isvalid` None: nobody looked at its CRC."""

    baseOffset: int
    lastOffset: int
    count: int
    baseSequence: int
    lastSequence: int
    producerId: int
    producerEpoch: int
    partitionLeaderEpoch: int
    isTransactional: bool
    isControl: bool
    deleteHorizonMs: int | None
    position: int
    size: int
    magic: int
    compresscodec: str
    crc: int
    isvalid: bool | None
    maxTimestamp: int
    timestampType: Literal["CreateTime", "LogAppendTime"]


@dataclass(frozen=True, slots=True)
class Meant:
    """A key or value: JSON, words or text where it is that, else base64; `cut`: there is more."""

    size: int | Absent = ABSENT
    cut: bool | Absent = ABSENT
    text: str | Absent = ABSENT
    base64: str | Absent = ABSENT
    words: str | Absent = ABSENT
    json: Any | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class ControlShown:
    """What a control record says."""

    endTxnMarker: str | Absent = ABSENT
    coordinatorEpoch: int | Absent = ABSENT
    controlType: str | int | Absent = ABSENT
    damaged: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A record of a batch; `start` is its place in the unpacked records."""

    number: int
    start: int
    size: int
    offset: int
    timestamp: int
    headers: list[tuple[Meant | None, Meant | None]]
    headersCount: int
    key: Meant | None
    value: Meant | None
    control: ControlShown | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """Records number `first` and after; `unpacked`: bytes of all the batch's records."""

    first: int
    count: int
    records: list[BatchRecord]
    damage: str | None
    unpacked: int


@dataclass(frozen=True, slots=True)
class BatchOpened:
    """A batch with a page of its records; `packed`: its bytes in the file."""

    batch: BatchShown
    packed: int
    codec: str
    first: int
    count: int
    records: list[BatchRecord]
    damage: str | None
    unpacked: int


@dataclass(frozen=True, slots=True)
class BitsShown:
    """Some bits of a field, the lowest is 0."""

    bits: str
    name: str
    value: str
    raw: str
    note: str


@dataclass(frozen=True, slots=True)
class FieldShown:
    """Bytes `start` to before `end`; a number that a browser cannot keep is its digits."""

    name: str
    type: str
    start: int
    end: int
    value: int | str | None
    meaning: str
    time_ms: int | None
    bits: list[BitsShown]
    zigzag: int | None
    note: str
    hidden: bool | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class BytesNamed:
    """Bytes of a batch's header or of a record, from byte `from` on, and what each is."""

    what: Literal["header", "record"]
    at: int
    size: int
    from_: int
    base64: str
    fields: list[FieldShown]
    varint: str
    crcIsRight: bool | Absent = ABSENT
    inUnpacked: bool | Absent = ABSENT
    offset: int | Absent = ABSENT
