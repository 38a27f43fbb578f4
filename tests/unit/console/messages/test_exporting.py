"""Records become files that programs read back, within limits."""

from __future__ import annotations

import csv as csv_file
import io
import json
from collections.abc import Iterable

import pytest

from client.records.batching import parse_json
from console.answers import ABSENT
from console.endpoints import STATIC
from console.messages.decoding.decoded_parts import DecodedParts
from console.messages.exporting import (
    BYTES_MAX,
    RECORDS_MAX,
    ExportStatus,
    Found,
    csv,
    ndjson,
    pieces,
)
from protocol.records import Record

RECORDS = [
    Record(0, 1764144000000, b"k", b"plain"),
    Record(1, 1764144000001, None, None),
    Record(2, 1764144000002, b"", b""),
    Record(3, 1764144000003, b"\xff\x00", b"\xfe"),
    Record(4, 1764144000004, b"k", 'a "b",\r\n東京'.encode(), (("h", b"1"), ("h", None))),
    Record(5, 1764144000005, b"k", b"=SUM(A1)"),
]


def found(records: Iterable[Record] = RECORDS) -> list[Found]:
    return [(7, record) for record in records]


def test_ndjson_is_read_back() -> None:
    status = ExportStatus()
    data = b"".join(pieces(found(), ndjson("t"), status))
    lines = data.splitlines()
    for line, record in zip(lines, RECORDS, strict=True):
        read = parse_json(line)
        assert (read.key, read.value, read.headers) == (record.key, record.value, record.headers)
        assert json.loads(line)["partition"] == 7
    assert (status.records, status.bytes, status.ended) == (6, len(data), "end")


def test_csv() -> None:
    data = b"".join(pieces(found(), csv(None), ExportStatus())).decode()
    assert data.endswith('7,5,1764144000005,"k","=SUM(A1)",,,\r\n')
    head, *rows = csv_file.reader(io.StringIO(data, newline=""))
    assert head == [
        *("partition", "offset", "timestamp", "key", "value", "headers"),
        *("key_base64", "value_base64"),
    ]
    assert rows[3][3:] == ["", "", "", "/wA=", "/g=="]
    assert rows[4][4] == 'a "b",\r\n東京'
    assert json.loads(rows[4][5]) == [{"key": "h", "value": "1"}, {"key": "h", "value": None}]
    assert data.split("\r\n")[2:4] == ["7,1,1764144000001,,,,,", '7,2,1764144000002,"","",,,']


def test_csv_has_decoded_values() -> None:
    form = csv(lambda record: DecodedParts("s", value={"id": record.offset}))
    (line,) = pieces(found(RECORDS[:1]), form, ExportStatus())
    assert line.endswith(b'7,0,1764144000000,"k","{""id"": 0}",,,\r\n')


@pytest.mark.parametrize(
    ("status", "count", "ended"),
    [
        (ExportStatus(records_max=6), 6, "end"),
        (ExportStatus(records_max=5), 5, "limit"),
        (ExportStatus(bytes_max=250), 2, "limit"),
        (ExportStatus(bytes_max=10), 0, "limit"),
    ],
)
def test_limits(status: ExportStatus, count: int, ended: str) -> None:
    data = b"".join(pieces(found(), ndjson("t"), status))
    assert data.count(b"\n") == status.records == count
    assert status.ended == ended
    assert len(data) == status.bytes <= status.bytes_max


def test_a_caller_may_leave_while_nothing_is_found() -> None:
    status = ExportStatus()
    file = pieces([None, (7, RECORDS[0]), None], csv(None), status)
    assert next(file).startswith(b"partition,")
    assert next(file).startswith(b"7,0,")
    assert status.ended is ABSENT
    assert list(file) == []
    assert status.ended == "end"


def test_the_page_names_the_limits() -> None:
    menu = (STATIC / "views" / "messages" / "export.js").read_text()
    assert f"At most {RECORDS_MAX:,} records or {BYTES_MAX >> 20} MiB" in menu
