"""One node on a real folder in virtual time: it comes up, serves, goes down and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.config.start_error import StartError
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.unit.broker.node_fixture import Halted, Running


def test_a_node_serves_and_keeps_what_it_has_over_a_restart(tmp_path: Path) -> None:
    running = Running(tmp_path)
    assert sorted(running.create("t", "u", "t")) == [0, ErrorCode.INVALID_REQUEST]
    assert running.create("t") == [0]
    assert running.produce("t", b"first").base_offset == 0
    topic_id = running.node.image.topics.by_name["t"].id
    running.stop()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    again = Running(tmp_path)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    assert again.node.logs.report == []
    assert again.node.image.topics.by_name["t"].id == topic_id
    assert again.produce("t", b"second").base_offset == 1
    assert again.fetch("t", 0).high_watermark == 2
    again.stop()


def test_a_node_that_died_recovers_and_says_so(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.create("t")
    running.produce("t", b"first")
    for log in running.node.logs.logs:
        log.close()
    running.node.controller.close()
    lock_of(running).release()
    again = Running(tmp_path)
    assert any(line.startswith("Recovered 1 log(s)") for line in again.node.logs.report)
    assert again.fetch("t", 0).high_watermark == 1
    again.stop()


def test_a_folder_that_cannot_be_locked_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(StartError, match=r"cannot be used \(log.dirs\): locking: .*\.lock"):
        Running(tmp_path)


def test_one_of_two_folders_that_cannot_be_locked_is_offline(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    (second / ".lock").mkdir(parents=True)
    running = Running(first, **{"log.dirs": f"{first},{second}"})
    assert list(running.node.failures.offline_dirs()) == [str(second)]
    assert running.node.logs.online_dirs == [str(first)]
    assert running.create("t") == [0]
    running.stop()


def lock_of(running: Running) -> Any:
    (log_dir,) = running.node.logs._dirs.values()
    return log_dir.lock


def test_what_is_advertised_is_served_in_all_of_kafkas_versions(tmp_path: Path) -> None:
    running = Running(tmp_path)
    ranges = {
        key.api_key: (key.min_version, key.max_version)
        for key in running.ask(ApiVersionsRequest("me", "1"), 4).api_keys
    }
    assert len(ranges) >= 30
    for key, (oldest, latest) in ranges.items():
        expected = STABLE_VERSIONS[ApiKey(key)]
        if key == ApiKey.PRODUCE:
            expected = (0, expected[1])  # KAFKA-18659
        assert (oldest, latest) == expected, ApiKey(key)
    running.stop()


def test_a_deleted_topic_is_gone_for_clients(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.create("t")
    running.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5)
    names = [topic.name for topic in running.ask(MetadataRequest(topics=None), 8).topics]
    assert "t" not in names
    assert running.produce("t", b"x").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    running.stop()


def test_the_loss_of_the_metadata_directory_ends_the_node(tmp_path: Path) -> None:
    running = Running(tmp_path)
    with pytest.raises(Halted, match="metadata log directory"):
        running.node.failures.fail(str(tmp_path), "append", OSError("broken"))


def test_an_only_voter_serves_and_registers_its_controller_where_a_port_was_set(
    tmp_path: Path,
) -> None:
    """Brokers may be beside it; without a file there is no port that they could be given."""
    assert Running(tmp_path / "profile").node.controller_server is None
    listeners = "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"
    running = Running(tmp_path / "set", listeners=listeners)
    assert running.node.controller_server is not None
    running.scheduler.run_until(lambda: 1 in running.node.image.controllers)
    running.stop()
