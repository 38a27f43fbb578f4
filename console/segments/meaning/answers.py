"""The answers of the endpoints about batches, records and bytes; the fields have Kafka's names.

Sizes and positions are in bytes. Times are in ms since 1970, and -1 stands for none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from console.answers import ABSENT, Absent


@dataclass(frozen=True, slots=True)
class BatchShown:
    """A batch's header in the words of `ottla dump-log`; `isvalid` is None for an unchecked CRC."""

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
class Content:
    """A preview of a key, value or header: one of `json`, `words`, `text`, else `base64`.

    `json` and `words` come from a decoder. `size` counts the bytes, or the characters of a decoded
    value; some `words` have none. `cut` says that the content is longer.
    """

    size: int | Absent = ABSENT
    cut: bool | Absent = ABSENT
    text: str | Absent = ABSENT
    base64: str | Absent = ABSENT
    words: str | Absent = ABSENT
    json: Any | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class ControlShown:
    """The fields of a control record, or its damage."""

    endTxnMarker: str | Absent = ABSENT
    coordinatorEpoch: int | Absent = ABSENT
    controlType: str | int | Absent = ABSENT
    damaged: str | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A record of a batch; `start` is its position in the decompressed body.

    `headersCount` counts all headers, `headers` has the first ones.
    """

    number: int
    start: int
    size: int
    offset: int
    timestamp: int
    headers: list[tuple[Content | None, Content | None]]
    headersCount: int
    key: Content | None
    value: Content | None
    control: ControlShown | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class RecordsPage:
    """The records of a batch from number `first` on; `unpacked` is the size of its body."""

    first: int
    count: int
    records: list[BatchRecord]
    damage: str | None
    unpacked: int


@dataclass(frozen=True, slots=True)
class BatchOpened:
    """A batch with a page of its records.

    `packed` is its size in the file, `unpacked` the size of its decompressed body.
    """

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
    """A part of an attributes field: the numbers of its bits, of which 0 is the lowest."""

    bits: str
    name: str
    value: str
    raw: str
    note: str


@dataclass(frozen=True, slots=True)
class FieldShown:
    """A field: the bytes from `start` up to but without `end`.

    `value` is a text for a number that JavaScript cannot represent. `zigzag` is the number in a
    varint before decoding.
    """

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
    """The bytes of a batch's header or of a record, from byte `from` on, with their fields.

    `at` is the position in the file, or in the decompressed body if `inUnpacked` is set.
    """

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
