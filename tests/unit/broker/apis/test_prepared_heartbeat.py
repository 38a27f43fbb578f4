"""A prepared heartbeat is answered as ever where nothing changes, and not at all where it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from broker.requests.request_handler import RequestHandler
from controller.metadata.image import ResourceType
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, image_with
from tests.unit.controller.rights_fixture import ListJudge

CALLS_MAX = 60


class Client:
    """One connection to a node: what is prepared is tried, then the general way."""

    def __init__(self, node: GroupNode, prepared_bytes: int = 1 << 20) -> None:
        self.node = node
        self.handler = RequestHandler(node.apis.values(), prepared_bytes)
        self.connection = Connection()
        self.at_once = False
        self._count = 0

    def serve_anew(self) -> None:
        """The node was started again."""
        self.handler = RequestHandler(self.node.apis.values(), 1 << 20)

    def frame(self, request: Any, version: int = 1, client_id: str = "client") -> memoryview:
        self._count += 1
        return memoryview(bytearray(encode_request(request, version, self._count, client_id)[4:]))

    def raw(self, frame: memoryview) -> bytes:
        """The answer."""
        answer = self.handler.handle_at_once(self.connection, frame, _nobody)
        self.at_once = answer is not None
        if answer is not None:
            assert isinstance(answer, bytes)
            return answer
        reply = Reply()
        self.handler.handle(self.connection, frame, reply)
        self.node.scheduler.run_until(lambda: bool(reply), limit_ms=100_000)
        return bytes(reply[0])

    def send(self, request: Any, version: int = 1, client_id: str = "client") -> Any:
        answer = self.raw(self.frame(request, version, client_id))
        key = ApiKey.CONSUMER_GROUP_HEARTBEAT
        return decode_response(key, memoryview(answer)[4:], version)[1]

    def join(self, member: str = "m", **said: Any) -> Any:
        return self.send(
            ConsumerGroupHeartbeatRequest(
                "g",
                member,
                0,
                rebalance_timeout_ms=9_000,
                topic_partitions=[],
                **{"subscribed_topic_names": ["conversation"], **said},
            )
        )

    def beat(self, epoch: int = 2, member: str = "m", version: int = 1, **said: Any) -> Any:
        return self.send(ConsumerGroupHeartbeatRequest("g", member, epoch, **said), version)


def _nobody() -> Reply:
    raise AssertionError("a heartbeat that is answered at once waits for nobody")


@pytest.fixture
def client() -> Client:
    """Whose member `m` is alone, at epoch 2, and was heard once."""
    made = Client(GroupNode(group_consumer_assignment_interval_ms=0))
    made.join()
    assert made.beat().member_epoch == 2 and not made.at_once
    return made


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("instance", [None, "i"])
def test_the_second_one_is_answered_at_once_with_the_same_bytes(
    version: int, instance: str | None
) -> None:
    short, long = (Client(GroupNode(), most) for most in (1 << 20, 0))
    answers: list[list[bytes]] = []
    for one in (short, long):
        one.join(instance_id=instance)
        said = ConsumerGroupHeartbeatRequest("g", "m", 2, instance)
        answers.append([one.raw(one.frame(said, version)) for _ in range(3)])
    assert answers[0] == answers[1]
    assert short.at_once and not long.at_once


def test_it_writes_nothing_and_is_counted(client: Client) -> None:
    written = client.node.log.appends
    before = client.handler.metrics[ApiKey.CONSUMER_GROUP_HEARTBEAT].requests
    for _ in range(3):
        answer = client.beat()
        assert client.at_once
        assert (answer.error_code, answer.member_epoch) == (0, 2)
        assert (answer.heartbeat_interval_ms, answer.assignment) == (5_000, None)
    assert client.node.log.appends == written
    assert client.handler.metrics[ApiKey.CONSUMER_GROUP_HEARTBEAT].requests == before + 3


def test_it_is_a_sign_of_life(client: Client) -> None:
    for _ in range(5):
        client.node.scheduler.run_for(30_000)
        assert client.beat().error_code == 0 and client.at_once
    client.node.scheduler.run_for(46_000)
    assert client.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_one_kind_is_enough_for_all_epochs(client: Client) -> None:
    client.join("n")
    assert client.beat().member_epoch == 2 and not client.at_once  # what it is to give up
    told = client.beat(
        topic_partitions=[ConsumerGroupHeartbeatRequestTopicPartitions(TOPIC_ID, [0])]
    )
    assert told.member_epoch == 3
    assert client.beat(3).member_epoch == 3 and client.at_once
    kinds = len(client.handler.prepared)
    client.beat(3)
    assert len(client.handler.prepared) == kinds


def _resigns(client: Client) -> None:
    coordinator = client.node.coordinator
    coordinator.on_resigned(coordinator.partition_for("g"), client.node.epoch)


def _is_off(client: Client) -> None:
    client.node.image = client.node.image._replace(features={"group.version": 0})


def _another_joins(client: Client) -> None:
    client.join("n")


def _topic_grows(client: Client) -> None:
    client.node.image = image_with(conversation=(TOPIC_ID, 3))


def _it_says_another_subscription(client: Client) -> None:
    client.beat(subscribed_topic_names=["other"])


def _it_leaves(client: Client) -> None:
    client.beat(-1)


def _it_was_heard_from_elsewhere(client: Client) -> None:
    client.send(ConsumerGroupHeartbeatRequest("g", "m", 2), client_id="another")


@pytest.mark.parametrize(
    ("what", "error", "epoch"),
    [
        (_resigns, ErrorCode.NOT_COORDINATOR, 0),
        (_is_off, ErrorCode.UNSUPPORTED_VERSION, 0),
        (_another_joins, ErrorCode.NONE, 2),
        (_topic_grows, ErrorCode.NONE, 3),
        (_it_says_another_subscription, ErrorCode.NONE, 2),
        (_it_leaves, ErrorCode.UNKNOWN_MEMBER_ID, 0),
        (_it_was_heard_from_elsewhere, ErrorCode.NONE, 2),
    ],
)
def test_where_something_changed_it_is_decided(
    client: Client, what: Callable[[Client], None], error: ErrorCode, epoch: int
) -> None:
    client.beat()
    assert client.at_once
    what(client)
    answer = client.beat()
    assert not client.at_once
    assert (answer.error_code, answer.member_epoch) == (error, epoch)


@pytest.mark.parametrize("epoch", [1, 3, 0, -1, -2])
def test_another_epoch_is_decided(client: Client, epoch: int) -> None:
    client.beat()
    client.beat(epoch)
    assert not client.at_once


def test_what_says_more_is_never_prepared(client: Client) -> None:
    for said in (
        {"topic_partitions": []},
        {"rack_id": "r"},
        {"rebalance_timeout_ms": 9_000},
        {"subscribed_topic_names": ["conversation"]},
        {"server_assignor": "range"},
    ):
        for _ in range(2):
            client.beat(**said)
            assert not client.at_once


def test_an_answer_that_waits_for_its_commit_is_not_given_at_once(client: Client) -> None:
    client.node.log.commit_at_once = False
    client.send(ConsumerGroupHeartbeatRequest("g", "m", 2, rebalance_timeout_ms=9_000))
    silent = Reply()
    client.handler.handle(
        client.connection,
        client.frame(ConsumerGroupHeartbeatRequest("g", "m", 2, rebalance_timeout_ms=7_000)),
        silent,
    )
    assert not silent
    frame = client.frame(ConsumerGroupHeartbeatRequest("g", "m", 2))
    assert client.handler.handle_at_once(client.connection, frame, _nobody) is None
    client.node.log.commit(client.node.coordinator.partition_for("g"))
    assert silent
    assert client.beat().error_code == 0 and client.at_once


def test_a_new_interval_is_told_at_once(client: Client) -> None:
    configs = {(ResourceType.GROUP, "g"): {"consumer.heartbeat.interval.ms": "7000"}}
    client.node.image = client.node.image._replace(configs=configs)
    assert client.beat().heartbeat_interval_ms == 7_000
    assert client.at_once


def test_after_a_restart_the_first_one_looks_at_the_topics_again(client: Client) -> None:
    client.node.restart()
    client.serve_anew()
    assert client.beat().error_code == 0 and not client.at_once
    client.beat()
    assert client.at_once


def test_rights_that_changed_are_asked_again(client: Client) -> None:
    judge = ListJudge({(Operation.READ, Resource.GROUP, "g")})
    client.handler.admission.judge_by(judge)
    for at_once in (False, True):
        assert client.beat().error_code == 0
        assert client.at_once is at_once
    judge.allowed.clear()
    client.handler.admission.changed()
    for _ in range(2):
        assert client.beat().error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert not client.at_once


def test_an_expression_is_looked_up_when_that_is_due() -> None:
    client = Client(GroupNode(group_consumer_assignment_interval_ms=0))
    client.join(subscribed_topic_names=None, subscribed_topic_regex="conv.*")
    epoch = client.beat(1).member_epoch
    assert epoch == 2
    for _ in range(2):
        client.beat(2)
    assert client.at_once
    client.node.image = image_with(conversation=(TOPIC_ID, 2), convoy=(bytes([5]) * 16, 2))
    client.beat(2)  # looks at the topics, too soon for a look-up
    client.beat(2)
    assert client.at_once
    client.node.scheduler.run_for(11_000)
    client.beat(2)
    assert not client.at_once
    assert client.beat(2).member_epoch == 3


def _calls(client: Client) -> int:
    frame = client.frame(ConsumerGroupHeartbeatRequest("g", "m", 2))
    calls = 0

    def count(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        answer = client.handler.handle_at_once(client.connection, frame, _nobody)
    finally:
        sys.setprofile(None)
    assert answer is not None
    return calls


def test_what_it_takes_does_not_grow_with_the_group(client: Client) -> None:
    client.beat()
    alone = _calls(client)
    assert alone <= CALLS_MAX
    for number in range(100):
        assert client.join(f"n{number}", subscribed_topic_names=[]).member_epoch == 2
    client.beat()
    assert client.at_once
    assert _calls(client) == alone
