"""A disk that is full as soon as a test says so."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from ground.filesystem import LocalFilesystem
from testbed.faults.full_disk import FillableFile, FillableFilesystem, Room


class Disk:
    def __init__(self, folder: Path) -> None:
        self.room = Room()
        self.filesystem = FillableFilesystem(LocalFilesystem(), self.room)
        self.path = str(folder / "full")
        self.other = str(folder / "other")
        self.filesystem.make_dirs(self.path)
        self.filesystem.make_dirs(self.other)
        self.file: FillableFile = self.filesystem.open(f"{self.path}/f", create=True)
        self.file.append(b"0123")
        self.room.fill(self.path)


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


@pytest.mark.parametrize(
    "write",
    [
        lambda disk: disk.file.append(b"x"),
        lambda disk: disk.file.append_parts([b"x", b"y"]),
        lambda disk: disk.file.write_at(b"xy", 3),
        lambda disk: disk.filesystem.replace_atomically(f"{disk.path}/g", b"x"),
        lambda disk: disk.filesystem.make_dirs(f"{disk.path}/topic-0"),
    ],
)
def test_what_takes_room_fails_and_nothing_of_it_is_kept(
    disk: Disk, write: Callable[[Disk], None]
) -> None:
    fails_for_want_of_room(disk, write)


def test_blocks_are_allocated_once_there_is_room(disk: Disk) -> None:
    path = f"{disk.path}/g"
    fails_for_want_of_room(disk, lambda disk: disk.filesystem.make_with_room(path, 10))


def fails_for_want_of_room(disk: Disk, write: Callable[[Disk], None]) -> None:
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(disk)
    assert caught.value.errno == errno.ENOSPC
    assert disk.filesystem.read(f"{disk.path}/f") == b"0123"
    assert disk.filesystem.list_dir(disk.path) == ["f"]
    disk.room.free()
    write(disk)


def test_what_takes_none_goes_on(disk: Disk) -> None:
    filesystem, file = disk.filesystem, disk.file
    file.write_at(b"ab", 1)
    assert (file.pread(4, 0), file.size, file.path) == (b"0ab3", 4, f"{disk.path}/f")
    file.truncate(2)
    file.sync()
    file.write_back(0, 2)
    file.give_back_room()
    assert file.fileno() > 0
    file.close()
    filesystem.make_dirs(disk.path)
    filesystem.rename(f"{disk.path}/f", f"{disk.path}/g")
    filesystem.sync_dir(disk.path)
    assert filesystem.exists(f"{disk.path}/g") and filesystem.size(f"{disk.path}/g") == 2
    assert filesystem.modified_ms(f"{disk.path}/g") > 0
    filesystem.remove(f"{disk.path}/g")
    assert filesystem.list_dir(disk.path) == []
    filesystem.remove_tree(disk.path)
    assert not filesystem.is_dir(disk.path)


def test_another_directory_has_room(disk: Disk) -> None:
    with_room = disk.filesystem.open(f"{disk.other}/f", create=True)
    with_room.append(b"x")
    with_room.close()
    assert disk.filesystem.usage(disk.other).usable_bytes > 0
    assert disk.filesystem.usage(disk.path).usable_bytes == 0
    assert disk.filesystem.real_path(disk.other) == disk.other
    lock = disk.filesystem.lock(f"{disk.other}/.lock")
    assert lock is not None
    lock.release()
