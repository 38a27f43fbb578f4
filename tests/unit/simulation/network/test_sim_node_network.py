"""Connections between nodes: answered, refused, lost, or out of time."""

from __future__ import annotations

from typing import Any

from ground.ports import ChannelFailure
from ground.sim_scheduler import SimScheduler
from protocol.frames.message_codec import response_parts
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from simulation.network.sim_network import SimNetwork, Weather
from simulation.network.sim_node_network import SimNodeNetwork
from simulation.sim_process import ProcessScheduler
from tests.unit.simulation.network.stub_server import StubServer


class World:
    def __init__(self) -> None:
        self.world = SimScheduler()
        self.network = SimNetwork(self.world, "1", Weather(slow_chance=0.0))
        self.server = StubServer(self.world)
        self.network.add("broker-1", self.server, clients=True)
        self.node = SimNodeNetwork(self.network, "broker-2", ProcessScheduler(self.world))
        self.channel = self.node.channel("broker-1", 9093, "raft")
        self.told: list[Any] = []

    def send(self) -> None:
        self.channel.send(
            ApiVersionsRequest(), lambda response, failure: self.told.append(failure or response),
            1_000.0, 2,
        )  # fmt: skip
        self.world.run_for(100.0)


def test_an_answer_comes_back() -> None:
    one = World()
    one.send()
    _, reply = one.server.asked.pop()
    reply(response_parts(ApiVersionsResponse(), 2, 1))
    one.world.run_for(100.0)
    assert one.told == [ApiVersionsResponse()]


def test_refused_where_nobody_listens_and_tried_again() -> None:
    one = World()
    one.server.is_listening = False
    one.send()
    assert one.told == [ChannelFailure.REFUSED]
    one.server.is_listening = True
    one.send()
    assert len(one.server.asked) == 1


def test_no_answer_in_time() -> None:
    one = World()
    one.send()
    one.world.run_for(1_000.0)
    assert one.told == [ChannelFailure.TIMED_OUT]


def test_lost_where_the_other_end_dies_or_the_channel_is_closed() -> None:
    one = World()
    one.send()
    one.network.ends.process_gone("broker-1")
    one.world.run_for(100.0)
    one.channel.close()
    one.send()
    assert one.told == [ChannelFailure.LOST, ChannelFailure.LOST]


def test_the_end_of_a_life_closes_its_connections() -> None:
    one = World()
    one.send()
    one.node.end(silently=False)
    one.world.run_for(100.0)
    assert len(one.server.closed) == 1 and one.node.connections == {}


def test_a_link_that_is_cut_one_way_carries_what_stands_and_opens_nothing() -> None:
    one = World()
    one.send()
    one.network.links.cut("broker-1", "broker-2")
    one.send()
    assert len(one.server.asked) == 1, "the second waits for the first"
    one.server.asked[0][1](response_parts(ApiVersionsResponse(), 2, 1))
    one.world.run_for(50.0)
    assert len(one.server.asked) == 2
    one.world.run_for(1_000.0)
    assert one.told == [ChannelFailure.TIMED_OUT, ChannelFailure.LOST]
    one.send()
    one.world.run_for(1_000.0)
    assert len(one.server.asked) == 2, "nobody answers its SYN"
    one.network.links.heal()
    one.world.run_for(1_000.0)
    assert len(one.server.asked) == 2, "and it has been given up"
    one.send()
    assert len(one.server.asked) == 3
