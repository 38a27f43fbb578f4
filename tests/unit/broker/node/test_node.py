"""One node on a real folder in virtual time: it comes up, serves, goes down and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.config.endpoints import EndPoint
from broker.config.parse import BrokerConfig
from broker.config.start_error import StartError
from broker.node.node import Node, NodePorts
from broker.node.storage_folders import open_storage
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record, build_batch
from storage.filesystem import Filesystem, LocalFilesystem
from storage.log.closed_files import UNLIMITED
from tests.simulation.sim_scheduler import SimBlocking, SimScheduler


class Halted(Exception):
    pass


class Connection:
    at_once: Any = None
    connection_id = "c"
    client_host = "here"
    listener_name = "PLAINTEXT"


class Reply:
    def __init__(self) -> None:
        self.parts: Any = None

    def __call__(self, parts: Any) -> None:
        self.parts = parts

    def close(self) -> None:
        raise AssertionError("the connection is closed")


class Running:
    """A node that has come up. A later `life` draws other numbers, as for its incarnation."""

    def __init__(
        self,
        folder: Path | str,
        open_files_max: int = UNLIMITED,
        *,
        life: int = 0,
        filesystem: Filesystem | None = None,
        **overrides: str,
    ) -> None:
        self.scheduler = SimScheduler(life)
        blocking = SimBlocking(self.scheduler)
        config = BrokerConfig.single_node({"log.dirs": str(folder), **overrides})
        filesystem = filesystem or LocalFilesystem()
        ports = NodePorts(
            filesystem,
            self.scheduler,
            blocking,
            blocking,
            self.scheduler.random.randbytes,
            halt,
            open_files_max=open_files_max,
        )
        storage = open_storage(config, filesystem, ports.random_bytes, self.scheduler.wall_ms())
        self.node = Node(config, ports, storage)
        self.started: list[Exception | None] = []
        self.node.start([EndPoint("PLAINTEXT", "PLAINTEXT", "here", 9092)], self.started.append)
        self.scheduler.run_until(lambda: bool(self.started))
        assert self.started == [None]

    def ask(self, request: Any, version: int, client_id: str | None = "me") -> Any:
        """One request and its response, whenever it comes."""
        reply = Reply()
        frame = memoryview(bytearray(encode_request(request, version, 5, client_id)))[4:]
        self.node.handle(Connection(), frame, reply)
        self.scheduler.run_until(lambda: reply.parts is not None)
        parts = reply.parts if isinstance(reply.parts, list) else [reply.parts]
        data = b"".join(
            p if isinstance(p, memoryview | bytearray | bytes) else p.read() for p in parts
        )
        return decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)[1]

    def create(self, *names: str) -> list[int]:
        topics = [CreatableTopic(name, 1, 1) for name in names]
        response = self.ask(CreateTopicsRequest(topics, 1000), 7)
        return [topic.error_code for topic in response.topics]

    def produce(self, topic: str, value: bytes | None, key: bytes = b"k") -> Any:
        batch = build_batch([Record(-1, self.scheduler.wall_ms(), key, value)])
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
        response = self.ask(ProduceRequest(None, -1, 1000, data), 9)
        return response.responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int) -> Any:
        asked = FetchTopic(topic, partitions=[FetchPartition(0, fetch_offset=offset)])
        asked.partitions[0].partition_max_bytes = 1 << 20
        request = FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[asked])
        return self.ask(request, 11).responses[0].partitions[0]

    def stop(self) -> None:
        self.node.begin_stop()
        self.scheduler.run_for(1000)
        self.node.finish_stop()


def halt(reason: str) -> None:
    raise Halted(reason)


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
