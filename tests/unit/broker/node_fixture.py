"""One node on a real folder in virtual time, and what clients ask of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker.config.endpoints import EndPoint
from broker.config.parse import single_node_config
from broker.config.plugins import names_python_class
from broker.node.node import Node
from broker.node.node_ports import NodePorts
from broker.node.preparation.storage_folders import open_storage
from broker.plugins.node_plugins import NodePlugins
from broker.requests.context import ANONYMOUS
from controller.authorization.rights import Judge
from ground.filesystem import Filesystem, LocalFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from storage.log.closed_files import UNLIMITED
from tests.batches import build_batch
from tests.unit.broker.fake_connection import Connection, Reply


class Halted(Exception):
    pass


def halt(reason: str) -> None:
    raise Halted(reason)


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
        config = single_node_config({"log.dirs": str(folder), **overrides})
        filesystem = filesystem or LocalFilesystem()
        plugins = None
        if names_python_class(config.originals):
            plugins = NodePlugins(config, self.scheduler, blocking)
        ports = NodePorts(
            filesystem,
            self.scheduler,
            blocking,
            blocking,
            self.scheduler.random.randbytes,
            halt,
            open_files_max=open_files_max,
            plugins=plugins,
        )
        storage = open_storage(config, filesystem, ports.random_bytes, self.scheduler.wall_ms())
        self.node = Node(config, ports, storage)
        self.started: list[Exception | None] = []
        self.node.start([EndPoint("PLAINTEXT", "PLAINTEXT", "here", 9092)], self.started.append)
        self.scheduler.run_until(lambda: bool(self.started))
        assert self.started == [None]

    def judge_by(self, judge: Judge) -> None:
        """What clients of the broker may do."""
        broker = self.node.broker
        assert broker is not None
        broker.requests.admission.judge_by(judge)

    def ask(
        self,
        request: Any,
        version: int,
        client_id: str | None = "me",
        principal: str = ANONYMOUS,
    ) -> Any:
        """One request and its response, whenever it comes."""
        reply = Reply()
        connection = Connection()
        connection.authenticated(principal)
        frame = memoryview(bytearray(encode_request(request, version, 5, client_id)))[4:]
        self.node.handle(connection, frame, reply)
        self.scheduler.run_until(lambda: bool(reply) or reply.closed)
        if reply.error is not None:
            raise reply.error
        (parts,) = reply  # empty: the connection was closed
        parts = parts if isinstance(parts, list) else [parts]
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
