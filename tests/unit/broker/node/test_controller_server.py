from __future__ import annotations

from pathlib import Path
from typing import Any

from broker.apis.envelope import unwrap, wrap
from broker.node.controller_server import ControllerServer
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED, Verdict
from controller.requests.controller_apis import API_KEYS, FORWARDED_KEYS
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Action, Asker, Operation
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running
from tests.unit.controller.rights_fixture import ListJudge, on_cluster

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
    raft = (1, 52, 53, 54, 55, 59, 80, 81, 82)
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


def test_a_heartbeat_of_one_who_is_no_node_tells_nothing_of_a_broker(tmp_path: Path) -> None:
    running = Running(tmp_path)
    server = ControllerServer(running.node.shared)
    judge = ListJudge()
    server.requests.admission.judge_by(judge)
    heard: list[int] = []
    server.probe.note_heartbeat = lambda _id, request: heard.append(request.broker_id)  # type: ignore
    epoch = running.node.broker_epoch()
    for allowed, error in ((set(), 31), (on_cluster(Operation.CLUSTER_ACTION), 0)):
        judge.allowed = allowed
        answer = ask(running, server, BrokerHeartbeatRequest(1, epoch), 1)
        assert answer.error_code == error
        assert heard == ([] if error else [1])
    running.stop()


def test_an_envelope_is_judged_by_this_node(tmp_path: Path) -> None:
    """First for who sends it, then for the client."""
    running = Running(tmp_path)
    server = ControllerServer(running.node.shared)
    create = CreateTopicsRequest([CreatableTopic("t", 1, 1)], 1_000)
    client = RequestContext(19, 7, 3, "client", "10.1.2.3", "PLAINTEXT", "c", UNLIMITED, "User:al")
    askers: list[tuple[str, str]] = []

    class Judge(ListJudge):
        def judge(self, asker: Asker, action: Action) -> Verdict:
            askers.append((asker.principal, action.operation.name))
            return super().judge(asker, action)

    judge = Judge()
    server.requests.admission.judge_by(judge)
    refused = ask(running, server, in_one_go(wrap(client, create)), 0)
    assert (refused.error_code, refused.response_data) == (31, None)
    judge.allowed = on_cluster(Operation.CLUSTER_ACTION)
    opened = ask(running, server, in_one_go(wrap(client, create)), 0)
    assert opened.error_code == 0
    assert [one.error_code for one in in_one_go(unwrap(client, opened)).topics] == [29]
    broker = "User:ANONYMOUS"
    assert askers == [
        (broker, "CLUSTER_ACTION"),
        (broker, "CLUSTER_ACTION"),
        ("User:al", "CREATE"),
        ("User:al", "CREATE"),
    ]
    assert running.node.image.topics.by_name == {}
    running.stop()
