from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from log_format.damage import DamagedLog
from log_format.records.arrow_batches import SCHEMA, UNPACKED_BYTES, ArrowDecoder
from protocol.record_batch import TimestampType
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.log_format.pieces import expected, piece_of, record_of_row, rows_of

GOLDEN = Path(__file__).resolve().parents[3] / "golden"
BATCHES = sorted(GOLDEN.glob("*/batch_*.bin"))

RECORDS = [
    Record(5, 1_700_000_000_123, b"key", b"value", (("a", b"1"), ("b", None), ("", b""))),
    Record(6, -1, None, None),
    Record(9, 1_700_000_000_100, b"", b"", (("ä", b"2"),)),
    Record(10, 0, b"k" * 200, b"v" * 20_000),
]


def test_the_columns_are_those_of_sparks_kafka_source() -> None:
    [batch] = ArrowDecoder("t", 0).batches(piece_of(bytes(build_batch(RECORDS))), 0, 100)
    assert batch.schema == SCHEMA
    assert batch.schema.names == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
    ]


@pytest.mark.parametrize("path", BATCHES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_batches_of_real_clients(path: Path) -> None:
    batch = path.read_bytes()
    rows = rows_of(piece_of(batch))
    assert [record_of_row(row) for row in rows] == expected(batch) and rows
    assert {(row["topic"], row["partition"], row["timestampType"]) for row in rows} == {
        ("a.topic-of", 3, 0)
    }


@pytest.mark.parametrize("codec", range(5))
def test_nulls_headers_and_gaps(codec: int) -> None:
    batch = bytes(build_batch(RECORDS, base_offset=5, compression=codec))
    rows = rows_of(piece_of(batch))
    assert [record_of_row(row) for row in rows] == expected(batch)
    assert rows[1]["headers"] is None, "as Spark's source has it"
    assert rows[0]["headers"][1] == {"key": "b", "value": None}


def test_batches_of_all_kinds_side_by_side() -> None:
    batches = [
        build_batch(RECORDS[:1] + RECORDS[3:], base_offset=5, compression=n % 5) for n in range(200)
    ]
    data = b"".join(map(bytes, batches))
    assert [record_of_row(row) for row in rows_of(piece_of(data))] == [
        row for batch in batches for row in expected(batch)
    ]


def test_what_unpacks_to_much_comes_in_parts() -> None:
    large = [Record(at, 0, None, b"x" * (UNPACKED_BYTES // 3)) for at in range(2)]
    data = b"".join(bytes(build_batch(large, base_offset=0, compression=4)) for _ in range(4))
    batches = list(ArrowDecoder("t", 0).batches(piece_of(data), 0, 100))
    assert [one.num_rows for one in batches] == [2, 2, 2, 2]


def test_offsets_outside_are_left_out() -> None:
    batch = bytes(build_batch(RECORDS, base_offset=5))
    assert [row["offset"] for row in rows_of(piece_of(batch), 6, 10)] == [6, 9]
    assert [row["headers"] for row in rows_of(piece_of(batch), 9, 10)] == [
        [{"key": "ä", "value": b"2"}]
    ]
    assert rows_of(piece_of(batch), 11, 20) == []


def test_the_brokers_time_is_that_of_all_its_records() -> None:
    batch = build_batch(
        RECORDS, base_offset=5, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77_000
    )
    rows = rows_of(piece_of(bytes(batch)))
    assert {(record_of_row(row)[1], row["timestampType"]) for row in rows} == {(77_000, 1)}


def test_an_empty_batch_that_compaction_left() -> None:
    batch = bytes(build_batch([], base_offset=5, last_offset=9))
    assert rows_of(piece_of(batch)) == []
    assert len(rows_of(piece_of(batch + bytes(build_batch(RECORDS, base_offset=5))))) == 4


def test_header_keys_that_are_no_text() -> None:
    batch = bytes(build_batch([Record(0, 0, None, b"", (("\udcff-a", b"1"),))]))
    assert rows_of(piece_of(batch))[0]["headers"] == [{"key": "\ufffd-a", "value": b"1"}]


def test_damage_is_told_with_its_place() -> None:
    good, bad = bytes(build_batch(RECORDS, base_offset=5)), bytearray(build_batch(RECORDS[1:2]))
    bad[-7] += 2  # the record's length says one more
    with pytest.raises(DamagedLog) as raised:
        rows_of(piece_of(good + bytes(bad), "t-0/0.log"))
    assert raised.value.position == len(good)
    assert str(raised.value).startswith(f"t-0/0.log is damaged at byte {len(good)}: in the batch")
    packed = bytearray(build_batch(RECORDS, base_offset=5, compression=4))
    packed[70] ^= 0xFF
    with pytest.raises(DamagedLog, match="zstd does not unpack"):
        rows_of(piece_of(bytes(packed)))


def test_an_offset_outside_its_batch() -> None:
    batch = bytearray(build_batch(RECORDS, base_offset=5))
    batch[23:27] = (1).to_bytes(4, "big")  # last offset delta
    with pytest.raises(DamagedLog, match="offset is outside"):
        rows_of(piece_of(bytes(batch)))


def test_times_beyond_those_of_a_column_are_numbers_in_a_header() -> None:
    times = [253_402_300_799_999, 253_402_300_800_000, 1_700_000_000_000_000_000, (1 << 63) - 1]
    records = [Record(n, at, None, b"v", (("h", None),) * (n % 2)) for n, at in enumerate(times)]
    rows = rows_of(piece_of(bytes(build_batch(records))))
    assert rows[0]["timestamp"] == datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
    assert rows[0]["headers"] is None
    assert [row["timestamp"] for row in rows[1:]] == [None] * 3
    kept = [{"key": "ottla.timestamp.ms", "value": str(at).encode()} for at in times]
    own = {"key": "h", "value": None}
    assert [row["headers"] for row in rows[1:]] == [[own, kept[1]], [kept[2]], [own, kept[3]]]
