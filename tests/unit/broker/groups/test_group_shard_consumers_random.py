"""Consumer groups by chance: members, lost answers, restarts, topics that come, grow and go.

Checked at every step: no two members that are in the group have a partition, by what they
themselves believe and by what the broker says; epochs never fall; a member is at the target's epoch
only with nothing to give up. And when it is quiet: the group is stable, and every partition of the
topics that somebody is subscribed to has one owner.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from broker.groups.consumer.membership import HeartbeatSender
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.reconciliation.position import STATIC_LEAVE_EPOCH
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
)
from tests.unit.broker.groups.playbook import GroupNode, image_with

SEEDS = 25
EVENTS = 150
Owned = set[tuple[bytes, int]]
GONE = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.FENCED_INSTANCE_ID,
)


class Client:
    """A consumer, as it sees itself."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name = name
        self.member_id = f"{name}-0"
        self.instance = name if chance.random() < 0.3 else None
        self.lives = 0
        self.epoch = 0
        self.has: Owned = set()
        self.is_in = False
        self.topics: list[str] = []
        self.regex: str | None = None

    def request(self, epoch: int, **said: Any) -> Any:
        return ConsumerGroupHeartbeatRequest(
            "g", self.member_id, epoch, instance_id=self.instance, **said
        )

    def owned(self) -> list[Any]:
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(self.has):
            by_topic.setdefault(topic_id, []).append(number)
        return [ConsumerGroupHeartbeatRequestTopicPartitions(*one) for one in by_topic.items()]

    def joining(self) -> Any:
        said: dict[str, Any] = {"subscribed_topic_names": self.topics}
        if self.regex is not None:
            said["subscribed_topic_regex"] = self.regex
        return self.request(0, rebalance_timeout_ms=8_000, topic_partitions=[], **said)

    def gives_up(self) -> None:
        """It is fenced, or ends: nothing is its own."""
        self.epoch, self.has, self.is_in = 0, set(), False

    def next_life(self) -> None:
        self.gives_up()
        self.lives += 1
        self.member_id = f"{self.name}-{self.lives}"

    def hears(self, answer: Any) -> None:
        if answer.error_code:
            assert answer.error_code in GONE, answer
            self.gives_up()
            return
        self.epoch, self.is_in = answer.member_epoch, True
        if answer.assignment is not None:
            self.has = {
                (topic.topic_id, number)
                for topic in answer.assignment.topic_partitions
                for number in topic.partitions
            }


class Play:
    """One group's life."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.node = GroupNode(
            group_consumer_assignment_interval_ms=self.chance.choice((0, 0, 1_000)),
            group_consumer_session_timeout_ms=20_000,
        )
        self.clients = [Client(f"c{number}", self.chance) for number in range(5)]
        self.topics: dict[str, tuple[bytes, int]] = {}
        self.made = 0
        self.epoch = 0
        self.quiet_ones = 0
        for name in ("a", "b"):
            self.make(name)

    def make(self, name: str) -> None:
        self.made += 1
        self.topics[name] = (bytes([self.made]) * 16, self.chance.randint(1, 5))
        self.publish()

    def publish(self) -> None:
        self.node.image = image_with(**self.topics)

    @property
    def group(self) -> ConsumerGroup | None:
        partition = self.node.coordinator.partition_for("g")
        shard: Any = self.node.coordinator._runtime.shard(partition)
        found = shard.groups.get("g")
        return found if isinstance(found, ConsumerGroup) else None

    # -- what happens --------------------------------------------------------------------------

    def send(self, request: Any) -> Any:
        quiet = self.quiet(request)
        written = self.node.log.appends
        answer = self.node.connect().call(request, 1)
        if quiet is not None:
            # What is answered without a decision would have been decided alike.
            self.quiet_ones += 1
            assert self.node.log.appends == written
            assert (answer.error_code, answer.assignment) == (0, None)
            assert answer.member_epoch == request.member_epoch
            assert answer.heartbeat_interval_ms == quiet
        return answer

    def quiet(self, request: Any) -> int | None:
        epoch = request.member_epoch
        plain = ConsumerGroupHeartbeatRequest("g", request.member_id, epoch, request.instance_id)
        if request != plain or epoch <= 0:
            return None
        sender = HeartbeatSender(
            "g", request.member_id, request.instance_id, "client", "/127.0.0.1"
        )
        return self.node.coordinator.quiet_heartbeat(sender, epoch)

    def beat(self, client: Client) -> None:
        if client.epoch == 0:
            client.topics = self.chance.choice((["a"], ["a", "b"], ["b", "c"], []))
            client.regex = self.chance.choice((None, None, "a|c", ""))
            answer = self.send(client.joining())
            if answer.error_code == ErrorCode.UNRELEASED_INSTANCE_ID:
                return
        else:
            said = {} if self.chance.random() < 0.4 else {"topic_partitions": client.owned()}
            answer = self.send(client.request(client.epoch, **said))
        if self.chance.random() < 0.15 and client.epoch:
            return  # The answer is lost: the client goes on as before.
        client.hears(answer)

    def leave(self, client: Client) -> None:
        if client.is_in:
            self.send(client.request(-1))
            client.next_life()

    def restart_of(self, client: Client) -> None:
        if client.is_in and client.instance is not None:
            self.send(client.request(STATIC_LEAVE_EPOCH))
        client.next_life()

    def subscribe(self, client: Client) -> None:
        if client.is_in:
            client.topics = self.chance.choice((["a"], ["a", "b"], ["c"], []))
            client.hears(
                self.send(
                    client.request(
                        client.epoch,
                        subscribed_topic_names=client.topics,
                        topic_partitions=client.owned(),
                    )
                )
            )

    def metadata(self, _: Client) -> None:
        name = self.chance.choice("abc")
        if name not in self.topics:
            self.make(name)
        elif self.chance.random() < 0.4:
            del self.topics[name]
        else:
            topic_id, count = self.topics[name]
            self.topics[name] = (topic_id, count + 1)
        self.publish()

    def time(self, _: Client) -> None:
        self.node.scheduler.run_for(self.chance.choice((100, 1_000, 3_000, 9_000)))
        self.see_who_is_gone()

    def restart(self, _: Client) -> None:
        self.node.restart()

    def see_who_is_gone(self) -> None:
        """Whoever was removed finds out before it goes on: a real client's own session is over."""
        group = self.group
        for client in self.clients:
            if client.is_in and (group is None or client.member_id not in group.members):
                client.gives_up()

    # -- what holds ----------------------------------------------------------------------------

    def check(self) -> None:
        group = self.group
        if group is None:
            return
        assert group.epoch >= self.epoch
        self.epoch = group.epoch
        assert group.assignment_epoch <= group.epoch
        held: Owned = set()
        for member in group.members.values():
            position = member.position
            assert position.epoch <= group.assignment_epoch
            for one in (position.assigned, position.revoking):
                for topic_id, numbers in one.items():
                    for number in numbers:
                        assert (topic_id, number) not in held
                        held.add((topic_id, number))
                        assert group.holder(topic_id, number) == member.member_id
        believed: Owned = set()
        for client in self.clients:
            if client.is_in and client.member_id in group.members:
                assert not believed & client.has
                believed |= client.has

    def settle(self) -> None:
        for _ in range(12):
            self.node.scheduler.run_for(1_500)
            self.see_who_is_gone()
            for client in self.clients:
                if client.is_in:
                    said = {"topic_partitions": client.owned()}
                    client.hears(self.send(client.request(client.epoch, **said)))
                    full = client.joining()
                    full.member_epoch = client.epoch
                    full.topic_partitions = client.owned()
                    full.subscribed_topic_regex = client.regex
                    if client.is_in:
                        client.hears(self.send(full))
                    self.check()

    def check_settled(self) -> None:
        group = self.group
        here = [client for client in self.clients if client.is_in]
        if group is None or len(group.members) != len(here) or not here:
            return
        assert group.state.value == "Stable"
        wanted: Owned = set()
        for member in group.members.values():
            for name in group.names_of(member.subscription):
                if name in self.topics:
                    topic_id, count = self.topics[name]
                    wanted |= {(topic_id, number) for number in range(count)}
        owned = [one for client in here for one in client.has]
        assert len(owned) == len(set(owned))
        assert set(owned) == wanted


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_held_twice_and_all_is_held_in_the_end(seed: int) -> None:
    play = Play(seed)
    events: list[tuple[int, Callable[[Client], None]]] = [
        (60, play.beat),
        (4, play.leave),
        (4, play.restart_of),
        (6, play.subscribe),
        (5, play.metadata),
        (8, play.time),
        (3, play.restart),
    ]
    weights = [weight for weight, _ in events]
    for _ in range(EVENTS):
        (_, event) = play.chance.choices(events, weights)[0]
        event(play.chance.choice(play.clients))
        play.check()
    play.metadata(play.clients[0])
    play.settle()
    play.check_settled()
    assert play.quiet_ones
