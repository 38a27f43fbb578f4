"""The walk that takes nothing out sees, and refuses, what `iterate_records` does."""

from __future__ import annotations

import random

import pytest

from protocol.record_batch import HEADER_SIZE, CorruptBatch, TimestampType, read_header
from protocol.record_scan import HEADERS_PER_STOP, Scanned, scan_records
from protocol.records import Record, build_batch, iterate_records

RECORDS = [
    Record(3, 1_000, b"k", b"v"),
    Record(4, 999, None, None, (("h", b"x"), ("", None))),
    Record(9, 2_000_000, b"", b"v" * 300),
]


def scanned(batch: bytearray) -> list[Scanned]:
    found = scan_records(read_header(batch), memoryview(batch)[HEADER_SIZE:])
    return [one for one in found if one is not None]


def iterated(batch: bytearray) -> list[Scanned]:
    return [(r.offset, r.timestamp, r.key is not None) for r in iterate_records(batch)]


def test_offsets_times_and_keys() -> None:
    assert scanned(build_batch(RECORDS)) == [
        (3, 1_000, True),
        (4, 999, False),
        (9, 2_000_000, True),
    ]


def test_the_time_of_a_batch_with_the_brokers_time() -> None:
    batch = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77)
    assert scanned(batch) == iterated(batch) != []


def test_damage_is_found_where_the_other_finds_it() -> None:
    rng = random.Random(5)
    whole = build_batch(RECORDS)
    verdicts = {True: 0, False: 0}
    for _ in range(4_000):
        batch = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2))):
            batch[rng.randrange(HEADER_SIZE - 4, len(batch))] = rng.randrange(256)
        try:
            expected: list[Scanned] | str = iterated(batch)
        except CorruptBatch as damage:
            expected = str(damage)
        try:
            found: list[Scanned] | str = scanned(batch)
        except CorruptBatch as damage:
            found = str(damage)
        assert found == expected
        verdicts[isinstance(found, str)] += 1
    assert min(verdicts.values()) > 100


def test_it_stops_between_the_headers_of_one_record() -> None:
    headers = tuple(("h", b"") for _ in range(3 * HEADERS_PER_STOP + 1))
    batch = build_batch([Record(-1, 0, b"k", b"v", headers)])
    found = list(scan_records(read_header(batch), memoryview(batch)[HEADER_SIZE:]))
    assert found == [None, None, None, (0, 0, True)]


def test_no_value_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    batch = build_batch([Record(-1, 0, b"k", bytes(5_000_000))])
    tracemalloc.start()
    try:
        assert scanned(batch) == [(0, 0, True)]
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
