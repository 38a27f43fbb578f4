"""Lines, JSON and files become batches, each for one partition and none too large."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from broker.config.start_error import StartError
from client.core.producing import NewRecord, Producer
from client.records.batching import BATCH_BYTES, Batching, Settings, parse_json
from client.records.partitioning import murmur2
from protocol.records import Record, iterate_records

NOW = 1_000_000


class Sent:
    """Takes batches for three partitions."""

    partitions = 3

    def __init__(self) -> None:
        self.batches: list[tuple[int, list[Record], int]] = []

    def send(self, partition: int, records: int, build: Callable[[Producer], bytearray]) -> None:
        batch = bytes(build(Producer(1, 0, 5)))
        found = list(iterate_records(batch))
        assert len(found) == records
        self.batches.append((partition, found, len(batch)))

    @property
    def pairs(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(one.key, one.value) for _, records, _ in self.batches for one in records]


def batching(bytes_max: int | None = None, **settings: Any) -> tuple[Batching, Sent]:
    sent = Sent()
    return Batching(Settings(**settings), "t", bytes_max, sent, lambda: NOW), sent


def said(**changes: Any) -> dict[str, Any]:
    options = {"key": None, "key_separator": None, "headers": (), "as_json": False}
    return options | {"partition": None} | changes


def partition_of(key: bytes) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % 3


def test_lines_that_come_in_pieces() -> None:
    one, sent = batching()
    one.begin("f")
    for piece in (b"a\nb", b"c\n\nd", b"e"):
        one.lines(piece)
    assert [value for _, value in sent.pairs] == [b"a", b"bc", b""]
    one.end()
    one.end()
    assert sent.pairs[-1] == (None, b"de") and len(sent.pairs) == 4
    assert one.records == 4 and one.bytes_read == 8
    assert [partition for partition, *_ in sent.batches] == [1, 2, 0]
    assert sent.batches[0][1][0].timestamp == NOW


def test_one_key_or_one_partition_for_all() -> None:
    one, sent = batching(key=b"k", headers=(("h", b"1"),), codec=4)
    one.lines(b"a\nb\n")
    assert sent.pairs == [(b"k", b"a"), (b"k", b"b")]
    assert sent.batches[0][0] == partition_of(b"k")
    assert sent.batches[0][1][1].headers == (("h", b"1"),)
    one, sent = batching(partition=2)
    one.lines(b"a\n")
    one.lines(b"b\n")
    assert [partition for partition, *_ in sent.batches] == [2, 2]
    with pytest.raises(StartError, match="topic t has partitions 0 to 2, and no 3"):
        batching(partition=3)


def test_a_key_in_each_line() -> None:
    one, sent = batching(separator=b"::")
    one.begin("f")
    one.lines(b"a::1\nb::2::x\nc::3\na::4\n")
    by_key = {key: value for key, value in sent.pairs if key != b"a"}
    assert by_key == {b"b": b"2::x", b"c": b"3"}
    assert [value for key, value in sent.pairs if key == b"a"] == [b"1", b"4"]
    for partition, records, _ in sent.batches:
        assert {partition_of(one.key or b"") for one in records} == {partition}
    with pytest.raises(StartError, match="f, line 6: there is no '::' behind a key"):
        one.lines(b"x::1\nplain\n")
    one, sent = batching(separator=b":", partition=1)
    one.lines(b"a:1\nb:2\n")
    assert [partition for partition, *_ in sent.batches] == [1]


def test_no_batch_is_larger_than_the_topic_takes() -> None:
    lines = [b"x" * 300 for _ in range(100)]
    for keyed in ({}, {"key": b"k"}, {"separator": b"x"}):
        one, sent = batching(2000, **keyed)
        one.lines(b"\n".join(lines) + b"\n")
        assert len(sent.pairs) == 100
        assert max(size for *_, size in sent.batches) <= 2000
    one, sent = batching()
    one.lines(b"\n" * 20_000)
    assert max(len(records) for _, records, _ in sent.batches) <= 8192


def test_a_record_that_is_too_large() -> None:
    one, sent = batching(1000)
    one.begin("f")
    one.lines(b"a\n")
    with pytest.raises(StartError, match=r"f, line 3: a record of 1000000 bytes .* t, 1000"):
        one.lines(b"b\n" + b"x" * 1_000_000 + b"\nc\n")
    one, sent = batching(3 * BATCH_BYTES)
    one.lines(b"x" * 2 * BATCH_BYTES + b"\n")
    assert len(sent.pairs) == 1


@pytest.mark.parametrize(("settings", "most"), [({}, 1), ({"as_json": True}, 6)])
def test_a_line_without_an_end_is_refused_when_it_is_too_long(
    settings: dict[str, Any], most: int
) -> None:
    one, sent = batching(2000, **settings)
    one.begin("f")
    with pytest.raises(StartError, match=rf"f, line 1: a record of more than {BATCH_BYTES} bytes"):
        while one.bytes_read < 2 * most * BATCH_BYTES:
            one.lines(b"x" * 1000)
    assert one.bytes_read <= most * BATCH_BYTES + 1000
    assert sent.batches == []


def test_a_long_line_in_pieces_is_put_together_once() -> None:
    one, sent = batching(separator=b":")
    for piece in (b"k", b":", *[b"v" * 100] * 1000, b"\nl:w"):
        one.lines(piece)
    one.end()
    assert sent.pairs == [(b"k", b"v" * 100_000), (b"l", b"w")]


def test_carriage_returns_and_a_byte_order_mark_are_of_the_record() -> None:
    one, sent = batching()
    one.lines("\ufeffa\r\nb\r\n".encode())
    assert [value for _, value in sent.pairs] == [b"\xef\xbb\xbfa\r", b"b\r"]


def test_whole_files_and_tombstones() -> None:
    one, sent = batching(whole=True, key=b"k")
    one.whole("f", b"a\nb\n")
    assert sent.pairs == [(b"k", b"a\nb\n")]
    one.tombstone()
    assert sent.pairs[-1] == (b"k", None) and sent.batches[-1][0] == partition_of(b"k")


def test_json_lines() -> None:
    lines = [
        {"key": "a", "value": "1", "timestamp": 77, "headers": [{"key": "h", "value": None}]},
        {"value": {"x": [1]}, "headers": {"n": "v"}},
        {"key_base64": "/w==", "value": None},
    ]
    one, sent = batching(as_json=True)
    one.begin("f")
    one.lines(b"\n".join(json.dumps(line).encode() for line in lines) + b"\n\n")
    found = {record.key: record for _, records, _ in sent.batches for record in records}
    assert found[b"a"].timestamp == 77 and found[b"a"].headers == (("h", None),)
    assert found[None].value == b'{"x": [1]}' and found[None].headers == (("n", b"v"),)
    assert found[b"\xff"].value is None and found[b"\xff"].timestamp == NOW
    with pytest.raises(StartError, match="f, line 6: this is not JSON"):
        one.lines(b'{"value": 1}\n{x}\n')


def test_json_batches_are_not_too_large_either() -> None:
    one, sent = batching(1000, as_json=True, partition=0)
    one.lines(b"".join(b'{"value": "%s"}\n' % (b"x" * 200) for _ in range(20)))
    assert len(sent.pairs) == 20 and max(size for *_, size in sent.batches) <= 1100


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[]", 'an object with a "value"'),
        (b'{"key": "x"}', 'an object with a "value"'),
        (b'{"value": 1, "timestamp": "now"}', "milliseconds"),
        (b'{"value": 1, "timestamp": -2}', "milliseconds"),
        (b'{"value": 1, "timestamp": 9223372036854775808}', "milliseconds"),
        (b'{"value": 1, "headers": [1]}', "a header is"),
        (b'{"value_base64": "???"}', "(?i)base64"),
    ],
)
def test_what_is_no_record(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(line)


def test_a_record_without_a_time_stays_one() -> None:
    one, sent = batching(as_json=True, partition=0)
    times = [-1, 5, (1 << 63) - 1, -1]
    one.lines(b"".join(b'{"value": 1, "timestamp": %d}\n' % at for at in times))
    found = [[record.timestamp for record in records] for _, records, _ in sent.batches]
    assert found == [times[:2], times[2:3], times[3:]], "none is too far from the batch's first"


def test_text_that_is_no_unicode_survives() -> None:
    assert parse_json(b'{"value": "\\ud800"}') == NewRecord(None, b"\xed\xa0\x80", (), None)


def test_what_does_not_go_together() -> None:
    for changes, whole in (
        ({"as_json": True, "key": "k"}, False),
        ({"as_json": True}, True),
        ({"key": "k", "key_separator": ":"}, False),
        ({"key_separator": ":"}, True),
        ({"key_separator": ""}, False),
        ({"headers": ("x",)}, False),
    ):
        with pytest.raises(StartError):
            Settings.of(said(**changes), whole=whole, codec=0)
    found = Settings.of(said(key="ä", headers=("a=b=c",), partition=1), whole=True, codec=2)
    assert found == Settings("ä".encode(), None, (("a", b"b=c"),), False, True, 1, 2)
