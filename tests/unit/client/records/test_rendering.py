"""What records look like, and which of a batch are shown."""

from __future__ import annotations

import json
import re

import pytest

from client.records.rendering import RenderOptions, render
from protocol.record_batch import TimestampType
from protocol.records import RecordBatchBuilder, iterate_records
from tests.unit.client.records.batches import batch_of, packed

PLAIN = RenderOptions()


def test_values_a_line() -> None:
    data = packed([b"a", None, b"", b"\xff"])
    assert render(batch_of(data), PLAIN, None) == (b"a\nnull\n\n\xff\n", 4, 4)
    assert render(batch_of(data), PLAIN, 1) == (b"a\n", 1, 1)
    assert render(batch_of(packed([b"a"], codec=4)), PLAIN, None) == (b"a\n", 1, 1)


@pytest.mark.parametrize("view", [PLAIN, RenderOptions(matches=re.compile(b".").search)])
def test_only_what_was_asked_for(view: RenderOptions) -> None:
    data = packed([b"%d" % one for one in range(10, 20)], base_offset=10)
    assert render(batch_of(data, 12, 15), view, None) == (b"12\n13\n14\n", 3, 15)
    assert render(batch_of(data, 12, 15), view, 2) == (b"12\n13\n", 2, 14)
    assert render(batch_of(data, 30, 40), view, None) == (b"", 0, 20)


def test_keys_headers_and_places() -> None:
    data = packed([(b"k", b"v"), (None, None)], 7, headers=(("h", b"1"), ("n", None)))
    view = RenderOptions(keys=True, headers=True, where=True, separator=b"|")
    assert render(batch_of(data), view, None)[0] == (
        b"t-0 7 1000|h=1,n=null|k|v\nt-0 8 1001|h=1,n=null|null|null\n"
    )


def test_keys_and_values_at_once_are_those_of_each_record() -> None:
    data = packed([(b"k", b"v"), (None, None), (b"", b"")])
    view = RenderOptions(keys=True, separator=b":")
    assert render(batch_of(data), view, None) == (b"k:v\nnull:null\n:\n", 3, 3)
    assert render(batch_of(data), view, 2) == (b"k:v\nnull:null\n", 2, 2)


def test_what_is_looked_for() -> None:
    data = packed([(b"key", b"value"), (b"other", b"thing")], headers=())
    for pattern, count in ((b"key", 1), (b"th", 1), (b"e", 2), (b"^v", 1), (b"x", 0)):
        view = RenderOptions(matches=re.compile(pattern).search)
        assert render(batch_of(data), view, None)[1] == count, pattern
    hidden = packed([b"v"], headers=(("trace", b"abc"),))
    assert render(batch_of(hidden), RenderOptions(matches=re.compile(b"abc").search), None)[1] == 1


def test_json() -> None:
    data = packed([(b"k", "ä".encode()), (None, b"\xff")], headers=(("h", b"\xfe"),))
    first, second = render(batch_of(data), RenderOptions(as_json=True), None)[0].splitlines()
    assert json.loads(first) == {
        "topic": "t",
        "partition": 0,
        "offset": 0,
        "timestamp": 1000,
        "key": "k",
        "value": "ä",
        "headers": [{"key": "h", "value_base64": "/g=="}],
    }
    assert json.loads(second)["value_base64"] == "/w==" and json.loads(second)["key"] is None


def test_a_terminal_is_not_moved() -> None:
    data = packed([b"\x1b[2Jboo\r", b"caf\xc3\xa9\tx", b"\xff"])
    lines = render(batch_of(data), RenderOptions(for_terminal=True), None)[0].splitlines()
    assert lines == [rb"\x1b[2Jboo\r", b"caf\xc3\xa9\tx", rb"\xff"]


def _shaped(stamps: list[int], offsets: list[int], **of_builder: object) -> bytes:
    builder = RecordBatchBuilder(base_offset=offsets[0], **of_builder)  # type: ignore[arg-type]
    for number, (stamp, offset) in enumerate(zip(stamps, offsets, strict=True)):
        builder.append(None if number % 3 else b"k", b"v%04d" % number, stamp, (), offset)
    return bytes(builder.build(max_timestamp=77_000))


@pytest.mark.parametrize(
    "data",
    [
        packed([b"%04d" % one for one in range(300)], 5),
        packed([(b"k%d" % one, b'"\\\n\t\x00\xff'[: one % 7]) for one in range(300)], codec=4),
        packed([b"v"] * 20, headers=(('h"', b"1"), ("n", None))),
        _shaped([5000 - 40 * one for one in range(100)], list(range(100))),
        _shaped([1_764_000_000_000 + one * one * 999 for one in range(99)], list(range(7, 106))),
        _shaped([1000 + one for one in range(30)], [one * 2 for one in range(30)]),
        _shaped([1000] * 30, list(range(30)), timestamp_type=TimestampType.LOG_APPEND_TIME),
    ],
    ids=["alike", "escapes", "headers", "falling", "wide", "gaps", "log-append-time"],
)
def test_json_of_a_batch_at_once_is_that_of_each_record(data: bytes) -> None:
    at_once = render(batch_of(data), RenderOptions(as_json=True), None)
    each = render(batch_of(data), RenderOptions(as_json=True, matches=re.compile(b"").search), None)
    assert at_once == each and each.records > 0
    records = list(iterate_records(data))
    for line, record in zip(at_once.data.split(b"\n")[:-1], records, strict=True):
        found = json.loads(line)
        assert (found["offset"], found["timestamp"]) == (record.offset, record.timestamp)
        assert json.dumps(found, ensure_ascii=False).encode() == line
