"""The walk that takes nothing out of a batch tells what lies where, and refuses damage."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from protocol.compression import Codec
from protocol.record_batch import (
    HEADER_SIZE,
    CorruptBatch,
    RecordTooLarge,
    TimestampType,
    read_header,
)
from protocol.record_scan import HEADERS_PER_STOP, RECORDS_PER_STOP, scan_records
from protocol.records import Record
from tests.batches import build_batch

RECORDS = [
    Record(3, 1_000, b"k", b"v"),
    Record(4, 999, None, None, (("h", b"x"), ("", None))),
    Record(9, 2_000_000, b"", b"v" * 300),
]


def scanned(batch: bytearray) -> list[tuple[int, int, bool]]:
    found = scan_records(read_header(batch), memoryview(batch)[HEADER_SIZE:])
    return [(one[0], one[1], one[2] >= 0) for one in found if one is not None]


def test_offsets_times_and_keys() -> None:
    assert scanned(build_batch(RECORDS)) == [
        (3, 1_000, True),
        (4, 999, False),
        (9, 2_000_000, True),
    ]


def test_the_time_of_a_batch_with_the_brokers_time() -> None:
    batch = build_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77)
    assert scanned(batch) == [(3, 77, True), (4, 77, False), (9, 77, True)]


def test_the_first_record_above_the_limit_ends_the_scan_of_a_compressed_batch() -> None:
    batch = build_batch(RECORDS)
    body = memoryview(batch)[HEADER_SIZE:]
    header = read_header(batch)
    sizes = [body[0] >> 1, body[(body[0] >> 1) + 1] >> 1]
    packed = header._replace(attributes=Codec.ZSTD)
    for limit, count in ((sizes[0] - 1, 0), (sizes[0], 1), (max(sizes), 2)):
        found = scan_records(packed, body, limit)
        assert [one[0] for one in islice(found, count) if one] == [3, 4][:count]
        with pytest.raises(RecordTooLarge, match=f"maximum record size of {limit}[.]"):
            next(found)
        assert len(list(scan_records(header, body, limit))) == 3


def test_damage_is_refused_or_harmless() -> None:
    """Nothing but CorruptBatch comes of it, and no offset out of order."""
    rng = random.Random(5)
    whole = build_batch(RECORDS)
    verdicts = {True: 0, False: 0}
    for _ in range(4_000):
        batch = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2))):
            batch[rng.randrange(HEADER_SIZE - 4, len(batch))] = rng.randrange(256)
        try:
            offsets = [offset for offset, _, _ in scanned(batch)]
        except CorruptBatch:
            verdicts[True] += 1
            continue
        assert len(offsets) == 3 and offsets == sorted(set(offsets)) and offsets[-1] <= 9
        verdicts[False] += 1
    assert min(verdicts.values()) > 100


def test_it_stops_between_records() -> None:
    batch = build_batch([Record(-1, 0, b"k", b"v")] * (2 * RECORDS_PER_STOP + 1))
    found = list(scan_records(read_header(batch), memoryview(batch)[HEADER_SIZE:]))
    assert [at for at, one in enumerate(found) if one is None] == [1000, 2001]


def test_it_stops_between_the_headers_of_one_record() -> None:
    headers = tuple(("h", b"") for _ in range(3 * HEADERS_PER_STOP + 1))
    batch = build_batch([Record(-1, 0, b"k", b"v", headers)])
    found = list(scan_records(read_header(batch), memoryview(batch)[HEADER_SIZE:]))
    assert found[:-1] == [None, None, None] and found[-1][:3] == (0, 0, 1)


def test_no_value_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    batch = build_batch([Record(-1, 0, b"k", bytes(5_000_000))])
    tracemalloc.start()
    try:
        assert scanned(batch) == [(0, 0, True)]
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
