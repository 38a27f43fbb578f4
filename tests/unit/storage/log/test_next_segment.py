"""The next segment's file, with its blocks: when it is made, who takes it, what is given back."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ground import platform_calls
from ground.filesystem import LocalFilesystem
from ground.memory_filesystem import MemoryFile, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from storage.log import next_segment
from storage.log.next_segment import NEXT_SEGMENT
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch, environment, open_log, read_all

CONFIG = LogConfig(segment_bytes=2_000, index_interval_bytes=0, file_delete_delay_ms=0)
VALUE = b"v" * 400  # four batches a segment, the third goes beyond its half
MIB = 1 << 20


class Node:
    """A log in memory."""

    def __init__(self, config: LogConfig = CONFIG) -> None:
        self.disk, self.jobs = MemoryFilesystem(), Jobs()
        self.ports = environment(self.disk, jobs=self.jobs)
        self.log = self.open(config)

    def open(self, config: LogConfig = CONFIG, *, clean: bool = True) -> UnifiedLog:
        return open_log(ports=self.ports, config=config, clean=clean)

    def wait(self, milliseconds: int) -> None:
        assert isinstance(self.ports.scheduler, SimScheduler)
        self.ports.scheduler.run_for(milliseconds)

    def append(self, batches: int) -> None:
        for _ in range(batches):
            now_ms = self.ports.scheduler.wall_ms()
            assert not self.log.append_as_leader(batch(VALUE), 0, now_ms).error

    @property
    def made(self) -> int:
        """How many were."""
        return sum(call == "make_with_room" for call, _ in self.disk.calls)

    @property
    def is_there(self) -> bool:
        return self.disk.exists(f"{self.log.directory}/{NEXT_SEGMENT}")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(next_segment, "SEGMENT_BYTES_MIN", 0)
    return Node()


def test_it_is_made_at_half_and_the_roll_takes_it(node: Node) -> None:
    node.append(2)
    assert (node.made, node.is_there) == (0, False)
    node.append(1)
    assert (node.made, node.is_there) == (1, True)
    node.append(2)
    assert node.log.segments.base_offsets == [0, 4]
    assert (node.made, node.is_there) == (1, False)
    opened = [path for call, path in node.disk.calls if call == "open" and path.endswith(".log")]
    assert opened == [f"{node.log.directory}/{0:020d}.log"], "the second was not made by the roll"
    node.append(5)
    assert node.made == 2
    assert read_all(node.log).count(VALUE) == 10


def test_followers_make_theirs_too(node: Node) -> None:
    for offset in range(3):
        sent = bytes(batch(VALUE, base_offset=offset, leader_epoch=0))
        assert not node.log.append_as_follower(memoryview(bytearray(sent)), 0).error
    assert node.is_there


def test_a_small_segment_is_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_segment, "SEGMENT_BYTES_MIN", 2_001)
    node = Node()
    node.append(9)
    assert node.made == 0


def test_a_log_that_fills_slowly_makes_none(node: Node) -> None:
    node.append(2)
    node.wait(next_segment.HALF_MS_MAX + 1)
    node.append(2)
    assert node.made == 0
    node.append(3)  # the next segment fills quickly
    assert node.made == 1


def test_nothing_is_taken_of_a_disk_that_is_nearly_full(node: Node) -> None:
    node.disk.capacity_bytes = next_segment.FREE_SEGMENTS_MIN * 2_000
    node.append(9)
    assert node.made == 0


def test_a_roll_does_not_wait_for_it(node: Node) -> None:
    node.jobs.held = True
    node.append(9)
    assert node.log.segments.base_offsets == [0, 4, 8]
    node.jobs.run()
    assert (node.made, node.is_there) == (1, True)
    node.append(4)
    assert node.log.segments.base_offsets == [0, 4, 8, 12]
    assert not node.is_there


def test_a_disk_that_refuses_is_asked_once_a_segment(node: Node) -> None:
    node.disk.inject("make_with_room", errno.EOPNOTSUPP, count=100)
    node.append(9)
    assert node.made == 2
    assert not node.log.offline


def test_a_disk_that_fails_takes_the_directory_offline(node: Node) -> None:
    node.disk.inject("make_with_room", errno.EIO)
    node.append(3)
    assert node.log.offline and node.ports.failures.is_offline("/data")


def test_a_programming_error_is_not_hidden(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryFilesystem, "make_with_room", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        node.append(3)


def test_the_topic_is_deleted_meanwhile(node: Node) -> None:
    node.jobs.held = True
    node.append(3)
    node.log.rename("/data/topic-0.x-delete")
    node.jobs.run()
    assert not node.log.offline
    assert not node.disk.exists("/data/topic-0")


def test_a_clean_stop_gives_it_back(node: Node) -> None:
    node.append(3)
    node.log.close()
    assert not node.is_there


def test_a_start_after_a_crash_drops_it(node: Node) -> None:
    node.append(3)
    node.disk.kill()
    node.log = node.open(clean=False)
    assert not node.is_there
    node.append(2)
    assert read_all(node.log).count(VALUE) == 5


def test_an_idle_log_gives_it_back(node: Node) -> None:
    node.append(3)
    node.log.give_back_unused_room()
    assert node.is_there, "it has grown since the last look"
    node.log.give_back_unused_room()
    assert not node.is_there
    node.append(9)
    assert node.log.segments.base_offsets == [0, 4, 8]


def test_a_segment_with_room_gives_it_back_where_no_next_one_was_made(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(MemoryFile, "give_back_room", lambda file: given.append(file.path))
    node.append(5)  # the second segment has the room of the one that was made
    node.disk.capacity_bytes = 10_000
    node.append(2)
    assert (node.made, node.is_there) == (1, False)
    given.clear()
    node.log.roll()
    assert given == [f"{node.log.directory}/{4:020d}.log"]


def test_the_disk_fails_as_it_is_given_back(node: Node) -> None:
    node.append(3)
    node.log.give_back_unused_room()
    node.disk.inject("remove", errno.EIO)
    with pytest.raises(Exception, match="giving back room"):
        node.log.give_back_unused_room()
    assert node.log.offline


# ---- on a real disk ------------------------------------------------------------------------------


def allocated(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """An empty file with blocks for 16 MiB."""
    path = tmp_path / "room"
    try:
        LocalFilesystem().make_with_room(str(path), 16 * MIB)
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} cannot: {error}")
    return path


def test_blocks_are_there_and_the_size_is_not(room: Path) -> None:
    assert room.stat().st_size == 0
    assert allocated(room) >= 16 * MIB


def test_what_is_unused_is_given_back(room: Path) -> None:
    file = LocalFilesystem().open(str(room))
    file.append(b"x" * MIB)
    file.give_back_room()
    assert room.read_bytes() == b"x" * MIB
    assert allocated(room) < 2 * MIB
    file.append(b"y")
    assert file.size == MIB + 1 == room.stat().st_size


def test_what_one_append_leaves_stays(room: Path) -> None:
    file = LocalFilesystem().open(str(room))
    file.append(b"x" * 13 * MIB)
    file.give_back_room()
    assert allocated(room) >= 16 * MIB


def test_a_segment_that_ends_early_gives_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: Path
) -> None:
    monkeypatch.setattr(next_segment, "SEGMENT_BYTES_MIN", 0)
    monkeypatch.setattr(next_segment, "FREE_SEGMENTS_MIN", 1)
    folder = f"{tmp_path}/topic-0"
    ports = environment(LocalFilesystem())
    config = LogConfig(segment_bytes=8 * MIB, index_interval_bytes=0)
    log = open_log(ports=ports, directory=folder, config=config)
    for _ in range(9):
        assert not log.append_as_leader(batch(b"x" * (MIB - 1_000)), 0, NOW_MS).error
    second = Path(f"{folder}/{8:020d}.log")
    assert log.segments.base_offsets == [0, 8]
    assert allocated(second) >= 8 * MIB, "it was made ahead"
    log.roll()
    assert allocated(second) < 2 * MIB


def test_a_start_after_a_crash_gives_back(tmp_path: Path, room: Path) -> None:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    segment = folder / f"{0:020d}.log"
    os.rename(room, segment)
    log = open_log(ports=environment(LocalFilesystem()), directory=str(folder), clean=False)
    assert log.log_end_offset == 0
    assert allocated(segment) == 0


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_calls, "fallocate", lambda: lambda *_: errno.ENOSPC)
    with pytest.raises(OSError, match=f"No space left.*{tmp_path}/room"):
        LocalFilesystem().make_with_room(f"{tmp_path}/room", 16 * MIB)
    assert os.listdir(tmp_path) == []


def test_a_system_without_the_call_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_calls, "fallocate", lambda: None)
    with pytest.raises(OSError, match="not implemented"):
        LocalFilesystem().make_with_room(f"{tmp_path}/room", 16 * MIB)
    assert os.listdir(tmp_path) == []
