from __future__ import annotations

import numpy as np
import pytest

from log_format.batch_headers import HEADER_BYTES
from log_format.records.record_columns import BadRecords, find_headers, find_records, varints
from protocol.records import Record, write_varint
from tests.batches import build_batch

NUMBERS = (0, 1, -1, 63, -64, 64, 8191, -8192, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))


def array(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def body(*records: Record) -> bytes:
    return bytes(build_batch(records))[HEADER_BYTES:]


def test_varints_of_every_length() -> None:
    out = bytearray()
    starts = []
    for number in NUMBERS:
        starts.append(len(out))
        write_varint(out, number)
    values, after = varints(np.frombuffer(bytes(out), dtype=np.uint8), array(*starts))
    assert values.tolist() == list(NUMBERS)
    assert after.tolist() == [*starts[1:], len(out)]


@pytest.mark.parametrize("batches", [1, 90])
def test_one_after_the_other_and_abreast_find_the_same(batches: int) -> None:
    """Ninety batches go step by step together, one goes by itself."""
    many = [
        body(*(Record(at, at, b"k" * at, b"v" * (at * number)) for at in range(1 + number % 7)))
        for number in range(batches)
    ]
    counts = [1 + number % 7 for number in range(batches)]
    ends = np.cumsum([len(one) for one in many])
    found = find_records(
        b"".join(many), np.concatenate(([0], ends[:-1])), ends, np.array(counts, dtype=np.int64)
    )
    assert found.batch.tolist() == [n for n, count in enumerate(counts) for _ in range(count)]
    wanted = [at for count in counts for at in range(count)]
    assert found.offset_delta.tolist() == found.key_length.tolist() == wanted
    assert found.value_length.tolist() == [
        at * number for number, count in enumerate(counts) for at in range(count)
    ]


def test_headers_come_by_record_and_place() -> None:
    data = body(
        Record(0, 0, None, None, (("a", b"1"), ("b", None))),
        Record(1, 0, None, None),
        Record(2, 0, None, None, (("", b""), ("c", b"22"), ("d", b"3"))),
    )
    found = find_records(data, array(0), array(len(data)), array(3))
    headers = find_headers(data, found)
    keys = [
        data[start : start + length]
        for start, length in zip(headers.key_start, headers.key_length, strict=True)
    ]
    assert headers.record.tolist() == [0, 0, 2, 2, 2]
    assert keys == [b"a", b"b", b"", b"c", b"d"]
    assert headers.value_length.tolist() == [1, -1, 0, 2, 1]


def test_damage_names_its_batch() -> None:
    good = body(Record(0, 0, b"key", b"value", (("h", b"1"),)), Record(1, 0, None, None))
    for at in range(len(good) - 1):
        for byte in (good[at] ^ 0xFF, good[at] + 2 & 0xFF):
            bad = good[:at] + bytes((byte,)) + good[at + 1 :]
            ends = array(len(good), 2 * len(good))
            try:
                found = find_records(good + bad, array(0, len(good)), ends, array(2, 2))
                find_headers(good + bad, found)
            except BadRecords as error:
                assert error.batch == 1
    for starts, ends, counts in (
        (array(0), array(len(good)), array(1)),
        (array(0), array(len(good)), array(3)),
        (array(0), array(len(good)), array(-1)),
        (array(0), array(len(good)), array(2**31 - 1)),
        (array(0), array(len(good) - 1), array(2)),
        (array(0), array(len(good) + 1), array(2)),
    ):
        with pytest.raises(BadRecords):
            find_records(good + b"\0", starts, ends, counts)


def test_damage_is_seen_abreast_too() -> None:
    good = body(Record(0, 0, b"key", b"value"))
    data = good * 90
    ends = np.arange(1, 91, dtype=np.int64) * len(good)
    bad = bytearray(data)
    bad[20 * len(good)] += 2
    with pytest.raises(BadRecords) as raised:
        find_records(bytes(bad), ends - len(good), ends, np.ones(90, dtype=np.int64))
    assert raised.value.batch == 20


def test_nothing_at_all() -> None:
    empty = array()
    assert find_records(b"", empty, empty, empty).batch.tolist() == []
