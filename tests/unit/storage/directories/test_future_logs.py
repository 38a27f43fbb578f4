"""Folders of copies on their way into another directory; how they fill is the mover's test."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.directories.future_logs import FutureLogs
from storage.log.log_dir_failure import LogDirFailure
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, PARTITION, batch, environment, open_log


class Node:
    def __init__(self) -> None:
        self.filesystem = MemoryFilesystem()
        self.ports = environment(self.filesystem)
        self.removed: list[str] = []
        self.futures = FutureLogs(
            self.ports, lambda n: bytes(n), lambda _dir, folder, _ms: self.removed.append(folder)
        )
        self.current = open_log(ports=self.ports)
        self.current.append_as_leader(batch(b"v", b"w", b"x"), 0, NOW_MS)
        self.current.update_high_watermark(3)
        self.current.increment_log_start_offset(2)
        self.filesystem.make_dirs("/other")

    def create(self) -> UnifiedLog:
        return self.futures.create(self.current, "/other", LogConfig())


def test_a_copy_begins_at_the_log_start_in_a_folder_of_its_own() -> None:
    node = Node()
    log = node.create()
    assert log.directory == f"/other/topic-0.{'00' * 16}-future"
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
    assert node.futures.get(("topic", 0)) is log
    assert node.futures.logs_in("/other") == [log]
    assert node.futures.logs_in("/data") == []


def test_it_takes_over_under_the_partitions_name() -> None:
    node = Node()
    log = node.create()
    assert node.futures.take_over(PARTITION) is log
    assert log.directory == "/other/topic-0"
    assert node.futures.get(PARTITION) is None


def test_a_copy_that_is_dropped_is_renamed_and_removed() -> None:
    node = Node()
    log = node.create()
    node.futures.drop(PARTITION)
    assert log.offline
    assert node.removed == [f"/other/topic-0.{'00' * 16}-delete"]
    assert node.futures.get(PARTITION) is None
    node.futures.drop(PARTITION)
    assert len(node.removed) == 1


def test_a_disk_that_fails_takes_its_copies_along() -> None:
    node = Node()
    log = node.create()
    node.futures.dir_failed("/data")
    assert node.futures.get(PARTITION) is log
    node.futures.dir_failed("/other")
    assert log.offline and node.futures.get(PARTITION) is None


@pytest.mark.parametrize("call", ["make_dirs", "open"])
def test_a_copy_that_cannot_be_made(call: str) -> None:
    node = Node()
    node.filesystem.inject(call, path_part="-future")
    with pytest.raises(LogDirFailure):
        node.create()
    assert node.ports.failures.is_offline("/other")
    assert node.futures.get(PARTITION) is None


def test_a_second_copy_that_a_start_finds_is_dropped() -> None:
    node = Node()
    log = node.create()
    node.futures.resume(open_log(ports=node.ports, directory="/data/topic-0.x-future"))
    assert node.futures.get(PARTITION) is log
    assert len(node.removed) == 1


def test_all_copies_under_way_are_known() -> None:
    node = Node()
    assert node.futures.logs() == []
    log = node.create()
    assert node.futures.logs() == [log]
