"""The disk of the simulator does what a bad day does to a real one, and nothing worse."""

from __future__ import annotations

import errno
import random
from contextlib import suppress

import pytest

from ground.memory_filesystem import Died, MemoryFile, MemoryFilesystem


def synced_file(filesystem: MemoryFilesystem, data: bytes = b"safe") -> MemoryFile:
    filesystem.make_dirs("/d")
    file = filesystem.open("/d/f", create=True)
    file.append(data)
    file.sync()
    filesystem.sync_dir("/")
    filesystem.sync_dir("/d")
    return file


def test_process_death_keeps_what_was_written() -> None:
    filesystem = MemoryFilesystem()
    file = synced_file(filesystem)
    file.append(b"+more")
    lock = filesystem.lock("/d/.lock")
    assert lock is not None and filesystem.lock("/d/.lock") is None
    filesystem.kill()
    assert filesystem.read("/d/f") == b"safe+more"
    assert filesystem.lock("/d/.lock") is not None
    with pytest.raises(OSError, match="dead"):
        file.append(b"x")


def test_lost_power_keeps_what_was_synced_and_tears_the_rest() -> None:
    seen: set[bytes] = set()
    for seed in range(200):
        filesystem = MemoryFilesystem()
        file = synced_file(filesystem)
        file.append(b"+one")
        file.append(b"+two")
        filesystem.lose_power(random.Random(seed))
        data = filesystem.read("/d/f")
        assert data.startswith(b"safe")
        seen.add(data)
    assert {b"safe", b"safe+one", b"safe+one+two"} <= seen
    assert any(b"\0" in data for data in seen), "holes happen"
    assert any(data.startswith(b"safe+one+") and len(data) == 10 for data in seen), "torn writes"


def test_lost_power_forgets_names_in_order() -> None:
    seen: set[tuple[str, ...]] = set()
    for seed in range(100):
        filesystem = MemoryFilesystem()
        synced_file(filesystem)
        filesystem.open("/d/g", create=True)
        filesystem.rename("/d/g", "/d/h")
        filesystem.remove("/d/f")
        filesystem.lose_power(random.Random(seed))
        seen.add(tuple(filesystem.list_dir("/d")))
    assert seen == {("f",), ("f", "g"), ("f", "h"), ("h",)}


def test_an_atomic_replacement_is_the_old_or_the_new_content() -> None:
    seen: set[bytes] = set()
    for step in range(12):
        for seed in range(20):
            filesystem = MemoryFilesystem()
            synced_file(filesystem, b"old")
            filesystem.die_at = filesystem.changes + step
            done = False
            with suppress(Died):
                filesystem.replace_atomically("/d/f", b"new")
                done = True
            filesystem.lose_power(random.Random(seed))
            data = filesystem.read("/d/f")
            assert data == b"new" or not done
            seen.add(data)
    assert seen == {b"old", b"new"}


def test_an_unsynced_replacement_may_tear() -> None:
    seen: set[bytes] = set()
    for seed in range(100):
        filesystem = MemoryFilesystem()
        synced_file(filesystem, b"old")
        filesystem.replace_atomically("/d/f", b"new!", sync=False)
        filesystem.lose_power(random.Random(seed))
        seen.add(filesystem.read("/d/f"))
    assert {b"old", b"new!"} <= seen
    assert any(data not in (b"old", b"new!") for data in seen)


def test_faults_hit_the_call_they_are_for() -> None:
    filesystem = MemoryFilesystem()
    file = synced_file(filesystem)
    filesystem.inject("append", errno.ENOSPC, path_part="/d/", skip=1)
    file.append(b"1")
    with pytest.raises(OSError, match="No space"):
        file.append(b"2")
    file.append(b"3")
    assert filesystem.read("/d/f") == b"safe13"


def test_a_full_disk_refuses_whole_writes() -> None:
    filesystem = MemoryFilesystem()
    file = synced_file(filesystem)
    filesystem.capacity_bytes = 6
    with pytest.raises(OSError, match="No space"):
        file.append(b"123")
    file.append(b"12")
    assert (filesystem.usage("/d").usable_bytes, filesystem.read("/d/f")) == (0, b"safe12")


def test_a_clone_shares_nothing() -> None:
    filesystem = MemoryFilesystem()
    synced_file(filesystem).append(b"+one")
    twin = filesystem.clone()
    twin.open("/d/f").append(b"+two")
    twin.remove("/d/f")
    assert filesystem.read("/d/f") == b"safe+one"
    filesystem.lose_power(random.Random(0))
    assert not twin.exists("/d/f")


def test_errors_of_a_real_file_system() -> None:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/d")
    for call in (
        lambda: filesystem.open("/d/missing"),
        lambda: filesystem.read("/d/missing"),
        lambda: filesystem.rename("/d/missing", "/d/x"),
        lambda: filesystem.list_dir("/missing"),
        lambda: filesystem.open("/missing/f", create=True),
    ):
        with pytest.raises(FileNotFoundError):
            call()
    with pytest.raises(IsADirectoryError):
        filesystem.open("/d")
    with pytest.raises(OSError, match="descriptor"):
        filesystem.open("/d/f", create=True).fileno()


def test_what_is_missing_is_removed_already() -> None:
    """As on a real one: a topic's folder may go before the segments that were set aside in it."""
    filesystem = MemoryFilesystem()
    filesystem.remove("/missing/f")
    filesystem.remove_tree("/missing")
    assert filesystem.list_dir("/") == []
