"""Deliveries of share groups in a cluster: leaders die, connections close, and no record is lost.

The states of the group's share-partitions are initialized directly, as the group coordinator does.
"""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from tests.clients.share_talk import ACCEPT, RELEASE, acknowledge_request, fetch_request, shown
from tests.simulation.scenario import Scenario, ScriptedClient
from tests.simulation.share_states import States

SEEDS = (1, 2, 3)
VERSION = 2
WITHIN_MS = 40_000
WAIT_MS = 4_000
RECORDS = 10


class Member:
    """A member of the group, with a connection of its own to each broker."""

    def __init__(self, story: Scenario, name: str, topic_id: bytes) -> None:
        self._story = story
        self._client = story.add(ScriptedClient, name)
        self._name = name
        self._topic_id = topic_id

    def send(self, to: SimBroker, request: Any) -> Any:
        """Send a request; the answer will be in the exchange."""
        connection = self._client.connection(to.address)
        assert connection is not None
        return connection.send(request, VERSION, WITHIN_MS)

    def fetching(self, to: SimBroker, epoch: int) -> Any:
        """Begin a ShareFetch that waits for records."""
        request = fetch_request(self._topic_id, "g", self._name, epoch, max_wait_ms=WAIT_MS)
        return self.send(to, request)

    def answer(self, exchange: Any) -> str:
        """Return an answer as a line; `no answer` if the broker died."""
        self._story.run_until(lambda: exchange.outcome is not None, WITHIN_MS)
        return "no answer" if exchange.response is None else shown(exchange.response)

    def fetch(self, to: SimBroker, epoch: int) -> str:
        """Fetch records; return the answer as a line."""
        return self.answer(self.fetching(to, epoch))

    def join(self) -> tuple[SimBroker, str]:
        """Open a session at the present leader; return it and the answer. A new leader may not know
        yet that it leads, and leadership may return to another broker."""
        for _ in range(100):
            leader = self._story.leader()
            answer = self.fetch(leader, 0)
            if answer != "0 NOT_LEADER_OR_FOLLOWER":
                return leader, answer
            self._story.run_for(50)
        raise AssertionError("no leader serves")

    def acknowledge(self, to: SimBroker, epoch: int, *batches: tuple[int, ...]) -> str:
        """Acknowledge records; return the answer as a line."""
        request = acknowledge_request(self._topic_id, "g", self._name, epoch, batches)
        return self.answer(self.send(to, request))

    def die(self) -> None:
        """Close all connections."""
        self._client.die()


class Deliveries:
    """A story with RECORDS records in partition 0 of `orders`, and a group that begins there."""

    def __init__(self, story: Scenario) -> None:
        self.story = story
        states = States(story)
        states.initialize(story.brokers[0])
        self.topic_id = states.key.topic_id
        self.leader = story.leader()
        produced = story.produce("orders", 0, self.leader, count=RECORDS)
        assert story.settled(produced) is ErrorCode.NONE

    def member(self, name: str) -> Member:
        """Return a new member."""
        return Member(self.story, name, self.topic_id)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_next_leader_goes_on_with_what_was_acknowledged(seed: int) -> None:
    story = Scenario(seed)

    def tell() -> None:
        deliveries = Deliveries(story)
        old, member = deliveries.leader, deliveries.member("a")
        assert member.fetch(old, 0) == "0 0-9 of 0-9"
        assert member.acknowledge(old, 1, (0, 3, ACCEPT), (5, 5, ACCEPT), (7, 7, RELEASE)) == "0"
        story.kill(old)
        story.new_leader(old)
        other = deliveries.member("b")
        new, answer = other.join()
        assert answer == "0 4-4 6-6 7-7x2 8-9 of 0-9"
        assert other.acknowledge(new, 1, (4, 4, ACCEPT), (6, 9, ACCEPT)) == "0"
        story.start(old)
        story.kill(new)
        story.new_leader(new)
        assert deliveries.member("c").join()[1] == "0"
        story.start(new)

    assert story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_member_that_is_gone_gives_its_records_to_one_that_waits(seed: int) -> None:
    story = Scenario(seed)

    def tell() -> None:
        deliveries = Deliveries(story)
        leader, member = deliveries.leader, deliveries.member("a")
        assert member.fetch(leader, 0) == "0 0-9 of 0-9"
        other = deliveries.member("b")
        waiting = other.fetching(leader, 0)
        story.run_for(1_000)
        assert waiting.outcome is None
        member.die()
        assert other.answer(waiting) == "0 0-9x2 of 0-9"
        assert other.acknowledge(leader, 1, (0, 9, ACCEPT)) == "0"

    assert story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fetch_that_waits_hears_of_a_new_leader(seed: int) -> None:
    story = Scenario(seed)

    def tell() -> None:
        deliveries = Deliveries(story)
        old, member = deliveries.leader, deliveries.member("a")
        assert member.fetch(old, 0) == "0 0-9 of 0-9"
        waiting = member.fetching(old, 1)
        story.run_for(500)
        assert waiting.outcome is None
        stopped: list[bool] = []
        old.stop(lambda: stopped.append(True))
        assert member.answer(waiting) in ("0 NOT_LEADER_OR_FOLLOWER", "no answer")
        story.new_leader(old)
        assert deliveries.member("b").join()[1] == "0 0-9 of 0-9"
        story.run_until(lambda: bool(stopped), 60_000)
        story.start(old)

    assert story.run(tell)
