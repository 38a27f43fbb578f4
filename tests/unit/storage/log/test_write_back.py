"""What replicated logs append is handed to the disk a few megabytes at a time."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ground import platform_calls
from ground.filesystem import LocalFilesystem
from ground.memory_filesystem import MemoryFile, MemoryFilesystem
from storage.log import write_back
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch, environment, open_log

STEP = 1000
VALUE = b"v" * 400


class Disk:
    """Logs whose write-back is noted: (folder, offset, size)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(write_back, "WRITE_BACK_BYTES", STEP)
        patch.setattr(write_back, "TAIL_BYTES", 1)
        patch.setattr(MemoryFile, "write_back", lambda file, *part: self._take(file.path, *part))
        self.jobs = Jobs()
        self.ports: LogEnvironment = environment(MemoryFilesystem(), jobs=self.jobs)
        self.taken: list[tuple[str, int, int]] = []
        self.error: OSError | None = None

    def _take(self, path: str, offset: int, size: int) -> None:
        if self.error is not None:
            raise self.error
        self.taken.append((path.split("/")[2], offset, size))

    def open(self, name: str = "topic-0", config: LogConfig | None = None) -> UnifiedLog:
        config = config or LogConfig(index_interval_bytes=0)
        log = open_log(ports=self.ports, directory=f"/data/{name}", config=config)
        log.is_replicated = True
        return log

    def append(self, log: UnifiedLog, batches: int = 1) -> int:
        """The size of the segment then."""
        for _ in range(batches):
            assert not log.append_as_leader(batch(VALUE), 0, NOW_MS).error
        return log.active.size


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_it_begins_when_enough_has_come_together(disk: Disk) -> None:
    log = disk.open()
    disk.append(log, 2)
    assert disk.taken == []
    third = disk.append(log)
    assert disk.taken == [("topic-0", 0, third)]
    sixth = disk.append(log, 3)
    assert disk.taken[1:] == [("topic-0", third, sixth - third)]


def test_the_page_that_the_next_append_goes_on_with_stays_behind(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_back, "TAIL_BYTES", 300)
    log = disk.open()
    third = disk.append(log, 3)
    assert STEP < third < 1500 and disk.taken == [("topic-0", 0, 1200)]
    fifth = disk.append(log, 2)
    assert disk.taken[1:] == [("topic-0", 1200, fifth - fifth % 300 - 1200)]


def test_a_log_without_other_replicas_is_left_to_the_kernel(disk: Disk) -> None:
    log = disk.open()
    log.is_replicated = False
    disk.append(log, 9)
    assert disk.taken == []


def test_a_leader_asks_on_its_long_way_too(disk: Disk) -> None:
    config = LogConfig(index_interval_bytes=0, message_timestamp_type="LogAppendTime")
    third = disk.append(disk.open(config=config), 3)
    assert disk.taken == [("topic-0", 0, third)]


@pytest.mark.parametrize("batches", [1, 2])
def test_a_follower_asks(disk: Disk, batches: int) -> None:
    log = disk.open()
    while log.log_end_offset < 6:
        offsets = range(log.log_end_offset, log.log_end_offset + batches)
        sent = b"".join(bytes(batch(VALUE, base_offset=one, leader_epoch=0)) for one in offsets)
        assert not log.append_as_follower(memoryview(bytearray(sent)), 0).error
    one = log.active.size // 6
    first = 3 if batches == 1 else 4
    assert disk.taken[0] == ("topic-0", 0, first * one)


def test_it_is_asked_once_an_index_entry(disk: Disk) -> None:
    log = disk.open(config=LogConfig(index_interval_bytes=4_000))
    ninth = disk.append(log, 9)
    assert disk.taken == []
    end = disk.append(log)
    assert ninth > 4_000 and disk.taken == [("topic-0", 0, end)]


def test_what_comes_while_the_disk_writes_goes_together_afterwards(disk: Disk) -> None:
    log = disk.open()
    disk.jobs.held = True
    third = disk.append(log, 3)
    end = disk.append(log, 9)
    assert len(disk.jobs.waiting) == 1
    disk.jobs.run()
    assert disk.taken == [("topic-0", 0, third), ("topic-0", third, end - third)]


def test_logs_take_turns(disk: Disk) -> None:
    disk.jobs.held = True
    logs = [disk.open(name) for name in ("a-0", "b-0", "c-0")]
    for _ in range(2):
        sizes = [disk.append(log, 3) for log in logs]
        assert len(disk.jobs.waiting) == 1
    disk.jobs.run()
    names = [name for name, _, _ in disk.taken]
    assert names[:3] == ["a-0", "b-0", "c-0"]
    for name, end in zip(("a-0", "b-0", "c-0"), sizes, strict=True):
        assert sum(size for one, _, size in disk.taken if one == name) == end


def test_a_new_segment_begins_anew(disk: Disk) -> None:
    log = disk.open()
    disk.append(log, 4)
    log.roll()
    disk.taken.clear()
    third = disk.append(log, 3)
    assert disk.taken == [("topic-0", 0, third)]


def test_what_was_there_at_the_start_is_left_alone(disk: Disk) -> None:
    there = disk.append(disk.open(), 2)
    log = disk.open()
    disk.append(log, 2)
    assert disk.taken == []
    end = disk.append(log)
    assert disk.taken == [("topic-0", there, end - there)]


def test_what_was_cut_off_while_it_waited_is_not_asked_for(disk: Disk) -> None:
    first, second = disk.open("a-0"), disk.open("b-0")
    disk.jobs.held = True
    disk.append(first, 3)
    disk.append(second, 3)
    second.truncate_to(0)
    disk.jobs.run()
    assert [name for name, _, _ in disk.taken] == ["a-0"]
    disk.jobs.held = False
    end = disk.append(second, 3)
    assert disk.taken[1:] == [("b-0", 0, end)]


def test_a_failure_is_as_final_as_that_of_an_fsync(disk: Disk) -> None:
    log, other = disk.open("a-0"), disk.open("b-0")
    disk.error = OSError(errno.EIO, "Input/output error")
    disk.append(log, 3)
    assert log.offline
    assert disk.ports.failures.is_offline("/data")
    disk.error = None
    disk.append(other, 3)
    assert [name for name, _, _ in disk.taken] == ["b-0"]


def test_the_kernel_takes_it(tmp_path: Path) -> None:
    file = LocalFilesystem().open(f"{tmp_path}/log", create=True)
    file.append(b"x" * 100_000)
    file.write_back(0, 50_000)
    file.write_back(50_000, 50_000)
    file.close()
    file.write_back(0, 50_000)


def test_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LocalFilesystem().open(f"{tmp_path}/log", create=True)
    monkeypatch.setattr(platform_calls, "sync_file_range", lambda: lambda *_: errno.EIO)
    with pytest.raises(OSError, match=f"Input/output error.*{tmp_path}/log"):
        file.write_back(0, 1)


def test_a_system_that_cannot_is_no_failing_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LocalFilesystem().open(f"{tmp_path}/log", create=True)
    file.write_back(-1, 1)
    monkeypatch.setattr(platform_calls, "sync_file_range", lambda: lambda *_: errno.ENOSYS)
    file.write_back(0, 1)
    monkeypatch.setattr(platform_calls, "sync_file_range", lambda: None)
    file.write_back(0, 1)
