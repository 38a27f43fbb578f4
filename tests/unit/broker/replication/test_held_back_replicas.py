"""A broker that is told to host more than it has file descriptors for."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from broker.replication.assignments_manager import AssignmentsManager
from broker.replication.held_back_replicas import RETRY_MS, HeldBackReplicas
from broker.replication.replica_homes import ReplicaHomes
from controller.metadata.image import LOST_DIRECTORY
from protocol.errors import ErrorCode
from protocol.messages.metadata_records import PartitionChangeRecord
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import DescriptorsLack
from tests.unit.broker.replica_fixture import Replicas, topic_id_of

ROOM = 3


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    """A broker with room for three partitions."""
    return Replicas(str(tmp_path), descriptors=Descriptors(100 + ROOM, lambda _limit: 100))


def served(replicas: Replicas, topic: str) -> list[int]:
    return [one.index for one in replicas.manager.partitions() if one.topic == topic]


def test_the_rest_goes_on_and_one_line_says_what_is_missing(
    replicas: Replicas, caplog: pytest.LogCaptureFixture
) -> None:
    replicas.create("first")
    replicas.create("more", partitions=5)
    assert served(replicas, "more") == [0, 1]
    (line,) = [record.getMessage() for record in caplog.records]
    assert "3 partition(s), as more-4, are not served here: ulimit -n is 103" in line
    assert "106 would be needed" in line
    manager = replicas.manager
    assert manager.why_absent("more", 4) is ErrorCode.KAFKA_STORAGE_ERROR
    assert manager.offline_count == 3
    replicas.append("first", b"goes on")
    replicas.append("more", b"goes on")
    assert replicas.logs.online_dirs == list(replicas.config.log_dirs)
    caplog.clear()
    replicas.replay(PartitionChangeRecord(4, topic_id_of("more"), leader=2))
    assert not caplog.records, "said once"


def test_what_waits_is_taken_up_when_others_go(
    replicas: Replicas, caplog: pytest.LogCaptureFixture
) -> None:
    replicas.create("first", partitions=2)
    replicas.create("more", partitions=3)
    assert served(replicas, "more") == [0]
    replicas.delete("first")
    assert served(replicas, "more") == [0, 1, 2]
    assert replicas.manager.offline_count == 0
    assert "2 partition(s) that waited for file descriptors are served now" in caplog.text
    assert replicas.partition("more", 2).is_leader


def test_what_is_deleted_while_it_waits_is_forgotten(replicas: Replicas) -> None:
    replicas.create("first", partitions=3)
    replicas.replay_new("waits")
    replicas.delete("waits")
    assert replicas.manager.offline_count == 0
    replicas.delete("first")
    assert served(replicas, "waits") == []
    assert replicas.manager.why_absent("waits", 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_controller_is_told_where_others_can_lead_and_told_again_when_it_is_here(
    replicas: Replicas, tmp_path: Path
) -> None:
    asked: list[Any] = []
    own = bytes(15) + b"\x05"
    ids = {str(tmp_path): own}
    assignments = AssignmentsManager(
        replicas.scheduler, lambda *request: asked.append(request), 1, lambda: 9, ids
    )
    homes = ReplicaHomes(1, replicas.logs, ids, assignments)
    replicas.manager.assign_with(assignments, homes)
    replicas.create("first", partitions=3)
    replicas.replay_new("alone")
    replicas.replay_new("waits", replicas=(1, 2))
    replicas.scheduler.run_for(10)
    (request, respond), *more = asked
    assert not more
    (directory,) = request.directories
    assert directory.id == LOST_DIRECTORY
    assert [topic.topic_id for topic in directory.topics] == [topic_id_of("waits")]
    replicas.replay(
        PartitionChangeRecord(
            0, topic_id_of("waits"), isr=[2], leader=2, directories=[LOST_DIRECTORY, own]
        )
    )
    replicas.delete("first")
    assert served(replicas, "waits") == [0] and served(replicas, "alone") == [0]
    respond(None)
    replicas.scheduler.run_for(1_000)
    (directory,) = asked[1][0].directories
    assert directory.id == own, "it lies in the broker's directory now"
    assert [topic.topic_id for topic in directory.topics] == [topic_id_of("waits")]


def test_a_log_that_the_system_has_no_descriptor_for_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicas = Replicas(str(tmp_path))
    filesystem = replicas.logs._environment.filesystem
    make_dirs = filesystem.make_dirs

    def lacking(path: str) -> None:
        raise OSError(errno.ENFILE, "Too many open files in system", path)

    monkeypatch.setattr(filesystem, "make_dirs", lacking)
    replicas.replay_new("t")
    assert served(replicas, "t") == []
    assert replicas.logs.online_dirs == list(replicas.config.log_dirs)
    replicas.scheduler.run_for(RETRY_MS)
    monkeypatch.setattr(filesystem, "make_dirs", make_dirs)
    replicas.scheduler.run_for(RETRY_MS)
    assert served(replicas, "t") == [0]


def test_a_replica_that_waits_no_more_is_not_logged(
    replicas: Replicas, caplog: pytest.LogCaptureFixture
) -> None:
    descriptors = Descriptors(100, lambda _limit: 100)
    held_back = HeldBackReplicas(descriptors, replicas.scheduler, lambda _topic, _index: None)
    held_back.hold("t", 0, DescriptorsLack("/data/t-0", "none is free"))
    held_back.forget("t", 0)
    held_back.host_waiting()
    assert not caplog.records
