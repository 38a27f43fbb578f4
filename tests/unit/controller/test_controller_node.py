"""`controller.controller_node`: restarts, crashes, snapshots, features of another release."""

from __future__ import annotations

import random
from typing import Any

import pytest

from controller.decisions.feature_control import INITIAL_FEATURES
from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch
from controller.metadata.snapshot import encode_snapshot, feature_records
from controller.metadata.version import METADATA_VERSION, SHARE_VERSION
from controller.storage_format import FIRST_SNAPSHOT, encode_bootstrap
from ground.memory_filesystem import MemoryFilesystem
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.unit.controller.controller_fixture import LOG_DIR, OneNode


def create(node: OneNode, *names: str) -> None:
    answer = node.call(CreateTopicsRequest([CreatableTopic(name, 2, 1) for name in names]), 7)
    assert [topic.error_code for topic in answer.topics] == [0] * len(names)


def essence(image: MetadataImage) -> object:
    """What a client can see, without epochs that grow with every start."""
    return (
        {t.name: (t.id, list(t.partitions)) for t in image.topics.by_name.values()},
        dict(image.features),
        {key: dict(value) for key, value in image.configs.items()},
    )


def test_an_acknowledged_topic_survives_process_death() -> None:
    filesystem = MemoryFilesystem()
    for life in range(5):
        node = OneNode(filesystem, seed=life).start()
        node.register()
        assert list(node.node.image.topics.by_name) == [f"t-{n}" for n in range(life)]
        create(node, f"t-{life}")
        node.kill()


@pytest.mark.parametrize("seed", range(10))
def test_an_acknowledged_topic_survives_a_loss_of_power(seed: int) -> None:
    filesystem, chance = MemoryFilesystem(), random.Random(seed)
    for life in range(4):
        node = OneNode(filesystem, seed=seed * 10 + life).start()
        node.register()
        assert list(node.node.image.topics.by_name)[:life] == [f"t-{n}" for n in range(life)]
        create(node, f"t-{life}")
        node.blocking.alive = False
        filesystem.lose_power(chance)


def test_partitions_have_a_leader_of_a_later_epoch_after_each_start() -> None:
    filesystem, epochs = MemoryFilesystem(), []
    for life in range(3):
        node = OneNode(filesystem, seed=life).start()
        node.register()
        if life == 0:
            create(node, "foo")
        partition = node.node.image.topics.partition("foo", 0)
        assert partition is not None
        assert (partition.leader, partition.isr) == (1, (1,))
        epochs.append(partition.leader_epoch)
        node.stop()
    assert epochs == sorted(epochs)
    assert len(dict.fromkeys(epochs)) == 3


def test_records_of_the_first_snapshot_are_written_to_the_log() -> None:
    """Kafka's format tool leaves a folder so. Other nodes get these records from the log alone."""
    filesystem = MemoryFilesystem()
    folder = f"{LOG_DIR}/__cluster_metadata-0"
    filesystem.make_dirs(folder)
    features = {**INITIAL_FEATURES, SHARE_VERSION: 1}
    data = encode_snapshot(feature_records(features), features[METADATA_VERSION], 0, 0, 1)
    filesystem.replace_atomically(f"{folder}/{FIRST_SNAPSHOT}", data)
    node = OneNode(filesystem)
    assert not node.node.image.features
    assert dict(node.start().node.image.features) == features
    node.stop()
    filesystem.remove(f"{folder}/{FIRST_SNAPSHOT}")
    assert dict(OneNode(filesystem, seed=2).start().node.image.features) == features


def test_a_listener_sees_every_change_once() -> None:
    node = OneNode().start()
    node.register()
    create(node, "a")
    create(node, "b")
    seen = [t.name for delta, _ in node.changes for t in delta.topics.changed.values()]
    assert seen == ["a", "b"]
    offsets = [image.offset for _, image in node.changes]
    assert offsets == sorted(offsets)


def test_an_image_from_a_snapshot_is_the_one_from_the_log() -> None:
    filesystem = MemoryFilesystem()
    node = OneNode(filesystem, metadata_log_max_record_bytes_between_snapshots=2_000).start()
    node.register()
    for number in range(30):
        create(node, f"t-{number}")
    before = node.node.image
    node.stop()
    names = filesystem.list_dir(f"{LOG_DIR}/__cluster_metadata-0")
    assert len([name for name in names if name.endswith(".checkpoint")]) == 2
    again = OneNode(filesystem, seed=2).start()
    assert essence(again.node.image) == essence(before)
    assert again.node.image.offset > before.offset
    again.register()
    create(again, "after")


def test_an_image_from_a_snapshot_is_not_all_that_there_is() -> None:
    """Only a leader, also this node itself, can tell what else is committed."""
    filesystem = MemoryFilesystem()
    node = OneNode(filesystem, metadata_log_max_record_bytes_between_snapshots=2_000).start()
    assert node.node.is_loaded
    node.register()
    for number in range(30):
        create(node, f"t-{number}")
    node.stop()
    again = OneNode(filesystem, seed=2)
    assert again.node.image.topics.by_name
    assert not again.node.is_loaded
    again.start()
    assert again.node.is_loaded


def test_a_node_is_loaded_when_it_has_what_its_leader_said_and_stays_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = OneNode().node
    told: list[int | None] = [None]
    monkeypatch.setattr(type(node.raft), "announced_high_watermark", property(lambda _: told[0]))
    batch = CommittedBatch(0, 2, 1, 0, ())
    assert not node.is_loaded
    told[0] = 4
    node.handle_commit(batch)
    assert not node.is_loaded
    node.handle_commit(CommittedBatch(3, 3, 1, 0, ()))
    told[0] = 9
    assert node.is_loaded


def test_metadata_that_needs_more_than_is_served_stops_the_node() -> None:
    filesystem = MemoryFilesystem()
    OneNode(filesystem)
    levels = {"metadata.version": 30, "share.version": 3}
    filesystem.replace_atomically(f"{LOG_DIR}/bootstrap.checkpoint", encode_bootstrap(levels, 1))
    node = OneNode(filesystem)
    node.node.start()
    node.scheduler.run_for(5_000)
    (failure,) = node.failures
    assert "share.version at level 3; this release knows levels 0 to 2" in str(failure)


def test_what_apache_kafka_finalized_and_is_not_served_is_kept_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    levels = {"metadata.version": 30, "share.version": 1, "streams.version": 1}
    filesystem = MemoryFilesystem()
    OneNode(filesystem)
    filesystem.replace_atomically(f"{LOG_DIR}/bootstrap.checkpoint", encode_bootstrap(levels, 1))
    limit: dict[str, Any] = {"metadata_log_max_record_bytes_between_snapshots": 3_000}
    node = OneNode(filesystem, **limit).start()
    node.register()
    create(node, *(f"topic-{number}" for number in range(20)))
    assert node.failures == []
    assert [record.getMessage() for record in caplog.records] == [
        "kept in the metadata, not served: streams.version 1 (streams groups)"
    ]
    node.stop()
    again = OneNode(filesystem, seed=2, **limit).start()
    assert again.node._log.snapshots
    assert again.node.image.features == levels
