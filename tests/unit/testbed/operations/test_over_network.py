"""Asking a cluster: by the node that is meant, and by any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ground.ports import ChannelFailure
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from testbed.operations.over_network import OverNetwork
from testbed.operations.port import NoAnswer, NotServed

Respond = Callable[[Any], Any]


class Net:
    """Channels whose answers a test has written."""

    def __init__(self, **answers: Respond) -> None:
        self.answers = answers
        self.made: list[tuple[str, int]] = []
        self.sent: list[tuple[str, str]] = []
        self.versions: list[int | None] = []
        self.closed = 0

    def channel(self, host: str, port: int, client_id: str) -> Any:
        self.made.append((host, port))
        return NetChannel(self, host)


class NetChannel:
    def __init__(self, net: Net, host: str) -> None:
        self.net = net
        self.host = host

    def send(self, request: Any, done: Any, timeout_ms: float, version: int | None = None) -> None:
        self.net.sent.append((self.host, type(request).__name__))
        self.net.versions.append(version)
        answer = self.net.answers[self.host](request)
        done(None, answer) if isinstance(answer, ChannelFailure) else done(answer, None)

    def close(self) -> None:
        self.net.closed += 1


def cluster(request: Any) -> Any:
    if isinstance(request, MetadataRequest):
        brokers = [MetadataResponseBroker(1, "a", 1), MetadataResponseBroker(2, "b", 2)]
        return MetadataResponse(brokers=brokers)
    return "yes"


async def test_a_node_is_found_by_its_id() -> None:
    net = Net(boot=cluster, b=lambda _: "two's")
    ask = OverNetwork(net, [("boot", 9)])
    assert await ask(2, HeartbeatRequest(), 4) == "two's"
    assert await ask(2, HeartbeatRequest(), 4) == "two's"
    assert [name for _, name in net.sent].count("MetadataRequest") == 1


async def test_a_node_that_has_just_gone_did_not_answer() -> None:
    """Another node's metadata may still name it as a leader: so one looks again."""
    with pytest.raises(NoAnswer, match="node 7 is not in the cluster now") as raised:
        await OverNetwork(Net(boot=cluster), [("boot", 9)])(7, HeartbeatRequest(), 4)
    assert not raised.value.was_sent


async def test_any_node_is_the_first_that_answers() -> None:
    net = Net(dead=lambda _: ChannelFailure.REFUSED, boot=cluster)
    ask = OverNetwork(net, [("dead", 1), ("boot", 9)])
    assert await ask(None, HeartbeatRequest(), 4) == "yes"
    nobody = OverNetwork(net, [("dead", 1)])
    with pytest.raises(NoAnswer, match=r"no answer from dead:1 \(refused\)") as raised:
        await nobody(None, HeartbeatRequest(), 4)
    assert not raised.value.was_sent


async def test_what_may_be_parked_has_a_channel_of_its_own() -> None:
    net = Net(boot=cluster)
    ask = OverNetwork(net, [("boot", 9)])
    for request in (HeartbeatRequest(), JoinGroupRequest(), JoinGroupRequest()):
        await ask(None, request, 4)
    assert net.made == [("boot", 9), ("boot", 9)]
    ask.close()
    assert net.closed == 2


async def test_a_connection_that_was_lost_is_made_again_for_a_look() -> None:
    answers: list[Any] = [MetadataResponse(), ChannelFailure.LOST, MetadataResponse()]
    net = Net(boot=lambda _: answers.pop(0))
    ask = OverNetwork(net, [("boot", 9)])
    for _ in range(2):
        assert await ask(None, MetadataRequest([], False), 9) == MetadataResponse()


async def test_an_api_that_not_every_broker_has_is_looked_for_before_it_is_asked() -> None:
    served = ApiVersionsResponse(api_keys=[ApiVersion(69, 0, 0)])
    net = Net(boot=lambda one: served if isinstance(one, ApiVersionsRequest) else "yes")
    ask = OverNetwork(net, [("boot", 9)])
    assert await ask(None, ConsumerGroupDescribeRequest(["g"]), 1) == "yes"
    assert net.versions[-1] == 0, "the newest that it has"
    served.api_keys.clear()
    with pytest.raises(NotServed, match="does not serve ConsumerGroupDescribeRequest"):
        await ask(None, ConsumerGroupDescribeRequest(["g"]), 1)
