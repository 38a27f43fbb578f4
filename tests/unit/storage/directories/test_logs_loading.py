"""Opening the logs at a start: several at once, elsewhere; what people are told; stops, faults."""

from __future__ import annotations

import errno

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.directories.logs_loading import progress_line
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch

TOPIC_ID = bytes(range(16))


class Node:
    def __init__(self, filesystem: MemoryFilesystem, threads: int = 2) -> None:
        self.filesystem, self.threads = filesystem, threads
        self.scheduler, self.jobs = SimScheduler(), Jobs()
        self.failures = LogDirFailureChannel()
        self.done: list[Exception | None] = []
        self.told: list[str] = []
        self.stray: list[TopicPartition] = []
        self.logs = LogManager(
            LogEnvironment(filesystem, self.scheduler, self.jobs, self.failures),
            LogManagerSettings(("/a", "/b"), num_recovery_threads_per_data_dir=threads),
            lambda _: LogConfig(),
            lambda n: bytes(n),
        )
        self.logs.lock()

    def load(self) -> None:
        self.jobs.held = True
        self.logs.load(lambda one, _: one in self.stray, self.done.append, self.told.append)


def disk(logs: int = 6, *, clean: bool = False) -> MemoryFilesystem:
    """Two directories with logs of three batches each."""
    filesystem = MemoryFilesystem()
    node = Node(filesystem)
    node.logs.load()
    for index in range(logs):
        log = node.logs.get_or_create(("t", index), TOPIC_ID)
        for _ in range(3):
            log.append_as_leader(batch(b"v" * 100), 0, NOW_MS)
    if clean:
        assert node.logs.close()
    else:
        filesystem.kill()
    return filesystem


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_so_many_logs_of_a_directory_are_opened_at_once(threads: int) -> None:
    node = Node(disk(8), threads)
    node.load()
    assert len(node.jobs.waiting) == 2, "a look into each directory"
    node.jobs.run_one(0)
    node.jobs.run_one(0)
    most = 0
    while node.jobs.waiting:
        most = max(most, len(node.jobs.waiting))
        assert node.done == []
        node.jobs.run_one(len(node.jobs.waiting) - 1)  # jobs end in any order
    assert most == 2 * min(threads, 4)
    assert node.done == [None]
    assert len(node.logs.logs) == 8
    assert all(log.log_end_offset == 3 for log in node.logs.logs)


def test_people_see_what_is_to_be_done_how_far_it_is_and_what_it_gave() -> None:
    node = Node(disk())
    node.load()
    node.jobs.run_one(0)
    assert node.told == []
    node.jobs.run_one(0)
    size = sum(node.filesystem.size(f"/{d}/t-{i}/{0:020d}.log") for i, d in enumerate("ababab"))
    assert node.told == [
        f"The last stop was not clean: recovering 6 log(s), {size / 1000:.1f} kB to scan"
    ]
    for _ in range(3):
        node.jobs.run_one(0)
    node.scheduler.run_for(5_000)
    half = f"{size / 2000:.1f} kB of {size / 1000:.1f} kB"
    assert node.told[1:] == [f"Recovering: 3 of 6 log(s), {half} scanned (50 %), about 5 s left"]
    node.jobs.run()
    node.scheduler.run_for(20_000)
    assert len(node.told) == 2, "nothing more once it is done"
    assert [line.partition(":")[0] for line in node.logs.report] == [
        "Recovered 3 log(s) in /a",
        "Recovered 3 log(s) in /b",
    ]


def test_a_clean_start_says_nothing() -> None:
    node = Node(disk(clean=True))
    node.load()
    node.jobs.run()
    assert (node.told, node.logs.report, node.done) == ([], [], [None])


@pytest.mark.parametrize(
    ("scanned", "to_scan", "elapsed_ms", "end"),
    [
        (0, 10, 5_000, "0 bytes of 10 bytes scanned"),
        (10**9, 4 * 10**9, 5_000, "1.0 GB of 4.0 GB scanned (25 %), about 15 s left"),
        (10**6, 10**9, 5_000, "1.0 MB of 1.0 GB scanned (0 %), about 83 min left"),
        (12, 10, 5_000, "10 bytes of 10 bytes scanned (100 %), about 1 s left"),
    ],
)
def test_the_estimate(scanned: int, to_scan: int, elapsed_ms: float, end: str) -> None:
    assert progress_line(1, 2, scanned, to_scan, elapsed_ms).endswith(f"2 log(s), {end}")


@pytest.mark.parametrize("skip", range(4))
def test_a_directory_that_fails_while_it_is_opened_leaves_the_other(skip: int) -> None:
    node = Node(disk(clean=skip % 2 == 0))
    node.filesystem.inject("open" if skip > 1 else "list_dir", path_part="/a/", skip=skip % 2)
    node.load()
    node.jobs.run()
    assert node.done == [None]
    assert node.logs.online_dirs == ["/b"]
    assert [log.log_dir for log in node.logs.logs] == ["/b"] * 3
    assert node.logs.close() is False
    assert not node.filesystem.exists("/a/.kafka_cleanshutdown")


def test_what_cannot_be_opened_costs_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is. The marker of a clean stop is not left, for nobody has recovered that log;
    and what the checkpoints say of it is kept."""
    filesystem = disk()
    filesystem.replace_atomically("/a/recovery-point-offset-checkpoint", b"0\n1\nt 0 2\n")
    node = Node(filesystem)
    modified_ms = filesystem.modified_ms
    broken = "/a/t-0/"
    monkeypatch.setattr(
        filesystem, "modified_ms", lambda path: 1 // (broken not in path) + modified_ms(path)
    )
    node.load()
    node.jobs.run()
    assert node.done == [None]
    assert list(node.logs.unopened) == [("t", 0)]
    assert [line for line in node.logs.report if "t-0" in line] == [
        "t-0 is offline: /a/t-0 cannot be opened: ZeroDivisionError: integer division or modulo by "
        "zero"
    ]
    assert len(node.logs.logs) == 5
    assert node.logs.close() is False
    assert b"\nt 0 2\n" in filesystem.read("/a/recovery-point-offset-checkpoint")
    assert filesystem.exists("/a/.kafka_cleanshutdown") is False
    assert filesystem.exists("/b/.kafka_cleanshutdown")


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("open", f"/a/t-2/{0:020d}.log"),
        ("read", "/a/t-2/partition.metadata"),
        ("list_dir", "/a/t-2"),
    ],
)
@pytest.mark.parametrize("number", [errno.EACCES, errno.EISDIR, errno.EIO])
def test_a_file_that_is_in_the_way_costs_its_partition_a_failing_disk_more(
    operation: str, path: str, number: int
) -> None:
    """Kafka takes the directory offline for both."""
    filesystem = disk()
    filesystem.inject(operation, number, path_part=path, count=99)
    node = Node(filesystem)
    node.load()
    node.jobs.run()
    assert node.done == [None]
    if number == errno.EIO:
        assert (node.logs.online_dirs, list(node.logs.unopened)) == (["/b"], [])
        return
    assert node.logs.online_dirs == ["/a", "/b"]
    assert (len(node.logs.logs), list(node.logs.unopened)) == (5, [("t", 2)])
    (line,) = [line for line in node.logs.report if "t-2" in line]
    assert line.startswith("t-2 is offline: /a/t-2 cannot be opened: ") and path in line


def test_a_stop_in_the_midst_leaves_no_marker_and_opens_nothing_more() -> None:
    node = Node(disk(clean=True))
    node.load()
    for _ in range(4):
        node.jobs.run_one(0)
    assert node.logs.close() is False
    node.jobs.run()
    assert node.done == []
    again = Node(node.filesystem)
    assert again.logs.read_previous_broker_epoch() == -1
    again.load()
    again.jobs.run()
    assert [log.log_end_offset for log in again.logs.logs] == [3] * 6


def test_a_topic_that_went_while_its_log_was_opened_is_put_aside() -> None:
    node = Node(disk())
    node.load()
    node.jobs.run_one(0)
    node.jobs.run_one(0)
    node.stray.append(TopicPartition("t", 0))
    node.jobs.run()
    assert node.logs.get(("t", 0)) is None
    assert [name for name in node.filesystem.list_dir("/a") if name.endswith("-stray")]
