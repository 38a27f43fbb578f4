"""Links of a node that a test cuts."""

from __future__ import annotations

from typing import Any

import pytest

from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimScheduler
from testbed.faults.links import CuttableChannel, NodeLinks


class Channel:
    def __init__(self) -> None:
        self.sent: list[tuple[Any, Answered, float, int | None]] = []

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        self.sent.append((request, done, timeout_ms, version))

    def close(self) -> None:
        for _, done, _, _ in self.sent:
            done(None, ChannelFailure.LOST)


class Network:
    def __init__(self) -> None:
        self.opened: list[tuple[str, int, str]] = []
        self.channels: list[Channel] = []

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        self.opened.append((host, port, client_id))
        self.channels.append(Channel())
        return self.channels[-1]


class Bench:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.network = Network()
        self.links = NodeLinks(self.scheduler)
        self.told: list[tuple[Any, ChannelFailure | None]] = []

    def channel(self, port: int) -> CuttableChannel:
        return self.links.over(self.network).channel("here", port, "me")

    def send(self, channel: CuttableChannel, request: str) -> None:
        channel.send(request, lambda answer, failure: self.told.append((answer, failure)), 500.0, 3)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_what_is_not_cut_goes_its_way(bench: Bench) -> None:
    bench.links.cut([2])
    channel = bench.channel(1)
    assert bench.network.opened == [], "a channel connects with its first request"
    bench.send(channel, "a")
    bench.send(channel, "b")
    assert bench.network.opened == [("here", 1, "me")]
    (real,) = bench.network.channels
    assert [(one[0], one[2], one[3]) for one in real.sent] == [("a", 500.0, 3), ("b", 500.0, 3)]
    real.sent.pop()[1]("answer", None)
    assert bench.told == [("answer", None)]


def test_what_was_under_way_is_lost_and_the_rest_gets_nowhere(bench: Bench) -> None:
    channel, other = bench.channel(1), bench.channel(2)
    bench.send(channel, "a")
    bench.send(other, "x")
    bench.links.cut([1])
    assert bench.told == [(None, ChannelFailure.LOST)]
    bench.send(channel, "b")
    bench.scheduler.run_for(499)
    assert len(bench.told) == 1, "never from the call, and not before its time is up"
    bench.scheduler.run_for(2)
    assert bench.told[1:] == [(None, ChannelFailure.TIMED_OUT)]
    assert len(bench.network.opened) == 2


def test_a_link_that_is_whole_again_connects_anew(bench: Bench) -> None:
    channel = bench.channel(1)
    bench.send(channel, "a")
    bench.links.cut([1])
    bench.links.heal()
    bench.send(channel, "b")
    assert [one[0] for one in bench.network.channels[1].sent] == ["b"]


def test_what_got_nowhere_is_lost_when_the_link_is_whole_again(bench: Bench) -> None:
    channels = [bench.channel(port) for port in (1, 1, 2)]
    bench.links.cut([1, 2])
    for channel in channels:
        bench.send(channel, "a")
    bench.links.heal([1])
    assert bench.told == [(None, ChannelFailure.LOST)] * 2
    bench.scheduler.run_for(501)
    assert bench.told[2:] == [(None, ChannelFailure.TIMED_OUT)]
    bench.links.heal()
    assert len(bench.told) == 3


def test_some_links_are_healed_and_others_stay_cut(bench: Bench) -> None:
    bench.links.cut([1, 2])
    bench.links.heal([2, 3])
    assert bench.links.is_cut(1) and not bench.links.is_cut(2)


def test_a_channel_that_is_closed_is_not_broken_again(bench: Bench) -> None:
    channel = bench.channel(1)
    bench.send(channel, "a")
    channel.close()
    channel.close()
    bench.links.cut([1])
    assert bench.told == [(None, ChannelFailure.LOST)]
