from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.node.shared_server import LACK_LOG_INTERVAL_MS
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from controller.metadata.image import Endpoint
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tests.unit.broker.node_fixture import Running


def test_the_controller_here_answers_and_describes_its_quorum(tmp_path: Path) -> None:
    running = Running(tmp_path)
    answers: list[Any] = []
    context = RequestContext(ApiKey.CREATE_TOPICS, 7, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED)
    request = CreateTopicsRequest([CreatableTopic("t", 1, 1)], 1_000)
    running.node.shared.ask_controller_here(context, request, answers.append)
    running.scheduler.run_until(lambda: bool(answers))
    assert answers[0].topics[0].error_code == 0
    partition = DescribeQuorumRequestPartitionData(0)
    described = DescribeQuorumRequest(
        [DescribeQuorumRequestTopicData("__cluster_metadata", [partition])]
    )
    context = RequestContext(
        ApiKey.DESCRIBE_QUORUM, 2, 1, "me", "here", "PLAINTEXT", "c", UNLIMITED
    )
    running.node.shared.ask_controller_here(context, described, answers.append)
    running.scheduler.run_until(lambda: len(answers) == 2)
    assert answers[1].topics[0].partitions[0].leader_id == 1


def test_controllers_are_asked_over_their_own_network_where_they_have_one(tmp_path: Path) -> None:
    ports = Running(tmp_path).node.shared.ports
    one: Any = object()
    other: Any = object()
    assert replace(ports, network=None).to_controllers is None
    assert replace(ports, network=one).to_controllers is one
    assert replace(ports, network=one, controller_network=other).to_controllers is other


def test_each_way_to_the_controller_ends_with_the_node(tmp_path: Path) -> None:
    running = Running(tmp_path)
    shared = running.node.shared
    way = shared.to_controller(lambda *_: None, timeout_ms=500)
    running.stop()
    answers: list[Any] = []
    way.send(BrokerHeartbeatRequest(1, 0), answers.append)
    running.scheduler.run_for(1_000)
    assert answers == []


def test_who_brings_its_logs_to_disk_has_left_the_quorum(tmp_path: Path) -> None:
    """Else a node of one would see its broker's session end while that is flushed."""
    running = Running(tmp_path)
    shared = running.node.shared
    way = shared.to_controller(lambda *_: None, timeout_ms=500)
    flushed: list[str] = []
    shared.begin_close(lambda: flushed.append("done"))
    answers: list[Any] = []
    way.send(BrokerHeartbeatRequest(1, 0), answers.append)
    running.scheduler.run_for(20_000)
    assert (flushed, answers) == (["done"], [])
    assert not running.node.image.brokers[1].fenced
    running.stop()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_failed_directory_goes_offline_and_is_counted(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    running = Running(first, **{"log.dirs": f"{first},{second}", "metadata.log.dir": str(first)})
    running.node.failures.fail(str(second), "append", OSError("broken"))
    assert list(running.node.shared.failures.offline_dirs()) == [str(second)]
    assert running.create("t")[0] == ErrorCode.NONE


@pytest.mark.parametrize(("reserve", "limit", "needed"), [("-1", 279, 280), ("100", 139, 140)])
def test_a_start_with_more_partitions_than_descriptors_says_what_it_needs(
    tmp_path: Path, reserve: str, limit: int, needed: int
) -> None:
    """A few moves under way have a share of their own."""
    reserved = {"ottla.reserved.file.descriptors": reserve}
    for name in ("fits", "does-not"):
        folder = tmp_path / name
        Running(folder).stop()
        for index in range(40):
            (folder / f"t-{index}").mkdir()
        for index in range(5):
            (folder / f"t-{index}.{'0' * 32}-future").mkdir()
        (folder / f"t-0.{'0' * 32}-delete").mkdir()
    text = rf"^40 partition\(s\) in log.dirs need ulimit -n {needed}, and it is {limit}: raise it"
    with pytest.raises(StartError, match=text):
        Running(tmp_path / "does-not", limit, **reserved)
    Running(tmp_path / "fits", needed, **reserved)


def test_a_lack_of_descriptors_is_said_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = Running(tmp_path)
    failures = running.node.shared.failures
    for _ in range(3):
        failures.fail(str(tmp_path), "roll", OSError(errno.ENFILE, "Too many open files in system"))
    assert len([one for one in caplog.records if "descriptors are short" in one.message]) == 1
    running.scheduler.run_for(LACK_LOG_INTERVAL_MS)
    failures.fail(str(tmp_path), "roll", OSError(errno.ENFILE, "Too many open files in system"))
    assert len([one for one in caplog.records if "descriptors are short" in one.message]) == 2
    assert running.create("t") == [0]


def test_a_node_of_one_refuses_exactly_what_it_cannot_hold(tmp_path: Path) -> None:
    running = Running(tmp_path, open_files_max=244)  # 240 are kept
    assert running.create("a", "b", "c", "d", "e") == [0, 0, 0, 0, ErrorCode.POLICY_VIOLATION]
    assert running.produce("d", b"x").error_code == 0
    running.ask(DeleteTopicsRequest(topic_names=["a"], timeout_ms=1_000), 5)
    assert running.create("e", "f") == [0, ErrorCode.POLICY_VIOLATION]
    assert running.produce("e", b"x").error_code == 0


def test_other_brokers_are_reached_at_their_inter_broker_listener(tmp_path: Path) -> None:
    running = Running(tmp_path)
    shared, image = running.node.shared, running.node.image
    endpoint = Endpoint("PLAINTEXT", "host-7", 9092, 0)
    other = image.brokers[1]._replace(id=7, endpoints={"PLAINTEXT": endpoint})
    shared.controller.loader.image = image._replace(brokers={**image.brokers, 7: other})
    assert shared.endpoint_of(7) == ("host-7", 9092)
    assert shared.endpoint_of(8) is None
