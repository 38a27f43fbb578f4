"""Walking batches: chunks of any size give the same walk, damage ends it where it begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ground.filesystem import File
from ground.memory_filesystem import MemoryFilesystem
from protocol.record_batch import CorruptBatch
from storage.log.batch_scan import iterate_headers, valid_batches
from tests.unit.storage.harness import batch


def file_of(*parts: bytes | memoryview) -> File:
    file = MemoryFilesystem().open("/log", create=True)
    file.append(b"".join(parts))
    return file


def batches(count: int, size: int = 50) -> list[memoryview]:
    return [batch(b"v" * (size + number), base_offset=number) for number in range(count)]


@given(sizes=st.lists(st.integers(0, 900), min_size=1, max_size=12), chunk=st.integers(61, 2000))
def test_chunks_of_any_size_give_the_same_walk(sizes: list[int], chunk: int) -> None:
    parts = [batch(b"v" * size, base_offset=number) for number, size in enumerate(sizes)]
    file = file_of(*parts)
    positions = [sum(map(len, parts[:number])) for number in range(len(parts))]
    expected = list(zip(positions, range(len(parts)), strict=True))
    by_header = iterate_headers(file, 0, file.size, chunk)
    assert [(at, header.base_offset) for at, header in by_header] == expected
    by_batch = valid_batches(file, 0, chunk)
    assert [(at, header.base_offset) for at, header in by_batch] == expected


def test_a_walk_ends_at_the_end_it_was_given() -> None:
    parts = batches(4)
    file = file_of(*parts)
    walk = list(iterate_headers(file, len(parts[0]), len(parts[0]) + 1))
    assert [header.base_offset for _, header in walk] == [1]


@pytest.mark.parametrize("tail", [b"\0" * 10, b"\0" * 100, b"\xff" * 61])
def test_a_walk_over_damage_raises_after_what_was_good(tail: bytes) -> None:
    file = file_of(*batches(2), tail)
    walk = iterate_headers(file, 0, file.size)
    assert [next(walk)[1].base_offset, next(walk)[1].base_offset] == [0, 1]
    with pytest.raises(CorruptBatch):
        next(walk)


@pytest.mark.parametrize("tail", [b"", b"\0" * 10, b"\0" * 100, b"\xff" * 61])
def test_valid_batches_end_quietly_at_damage(tail: bytes) -> None:
    file = file_of(*batches(2), tail)
    assert [header.base_offset for _, header in valid_batches(file, 0)] == [0, 1]


@pytest.mark.parametrize("chunk", [61, 1000, 100_000])
def test_a_wrong_checksum_ends_the_valid_prefix(chunk: int) -> None:
    parts = batches(3)
    parts[1][80] ^= 1
    file = file_of(*parts)
    assert [header.base_offset for _, header in valid_batches(file, 0, chunk)] == [0]


def test_an_empty_file_has_no_batches() -> None:
    file = file_of(b"")
    assert list(valid_batches(file, 0)) == list(iterate_headers(file, 0, 0)) == []
