from __future__ import annotations

from pathlib import Path
from typing import Any

from broker.node.controller_server import ControllerServer
from controller.requests.controller_apis import API_KEYS, FORWARDED_KEYS
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

NOT_INSIDE = (
    ApiKey.BROKER_REGISTRATION,
    ApiKey.BROKER_HEARTBEAT,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
    ApiKey.CONTROLLER_REGISTRATION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
)


def ask(running: Running, server: ControllerServer, request: Any, version: int) -> Any:
    reply = Reply()
    frame = memoryview(bytearray(encode_request(request, version, 5, "me")))[4:]
    server.requests.handle(Connection(), frame, reply)
    running.scheduler.run_until(lambda: bool(reply))
    data = bytes(reply[0])
    return decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)[1]


def test_what_the_controller_listener_serves(tmp_path: Path) -> None:
    running = Running(tmp_path)
    server = ControllerServer(running.node.shared)
    answer = ask(running, server, ApiVersionsRequest(client_software_name="a",
                 client_software_version="1"), 4)  # fmt: skip
    served = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    raft = (1, 52, 53, 54, 55, 59)
    assert sorted(served) == sorted({*map(int, API_KEYS), *raft, 17, 18, 36, 58})
    for key, versions in served.items():
        assert versions == STABLE_VERSIONS[ApiKey(key)]
    running.stop()


def test_the_controller_answers_there_and_its_quorum_is_described(tmp_path: Path) -> None:
    running = Running(tmp_path)
    server = ControllerServer(running.node.shared)
    created = ask(running, server, CreateTopicsRequest([CreatableTopic("t", 2, 1)], 1_000), 7)
    assert [topic.error_code for topic in created.topics] == [0]
    partition = DescribeQuorumRequestPartitionData(0)
    topic = DescribeQuorumRequestTopicData("__cluster_metadata", [partition])
    described = ask(running, server, DescribeQuorumRequest([topic]), 2)
    assert described.topics[0].partitions[0].leader_id == 1
    running.stop()


def test_every_api_there_can_say_that_it_failed(tmp_path: Path) -> None:
    running = Running(tmp_path)
    server = ControllerServer(running.node.shared)
    for key in server.requests.apis:
        request = messages_of(ApiKey(key)).request()
        server.requests.refusal(key, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    running.stop()


def test_what_nodes_say_in_their_own_name_comes_in_no_envelope() -> None:
    assert [key for key in NOT_INSIDE if key in FORWARDED_KEYS] == []
