"""Blocks ahead of large appends: when, how many, and that they go back; the size never tells."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storage import preallocation
from storage.filesystem import LocalFile, LocalFilesystem
from storage.log_config import LogConfig
from storage.preallocation import LARGE_APPEND, allocate_ahead, give_back
from storage.unified_log import UnifiedLog
from tests.unit.storage.harness import NOW_MS, Jobs, batch, environment, open_log

MIB = 1024 * 1024
SLACK = 64 * 1024  # the last block's rest, and what the file system keeps for itself
LOG = "00000000000000000000.log"
of_the_system = preallocation._fallocate


def real(fd: int, mode: int, offset: int, length: int) -> int:
    """The C library's own."""
    function = of_the_system()
    return -1 if function is None else function(fd, mode, offset, length)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    with open(tmp_path / "probe", "wb") as probe:
        probe.truncate(MIB)
        allocated = allocate_ahead(probe.fileno(), MIB)
        if allocated is None or os.fstat(probe.fileno()).st_blocks * 512 < MIB:
            pytest.skip("the file system of temporary files allocates nothing ahead")
    return str(tmp_path)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(offset, bytes) of each call."""
    made: list[tuple[int, int]] = []

    def fallocate(fd: int, mode: int, offset: int, length: int) -> int:
        made.append((offset, length))
        return real(fd, mode, offset, length)

    monkeypatch.setattr(preallocation, "_fallocate", lambda: fallocate)
    return made


def opened(folder: str, size: int = 0) -> LocalFile:
    """A new file, which has `size` bytes already."""
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    for _ in range(size // 32768):
        file.append(bytes(32768))
    file.append(bytes(size % 32768))
    return file


def hidden(path: str) -> int:
    """Bytes on the disk beyond the end."""
    stat = os.stat(path)
    return stat.st_blocks * 512 - stat.st_size


def test_blocks_are_ahead_of_large_appends_and_the_size_is_not_changed(folder: str) -> None:
    file = opened(folder, 3 * MIB)
    file.append(b"a" * 830_000)
    size = 3 * MIB + 830_000
    assert (file.size, os.stat(file.path).st_size) == (size, size)
    assert hidden(file.path) >= 3 * MIB - 830_000
    file.append(b"b" * 830_000)
    assert file.pread(4, size - 2) == b"aabb"
    assert file.pread(99, file.size) == b""


def test_no_more_than_the_file_has_nor_than_16_mib(
    folder: str, calls: list[tuple[int, int]]
) -> None:
    file, part = opened(folder), b"x" * 830_000
    while file.size < 50 * MIB:
        file.append(part)
        assert hidden(file.path) <= min(file.size, 16 * MIB) + SLACK
    assert calls[0] == (2 * len(part), 2 * len(part)), "first when it has a MiB"
    assert calls[-1][1] == 16 * MIB
    assert len(calls) <= 8, "one in 16 MiB, but for the first"


def test_small_appends_never_allocate(folder: str, calls: list[tuple[int, int]]) -> None:
    file = opened(folder, 2 * MIB)
    for _ in range(10):
        file.append(b"x" * (LARGE_APPEND - 1))
        file.append(b"x" * 1000, b"y" * 1000)
    assert calls == []
    file.append(b"x" * 1000, b"y" * LARGE_APPEND)
    assert len(calls) == 1


def test_appends_in_parts_find_blocks_ahead_too(folder: str) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * LARGE_APPEND, b"y")
    assert hidden(file.path) > MIB


def test_the_rest_goes_back_at_the_end(folder: str) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * MIB)
    file.close()
    file.close()
    assert hidden(file.path) < SLACK
    assert os.stat(file.path).st_size == 3 * MIB


def test_the_rest_goes_back_when_asked_and_appends_go_on(
    folder: str, calls: list[tuple[int, int]]
) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * 100_000)
    file.trim()
    assert hidden(file.path) < SLACK
    file.append(b"y" * 100_000)
    assert len(calls) == 2 and hidden(file.path) > MIB
    assert file.pread(2, 2 * MIB + 99_999) == b"xy"


def test_a_cut_frees_it_and_the_next_append_allocates_anew(
    folder: str, calls: list[tuple[int, int]]
) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * 100_000)
    file.truncate(MIB)
    assert hidden(file.path) < SLACK
    file.append(b"y" * 100_000)
    assert calls[1:] == [(MIB, MIB)]


def test_a_failed_append_is_cut_back_and_the_next_allocates_anew(
    folder: str, calls: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(folder, 2 * MIB)

    def full_disk(fd: int, data: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "pwrite", full_disk)
        file.append(b"x" * 100_000)
    assert (file.size, os.stat(file.path).st_size) == (2 * MIB, 2 * MIB)
    assert hidden(file.path) < SLACK
    file.append(b"y" * 100_000)
    assert len(calls) == 2


def test_nothing_is_asked_at_the_end_where_nothing_was_allocated(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(folder, 2 * MIB)

    def never(*_: object) -> None:
        raise AssertionError("a call for nothing")

    monkeypatch.setattr("storage.filesystem.give_back", never)
    file.append(b"small")
    file.close()


def failing(fd: int, mode: int, offset: int, length: int) -> int:
    return -1


def half(fd: int, mode: int, offset: int, length: int) -> int:
    """A disk that gets full on the way."""
    assert real(fd, mode, offset, length // 2) == 0
    return -1


@pytest.mark.parametrize("call", [None, failing, half])
def test_where_it_fails_a_file_goes_on_without_and_never_tries_again(
    folder: str, monkeypatch: pytest.MonkeyPatch, call: Callable[..., int] | None
) -> None:
    asked: list[object] = []

    def fallocate() -> Callable[..., int] | None:
        asked.append(call)
        return call

    monkeypatch.setattr(preallocation, "_fallocate", fallocate)
    file = opened(folder, 2 * MIB)
    for number in range(3):
        file.append(bytes([number]) * 100_000)
    file.truncate(2 * MIB + 200_000)
    file.append(b"z" * 100_000)
    assert len(asked) == 1
    assert hidden(file.path) < SLACK
    assert file.pread(2, 2 * MIB + 199_999) == b"\1z"
    file.close()


def test_a_c_library_without_it_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctypes", None)
    assert of_the_system.__wrapped__() is None


def test_a_failure_to_give_back_is_nobodys_error(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * 100_000)

    def broken(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", broken)
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.fileno()


def test_a_file_that_has_nothing_beyond_its_end_is_not_cut(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(folder, 2 * MIB + 1)

    def never(fd: int, size: int) -> None:
        raise AssertionError("a call for nothing")

    monkeypatch.setattr(os, "ftruncate", never)
    file.trim()


def test_to_give_back_leaves_the_time_of_writing(folder: str) -> None:
    file = opened(folder, 2 * MIB)
    file.append(b"x" * 100_000)
    os.utime(file.path, (1000, 1000))
    give_back(file.fileno(), file.size)
    assert hidden(file.path) < SLACK
    assert LocalFilesystem().modified_ms(file.path) == 1_000_000


def test_a_handle_that_nobody_closed_cuts_nothing_off(folder: str) -> None:
    lost = opened(folder, 2 * MIB)
    lost.append(b"x" * 100_000)
    size, path = lost.size, lost.path
    other = LocalFilesystem().open(path)
    other.append(b"of a later life")
    del lost
    gc.collect()
    assert os.stat(path).st_size == size + 15


# ---- logs ----------------------------------------------------------------------------------------


def append_large(log: UnifiedLog) -> None:
    log.append_as_leader(batch(b"v" * 300_000), 0, NOW_MS)


def test_a_rolled_segment_gives_back_once_it_is_synced(folder: str) -> None:
    jobs = Jobs()
    log = open_log(ports=environment(LocalFilesystem(), jobs=jobs), directory=f"{folder}/topic-0")
    path = f"{log.directory}/{LOG}"
    for _ in range(5):
        append_large(log)
    assert hidden(path) > MIB // 2
    jobs.held = True
    log.roll()
    assert hidden(path) > MIB // 2
    size = os.stat(path).st_size
    jobs.run()
    assert hidden(path) < SLACK
    assert os.stat(path).st_size == size


def test_a_segment_that_was_made_active_again_loses_nothing(folder: str) -> None:
    jobs = Jobs()
    log = open_log(ports=environment(LocalFilesystem(), jobs=jobs), directory=f"{folder}/topic-0")
    for _ in range(5):
        append_large(log)
    jobs.held = True
    log.roll()
    append_large(log)
    log.truncate_to(4)
    for _ in range(3):
        append_large(log)
    assert log.segment_base_offsets == [0]
    size = log.size_bytes
    assert size > 7 * 300_000
    jobs.run()
    assert os.stat(f"{log.directory}/{LOG}").st_size == size
    append_large(log)
    assert log.log_end_offset == 8
    log.close()
    assert hidden(f"{log.directory}/{LOG}") < SLACK


def test_recovery_gives_back_what_a_process_that_died_held(folder: str) -> None:
    filesystem, directory = LocalFilesystem(), f"{folder}/topic-0"
    log = open_log(filesystem, LogConfig(), directory=directory)
    for _ in range(5):
        append_large(log)
    size, path = log.size_bytes, f"{directory}/{LOG}"
    assert hidden(path) > MIB // 2
    again = open_log(filesystem, LogConfig(), directory=directory, clean=False)
    assert again.log_end_offset == 5
    assert again.recovery.bytes_cut == 0
    assert hidden(path) < SLACK
    assert os.stat(path).st_size == size
