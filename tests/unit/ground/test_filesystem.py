"""The real file system: whole appends, replacement that a crash cannot tear, locks."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ground import platform_calls
from ground.filesystem import LocalFilesystem


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path)


def test_appends_parts_in_order_and_reads_them_back(folder: str) -> None:
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    file.append(b"one")
    file.append_parts([memoryview(b"-two"), bytearray(b"-three")])
    file.append_parts([b"x"] * 2000)
    assert file.size == 13 + 2000
    assert file.pread(13, 0) == b"one-two-three"
    assert file.pread(10, 2010) == b"xxx"
    file.close()
    assert os.stat(f"{folder}/log").st_size == 2013


def test_a_failed_append_keeps_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    file.append(b"kept")
    real = os.pwrite
    calls: list[int] = []

    def full_disk(fd: int, data: Any, offset: int) -> int:
        calls.append(offset)
        if len(calls) == 1:
            return real(fd, memoryview(data)[:3], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full_disk)
    with pytest.raises(OSError, match="No space"):
        file.append(b"torn write")
    monkeypatch.undo()
    assert calls == [4, 7]
    assert file.size == 4
    assert os.stat(f"{folder}/log").st_size == 4


def test_a_short_write_is_completed(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    real_pwrite, real = os.pwrite, platform_calls.write_parts
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real_pwrite(fd, data[:2], at))
    file.append(b"abcdefg")
    monkeypatch.setattr(
        platform_calls, "write_parts", lambda fd, parts, at: real(fd, parts[:1], at)
    )
    file.append_parts([b"hi", b"jkl"])
    assert file.pread(20, 0) == b"abcdefghijkl"


def test_truncate_and_overwrite(folder: str) -> None:
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    file.append(b"0123456789")
    file.truncate(4)
    file.append(b"ab")
    file.write_at(b"XY", 1)
    file.sync()
    assert (file.pread(99, 0), file.size) == (b"0XY3ab", 6)


def test_a_closed_file_has_no_descriptor_and_closes_twice(folder: str) -> None:
    file = LocalFilesystem().open(f"{folder}/log", create=True)
    assert file.fileno() >= 0
    file.close()
    file.close()
    with pytest.raises(OSError, match="closed"):
        file.fileno()


def test_the_descriptor_lives_as_long_as_somebody_refers_to_it(folder: str) -> None:
    filesystem = LocalFilesystem()
    file = filesystem.open(f"{folder}/log", create=True)
    file.append(b"data")
    descriptor = file.fileno()
    filesystem.remove(f"{folder}/log")
    held = file
    del file
    assert held.pread(4, 0) == b"data"
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_a_missing_file_is_not_made_unless_asked(folder: str) -> None:
    with pytest.raises(FileNotFoundError):
        LocalFilesystem().open(f"{folder}/missing")


@pytest.mark.parametrize("sync", [True, False])
def test_replacement_leaves_no_temporary_file(folder: str, sync: bool) -> None:
    filesystem = LocalFilesystem()
    filesystem.replace_atomically(f"{folder}/checkpoint", b"old", sync=sync)
    filesystem.replace_atomically(f"{folder}/checkpoint", b"new", sync=sync)
    assert filesystem.read(f"{folder}/checkpoint") == b"new"
    assert filesystem.list_dir(folder) == ["checkpoint"]


def test_replacement_syncs_the_file_before_the_rename_and_the_folder_after(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_sync, real_replace = platform_calls.sync, os.replace

    def sync(fd: int) -> None:
        steps.append("sync dir" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync file")
        real_sync(fd)

    def replace(source: str, target: str) -> None:
        steps.append("rename")
        real_replace(source, target)

    monkeypatch.setattr(platform_calls, "sync", sync)
    monkeypatch.setattr(os, "replace", replace)
    LocalFilesystem().replace_atomically(f"{folder}/checkpoint", b"x")
    assert steps == ["sync file", "rename", "sync dir"]


def test_folders(folder: str) -> None:
    filesystem = LocalFilesystem()
    filesystem.make_dirs(f"{folder}/a/b")
    filesystem.make_dirs(f"{folder}/a/b")
    filesystem.replace_atomically(f"{folder}/a/b/f", b"12345")
    filesystem.sync_dir(f"{folder}/a")
    assert filesystem.is_dir(f"{folder}/a/b") and not filesystem.is_dir(f"{folder}/a/b/f")
    assert filesystem.size(f"{folder}/a/b/f") == 5
    assert filesystem.modified_ms(f"{folder}/a/b/f") > 1_600_000_000_000
    filesystem.rename(f"{folder}/a/b", f"{folder}/a/c")
    assert filesystem.list_dir(f"{folder}/a") == ["c"]
    filesystem.remove(f"{folder}/a/c/f")
    filesystem.remove(f"{folder}/a/c/f")
    filesystem.remove_tree(f"{folder}/a")
    filesystem.remove_tree(f"{folder}/a")
    assert not filesystem.exists(f"{folder}/a")


def test_a_lock_is_held_once(folder: str) -> None:
    filesystem = LocalFilesystem()
    lock = filesystem.lock(f"{folder}/.lock")
    assert lock is not None
    assert filesystem.lock(f"{folder}/.lock") is None
    assert filesystem.read(f"{folder}/.lock") == b"%d\n" % os.getpid()
    lock.release()
    lock.release()
    assert filesystem.lock(f"{folder}/.lock") is not None


JAVA_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "r+")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
    sys.stdin.read()
except OSError:
    print("in use", flush=True)
"""
"""A process that locks a file as Java's `FileChannel.tryLock` does."""


def test_a_lock_excludes_apache_kafka(folder: str) -> None:
    path = f"{folder}/.lock"
    filesystem = LocalFilesystem()
    lock = filesystem.lock(path)
    assert lock is not None
    command = [sys.executable, "-c", JAVA_LOCK, path]
    assert subprocess.run(command, capture_output=True, timeout=60).stdout == b"in use\n"
    filesystem.read(path)  # a lock of the process, not of the descriptor, would end here
    assert subprocess.run(command, capture_output=True, timeout=60).stdout == b"in use\n"
    lock.release()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as kafka:
        assert kafka.stdout is not None and kafka.stdin is not None
        assert kafka.stdout.readline() == b"locked\n"
        assert filesystem.lock(path) is None
        kafka.stdin.close()
        kafka.wait(60)
    assert filesystem.lock(path) is not None


def test_a_lock_is_free_once_nobody_has_it(folder: str) -> None:
    filesystem = LocalFilesystem()
    lock = filesystem.lock(f"{folder}/.lock")
    assert lock is not None
    del lock
    assert filesystem.lock(f"{folder}/.lock") is not None


def test_room_on_the_volume(folder: str) -> None:
    usage = LocalFilesystem().usage(folder)
    assert 0 <= usage.usable_bytes <= usage.total_bytes


def test_all_names_of_a_folder_have_one_real_path(folder: str) -> None:
    filesystem = LocalFilesystem()
    filesystem.make_dirs(f"{folder}/a")
    Path(f"{folder}/link").symlink_to(f"{folder}/a")
    names = ["a", "a/", "a/.", "link", "link/../a"]
    (real,) = {filesystem.real_path(f"{folder}/{name}") for name in names}
    assert real.endswith("/a")
    assert filesystem.real_path(f"{folder}/missing").endswith("/missing")


def test_spare_descriptors_are_closed_with_it() -> None:
    before = len(os.listdir("/dev/fd"))
    filesystem = LocalFilesystem(spares=16)
    assert len(os.listdir("/dev/fd")) == before + 16
    del filesystem
    assert len(os.listdir("/dev/fd")) == before


def test_spare_descriptors_let_logs_go_on_where_there_is_no_other_left(folder: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    # A limit is one of numbers: what is open above it makes no room below.
    highest = max(int(number) for number in os.listdir("/proc/self/fd"))
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest + 100, before[1]), before[1]))
        filesystem, without = LocalFilesystem(spares=2), LocalFilesystem()
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(OSError, match="Too many open files"):
            without.replace_atomically(f"{folder}/a", b"1")
        for _ in range(5):  # each gives its descriptor back, and it is kept again
            filesystem.replace_atomically(f"{folder}/a", b"1")
            assert filesystem.read(f"{folder}/a") == b"1"
            assert filesystem.list_dir(folder) == ["a"]
            filesystem.sync_dir(folder)
        one = filesystem.open(f"{folder}/a")
        two = filesystem.open(f"{folder}/a")
        with pytest.raises(OSError, match="Too many open files"):
            filesystem.open(f"{folder}/a")
        one.close()
        two.close()
        os.close(taken.pop())
        assert filesystem.open(f"{folder}/a").size == 1
    finally:
        for number in taken:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_lock_syncs_the_volume_or_says_that_it_cannot(folder: str) -> None:
    lock = LocalFilesystem().lock(f"{folder}/.lock")
    assert lock is not None
    assert lock.sync_volume() is (platform_calls.sync_volume() is not None)
    lock.release()
    assert lock.sync_volume() is False


def test_a_lock_tells_of_a_write_that_failed(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = LocalFilesystem().lock(f"{folder}/.lock")
    assert lock is not None
    monkeypatch.setattr(platform_calls, "sync_volume", lambda: lambda _fd: errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        lock.sync_volume()
