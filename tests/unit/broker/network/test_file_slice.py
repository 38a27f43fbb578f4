"""What is known of the page cache, and how a slice is read; sending is `test_file_send`'s."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from broker.network.file_slice import (
    PROBE_BYTES,
    SMALL_SLICE_BYTES,
    Cursor,
    SliceEnded,
    is_cached,
    touch,
)
from ground import platform_calls
from ground.filesystem import LocalFilesystem
from storage.log.file_records import FileRecords
from tests.unit.broker.network.sending import NO_WAIT, look_and_find_all, look_by

SIZE = 3 * PROBE_BYTES


@pytest.fixture
def records(tmp_path: Path) -> FileRecords:
    path = tmp_path / "log"
    path.write_bytes(bytes(range(256)) * (SIZE // 256))
    return FileRecords(LocalFilesystem().open(str(path)), 0, SIZE)


class Probes(list[int]):
    """The offsets that were looked at; those from `cold_from` on are not in the page cache."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cold_from = SIZE
        real = platform_calls.read_into

        def preadv(fd: int, buffers: list[Any], offset: int, flags: int = 0) -> int:
            if flags & NO_WAIT:
                self.append(offset)
                if offset >= self.cold_from:
                    raise BlockingIOError(errno.EAGAIN, "cold")
            return real(fd, buffers, offset, 0)

        look_by(monkeypatch, preadv)


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> Probes:
    return Probes(monkeypatch)


def test_the_first_and_the_last_byte_are_looked_at(records: FileRecords, probes: Probes):
    assert is_cached(records.fileno(), 10, 5000)
    assert probes == [10, 5009]


@pytest.mark.parametrize("cold_from", [10, 5009])
def test_one_that_is_cold_is_enough(records: FileRecords, probes: Probes, cold_from: int):
    probes.cold_from = cold_from
    assert not is_cached(records.fileno(), 10, 5000)


def test_a_cursor_asks_once_for_what_is_sent_at_once(records: FileRecords, probes: Probes):
    cursor = Cursor(records, 0, SIZE)
    assert cursor.is_warm() and cursor.is_warm()
    assert probes == [0, PROBE_BYTES - 1]
    cursor.position, cursor.remaining = PROBE_BYTES, SIZE - PROBE_BYTES
    assert cursor.is_warm()
    assert probes[2:] == [PROBE_BYTES, 2 * PROBE_BYTES - 1]


def test_a_whole_slice_is_read_or_nothing(records: FileRecords, probes: Probes):
    assert bytes(Cursor(records, 254, 4).read_whole() or b"") == b"\xfe\xff\x00\x01"
    probes.cold_from = 0
    cold = Cursor(records, 254, 4)
    assert cold.read_whole() is None
    cold.warm_until = 258  # a job has brought it in: who waited for that does not ask again
    assert bytes(cold.read_whole() or b"") == b"\xfe\xff\x00\x01"


@pytest.mark.parametrize("position", [SIZE, SIZE - 2])
def test_a_file_that_ends_in_the_slice(
    records: FileRecords, monkeypatch: pytest.MonkeyPatch, position: int
):
    look_and_find_all(monkeypatch)
    touch(records.fileno(), position, SIZE + 100)  # ends where the file does
    cursor = Cursor(records, position, 100)
    with pytest.raises(SliceEnded):
        cursor.is_warm()
    cursor.warm_until = position + 100
    with pytest.raises(SliceEnded):
        cursor.read_whole()


def test_where_the_page_cache_cannot_be_asked_small_slices_alone_are_read_at_once(
    records: FileRecords, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(platform_calls, "NO_WAIT", 0)
    assert not is_cached(records.fileno(), 0, 1)
    assert bytes(Cursor(records, 254, 4).read_whole() or b"") == b"\xfe\xff\x00\x01"
    assert Cursor(records, 0, SMALL_SLICE_BYTES).read_whole() is not None
    large = Cursor(records, 0, SMALL_SLICE_BYTES + 1)
    assert large.read_whole() is None and not large.is_warm()
    large.warmed(SMALL_SLICE_BYTES + 1)
    assert len(large.read_whole() or b"") == SMALL_SLICE_BYTES + 1 and large.is_warm()
    with pytest.raises(SliceEnded):
        Cursor(records, SIZE - 2, 4).read_whole()
