"""The metadata folder goes from Ottla's controller to Apache Kafka and back.

Only the controller runs here, on a real folder; a whole broker's folder is another test's matter.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ground.filesystem import LocalFilesystem
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START, run_tool
from tests.unit.controller.controller_fixture import OneNode

pytestmark = pytest.mark.java


def written_by_ottla(folder: Path) -> OneNode:
    """A folder with a snapshot, and a log after it."""
    node = OneNode(
        LocalFilesystem(),
        log_dir=str(folder),
        metadata_log_max_record_bytes_between_snapshots=3_000,
    ).start()
    node.register()
    for number in range(12):
        configs = [CreatableTopicConfig("retention.ms", f"{number + 1}000")]
        topic = CreatableTopic(f"topic-{number}", 3, 1, configs=configs)
        assert node.call(CreateTopicsRequest([topic]), 7).topics[0].error_code == 0
    node.stop()
    return node


def dumped(path: Path) -> str:
    done = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(path))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kafka_dump_log_reads_every_file(tmp_path: Path) -> None:
    written_by_ottla(tmp_path)
    metadata = tmp_path / "__cluster_metadata-0"
    files = [tmp_path / "bootstrap.checkpoint", *metadata.glob("*.checkpoint")]
    files += metadata.glob("*.log")
    assert len(files) >= 4
    seen: list[str] = []
    for file in files:
        text = dumped(file)
        assert "isvalid: false" not in text
        assert "Error" not in text
        seen += re.findall(r'payload: \{"type":"(\w+)"', text)
        if file.suffix == ".checkpoint":
            assert "SnapshotHeader" in text
            assert "SnapshotFooter" in text
    for kind in ("FEATURE_LEVEL", "REGISTER_BROKER", "TOPIC", "PARTITION", "CONFIG"):
        assert f"{kind}_RECORD" in seen


def test_apache_kafka_opens_it_and_ottla_opens_it_again(tmp_path: Path) -> None:
    node = written_by_ottla(tmp_path)
    before = node.node.image
    with ApacheKafka(
        data_dir=tmp_path, static_voters=True, jvm_options=FAST_START, heap="512m"
    ) as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        described = run_tool("kafka-topics", *server, "--describe").stdout
        created = run_tool("kafka-topics", *server, "--create", "--topic", "by-kafka")
        assert created.returncode == 0, created.stderr
        assert kafka.stop() is not None
    for number in range(12):
        assert re.search(
            rf"Topic: topic-{number}\s.*PartitionCount: 3\s.*retention.ms={number + 1}000",
            described,
        )
    assert "Leader: none" not in described
    state = json.loads((tmp_path / "__cluster_metadata-0" / "quorum-state").read_text())
    again = OneNode(LocalFilesystem(), seed=2, log_dir=str(tmp_path)).start()
    image = again.node.image
    assert again.node.raft.epoch == state["leaderEpoch"] + 1
    assert "by-kafka" in image.topics.by_name
    for name, topic in before.topics.by_name.items():
        after = image.topics.get(name)
        assert after is not None
        assert after.id == topic.id
    again.register()
    for topic in again.node.image.topics.by_name.values():
        assert [p.leader for p in topic.partitions.values()] == [1] * len(topic.partitions)
    again.stop()
