"""`snapshot_download`: parts become a file, checked and durable, or nothing at all."""

from __future__ import annotations

import errno

import pytest

from controller.metadata.image import MetadataImage
from controller.metadata.snapshot import encode_image
from controller.raft import raft_messages as m
from controller.raft.quorum_voters import control_records
from controller.raft.raft_log import RaftLog
from controller.raft.snapshot_download import AGAIN_AFTER_MS, SnapshotDownload
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey, Voter, VoterSet
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment

SNAPSHOT = (40, 3)
NAME = "00000000000000000040-0000000003.checkpoint"
CONTENT = encode_image(MetadataImage(39, 3, 5, features={"metadata.version": 30}), 7)


def kind(event: m.Event) -> tuple[str, m.Event]:
    return type(event).__name__, event


class Download:
    """A download and what Raft is told of it."""

    def __init__(self) -> None:
        self.filesystem, self.scheduler = MemoryFilesystem(), SimScheduler()
        self.filesystem.make_dirs("/d")
        environment = LogEnvironment(
            self.filesystem, self.scheduler, SimBlocking(self.scheduler), LogDirFailureChannel()
        )
        settings = ControllerSettings(
            node_id=1,
            cluster_id="c",
            directory_id=b"\1" * 16,
            metadata_log_dir="/d",
            static_voters=VoterSet.of_ids(1, 2),
        )
        self.log = RaftLog(settings, environment)
        self.told: list[tuple[str, m.Event]] = []
        """With their kinds: as tuples, different kinds may be equal."""
        self.failures: list[Exception] = []
        self.download = SnapshotDownload(self.log, self.scheduler, self.tell, self.failures.append)

    def tell(self, event: m.Event) -> None:
        self.told.append(kind(event))

    def part(self, position: int, size: int, content: bytes = CONTENT) -> None:
        data = content[position : position + size]
        self.download.write(m.SnapshotPart(SNAPSHOT, position, len(content), data))
        self.scheduler.run_for(0)

    def files(self) -> list[str]:
        names = self.filesystem.list_dir(self.log.directory)
        return [name for name in names if "checkpoint" in name and "leader-epoch" not in name]


def test_in_parts() -> None:
    download = Download()
    download.part(0, 50)
    assert download.told == [kind(m.SnapshotWritten(SNAPSHOT, 50))]
    assert download.files() == [f"{NAME}.part"]
    download.part(50, 1_000)
    assert download.told[1:] == [kind(m.SnapshotStored(SNAPSHOT))]
    assert download.files() == [NAME]
    image = download.download.image(SNAPSHOT)
    assert (image.offset, image.epoch, image.metadata_level) == (39, 3, 30)
    assert download.filesystem.read(f"{download.log.directory}/{NAME}") == CONTENT
    assert [tuple(kept) for kept in download.log.snapshots] == [SNAPSHOT]


def test_it_begins_anew_at_position_zero() -> None:
    download = Download()
    download.part(0, 50, bytes(100))
    download.part(0, 1_000)
    assert download.told[-1] == kind(m.SnapshotStored(SNAPSHOT))


@pytest.mark.parametrize("position", [10, 60], ids=["too early", "a gap"])
def test_a_part_that_does_not_follow(position: int) -> None:
    download = Download()
    download.part(0, 50)
    download.part(position, 10)
    assert len(download.told) == 1
    download.scheduler.run_for(AGAIN_AFTER_MS)
    assert download.told[-1] == kind(m.SnapshotUnusable(SNAPSHOT))


def test_damage_is_found_and_nothing_is_left() -> None:
    download = Download()
    download.part(0, 1_000, CONTENT[:100] + bytes([CONTENT[100] ^ 1]) + CONTENT[101:])
    download.scheduler.run_for(AGAIN_AFTER_MS)
    assert download.told == [kind(m.SnapshotUnusable(SNAPSHOT))]
    assert download.files() == [] and not download.failures
    download.part(0, 1_000)
    assert download.told[-1] == kind(m.SnapshotStored(SNAPSHOT))


@pytest.mark.parametrize("operation", ["append", "sync", "rename"])
def test_a_disk_that_fails_ends_it(operation: str) -> None:
    download = Download()
    download.filesystem.inject(operation, path_part=".checkpoint")
    download.part(0, 1_000)
    assert isinstance(download.failures[0], OSError)
    assert download.told == []


def test_a_part_file_of_the_last_life_is_removed() -> None:
    download = Download()
    download.part(0, 50)
    RaftLog(
        ControllerSettings(
            node_id=1,
            cluster_id="c",
            directory_id=b"\1" * 16,
            metadata_log_dir="/d",
            static_voters=VoterSet.of_ids(1, 2),
        ),
        download.log._environment,
    )
    assert download.files() == []


def test_a_snapshot_of_a_dynamic_quorum_says_who_votes() -> None:
    image = MetadataImage(39, 3, 5, features={"metadata.version": 30})
    voters = VoterSet(tuple(Voter(ReplicaKey(i, bytes([i]) * 16)) for i in (1, 3)))
    download = Download()
    download.part(0, 1_000, encode_image(image, 7, control_records(1, voters)))
    ((name, stored),) = download.told
    assert (name, stored.snapshot) == ("SnapshotStored", SNAPSHOT)
    download.log.voters.snapshot_loaded(40, stored.control)
    assert download.log.voters.latest == voters
    assert download.download.image(SNAPSHOT) == image


@pytest.mark.parametrize("operation", ["open", "sync_dir"])
def test_without_a_descriptor_it_begins_anew_a_little_later(operation: str) -> None:
    download = Download()
    download.filesystem.inject(operation, errno.EMFILE)
    download.part(0, 1_000)
    download.scheduler.run_for(AGAIN_AFTER_MS)
    assert not download.failures and not download.filesystem.faults_left
    assert download.told == [kind(m.SnapshotUnusable(SNAPSHOT))]
    download.part(0, 1_000)
    assert download.told[-1] == kind(m.SnapshotStored(SNAPSHOT))
