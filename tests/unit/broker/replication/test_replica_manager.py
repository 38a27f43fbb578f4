from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.partition import Partition
from broker.replication.replica_manager import CHANGES_A_SLICE, DELETES_A_SLICE
from controller.metadata.image import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.unit.broker.replica_fixture import Replicas, topic_id_of


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    return Replicas(str(tmp_path))


def test_partitions_follow_the_metadata(replicas: Replicas, tmp_path: Path) -> None:
    told: list[tuple[str, bool]] = []
    replicas.manager.on_leadership(lambda partition, leads: told.append((repr(partition), leads)))
    replicas.create("t", partitions=2)
    assert (tmp_path / "t-0" / "partition.metadata").exists()
    assert told == [("t-0", True), ("t-1", True)]
    assert replicas.manager.partition_by_id(topic_id_of("t"), 1) is replicas.partition("t", 1)
    replicas.move_leader("t", 2)
    assert told[2:] == [("t-0", False)]
    replicas.move_leader("t", 1)
    assert told[3:] == [("t-0", True)]


def test_a_deleted_topic_is_gone_and_its_folder_later(replicas: Replicas, tmp_path: Path) -> None:
    partition = replicas.create("t")
    replicas.append("t", b"a")
    told: list[bool] = []
    replicas.manager.on_leadership(lambda _, leads: told.append(leads))
    replicas.delete("t")
    assert partition.deleted
    assert told == [False]
    assert replicas.manager.partition("t", 0) is None
    assert replicas.manager.partition_by_id(topic_id_of("t"), 0) is None
    assert partition.check_leader_epoch(-1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [p.name.endswith("-delete") for p in tmp_path.glob("t-0*")] == [True]
    replicas.scheduler.run_for(61_000)
    assert not list(tmp_path.glob("t-0*"))


def test_why_a_partition_is_not_here(replicas: Replicas) -> None:
    manager = replicas.manager
    assert manager.why_absent("t", 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert manager.why_absent_by_id(topic_id_of("t"), 0) == ErrorCode.UNKNOWN_TOPIC_ID
    replicas.replay(
        TopicRecord("t", topic_id_of("t")),
        PartitionRecord(0, topic_id_of("t"), [2], [2], leader=2, directories=[bytes(16)]),
    )
    assert manager.partition("t", 0) is None
    assert manager.why_absent("t", 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert manager.why_absent_by_id(topic_id_of("t"), 0) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert manager.why_absent("t", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topic_configs_reach_the_log_when_made_and_when_changed(replicas: Replicas) -> None:
    partition = replicas.create("t", max_message_bytes="500")
    assert partition.log.config.max_message_bytes == 500
    replicas.replay(ConfigRecord(ResourceType.TOPIC, "t", "max.message.bytes", "600"))
    assert partition.log.config.max_message_bytes == 600


def test_a_change_wakes_who_listens_and_who_waits(replicas: Replicas) -> None:
    partition = replicas.create("t")

    class Listener:
        changes = 0

        def partition_changed(self, _: Partition) -> None:
            self.changes += 1

    listener = Listener()
    partition.listeners[listener] = None
    replicas.append("t", b"a")
    assert listener.changes == 1


def test_a_brokers_dynamic_configs_are_topic_defaults(replicas: Replicas) -> None:
    partition, other = replicas.create("t", max_message_bytes="500"), replicas.create("u")
    replicas.replay(ConfigRecord(ResourceType.BROKER, "", "message.max.bytes", "600"))
    assert partition.log.config.max_message_bytes == 500
    assert other.log.config.max_message_bytes == 600
    replicas.replay(ConfigRecord(ResourceType.BROKER, "1", "message.max.bytes", "700"))
    assert other.log.config.max_message_bytes == 700
    assert replicas.create("v").log.config.max_message_bytes == 700


def test_a_partition_without_its_log_directory_says_so_until_it_is_deleted(
    replicas: Replicas,
) -> None:
    replicas.create("fine")
    replicas.failures.fail(str(replicas.config.log_dirs[0]), "a test", OSError("gone"))
    with pytest.raises(AssertionError):
        replicas.create("lost")
    manager = replicas.manager
    assert manager.offline_count == 2
    assert manager.why_absent("lost", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert manager.why_absent_by_id(topic_id_of("lost"), 0) is ErrorCode.KAFKA_STORAGE_ERROR
    replicas.delete("lost")
    assert manager.why_absent("lost", 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    replicas.delete("fine")
    assert manager.partition("fine", 0) is None
    assert manager.offline_count == 0


def new_topic(name: str, partitions: int = 1) -> list[TopicRecord | PartitionRecord]:
    topic_id = topic_id_of(name)
    return [
        TopicRecord(name, topic_id),
        *(PartitionRecord(i, topic_id, [1], [1], leader=1) for i in range(partitions)),
    ]


def hosted(replicas: Replicas) -> int:
    return len(list(replicas.manager.partitions()))


def test_a_slice_makes_one_log(replicas: Replicas) -> None:
    steps = replicas.begin(*new_topic("t", 4))
    seen = []
    for _ in steps:
        seen.append(hosted(replicas))
        assert replicas.manager.why_absent("t", 3) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert seen == [1, 2, 3] and hosted(replicas) == 4


def test_a_slice_deletes_or_changes_some(replicas: Replicas) -> None:
    count = CHANGES_A_SLICE + 5
    replicas.replay_new("t", count)
    changes = ConfigRecord(ResourceType.TOPIC, "t", "max.message.bytes", "600")
    configured = []
    for _ in replicas.begin(changes):
        logs = [one.log for one in replicas.manager.partitions()]
        configured.append(sum(log.config.max_message_bytes == 600 for log in logs))
    assert configured == [CHANGES_A_SLICE]
    left = [hosted(replicas) for _ in replicas.begin(RemoveTopicRecord(topic_id_of("t")))]
    assert left == [count - DELETES_A_SLICE, count - 2 * DELETES_A_SLICE]
    assert hosted(replicas) == 0


def test_a_log_whose_topic_went_meanwhile_is_not_made(replicas: Replicas, tmp_path: Path) -> None:
    making = replicas.begin(*new_topic("t", 3))
    next(making)
    deleting = replicas.begin(RemoveTopicRecord(topic_id_of("t")))
    assert hosted(replicas) == 1
    assert list(making) == [] and hosted(replicas) == 1
    assert list(deleting) == [] and hosted(replicas) == 0
    assert not (tmp_path / "t-1").exists()


def test_many_deletions_write_the_checkpoints_once(replicas: Replicas, tmp_path: Path) -> None:
    count = 4 * DELETES_A_SLICE
    replicas.replay_new("t", count)
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"

    def named() -> int:
        replicas.scheduler.run_for(1)
        return int(checkpoint.read_text().splitlines()[1])

    replicas.logs.upkeep.checkpoint_recovery_points()
    assert named() == count
    steps = replicas.begin(RemoveTopicRecord(topic_id_of("t")))
    assert [named() for _ in steps] == [count] * 3
    assert named() == 0


def test_a_truncation_amid_deletions_is_written_at_once(replicas: Replicas, tmp_path: Path) -> None:
    replicas.replay_new("t", 2 * DELETES_A_SLICE)
    steps = replicas.begin(RemoveTopicRecord(topic_id_of("t")))
    next(steps)
    replicas.logs.checkpoint_soon()
    replicas.scheduler.run_for(1)
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"
    assert int(checkpoint.read_text().splitlines()[1]) == DELETES_A_SLICE
    assert list(steps) == []


def test_isrs_of_many_partitions_are_checked_in_slices(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[int] = []
    monkeypatch.setattr(Partition, "shrink_isr", lambda one: checked.append(one.index))
    monkeypatch.setattr("broker.replication.replica_manager.ISRS_A_SLICE", 2)
    replicas.create("t", partitions=5, replicas=[1, 2])
    sliced = replicas.logs.sliced
    before = sliced.slices
    replicas.scheduler.run_for(15_000)
    assert checked == [0, 1, 2, 3, 4]
    assert sliced.slices - before == 2
    replicas.scheduler.run_for(15_000)
    assert len(checked) == 10
