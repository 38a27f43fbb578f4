"""A coordinator dies at each step of a group's conversion, to the consumer protocol and back.

Two classic members that keep what they have, and a consumer that comes and goes. At each step, at
each moment of a request, the coordinator dies; the next one goes on with the same members.
"""

from __future__ import annotations

from typing import Any

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.group_state import ConsumerGroupState
from broker.groups.group_shard import GroupShard
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from tests.simulation.cast import MIGRATING
from tests.simulation.consumer_groups.consumer_member import LEAVE_EPOCH
from tests.simulation.consumer_groups.conversion_stories import (
    ALL_PARTITIONS,
    a_classic_member_hands_over,
)
from tests.simulation.consumer_groups.migrating_member import Speaks
from tests.simulation.consumer_groups.steered_member import SteeredMember, steered
from tests.simulation.group_members import ELSEWHERE, Key
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import STAY, Trap

pytestmark = pytest.mark.slow

SEEDS = (1, 2)
SETTLES_WITHIN_MS = 30_000.0


class Conversions:
    """One group in one story."""

    def __init__(self, story: Scenario) -> None:
        self.story = story
        self.trap = Trap(story)
        self.classics = [
            steered(story, f"classic-{number}", Speaks.COOPERATIVE) for number in range(2)
        ]
        self.consumers: list[SteeredMember] = []
        self.committed: dict[Key, int] = {}
        self.waited = 0
        """How often the consumer had still nothing where it is to be given something."""
        story.run_until(lambda: self.is_settled(ClassicGroup), SETTLES_WITHIN_MS)
        self.ids = [one.member_id for one in self.classics]

    @property
    def group(self) -> Any:
        """As its coordinator has it; None where nobody does."""
        node = self.story.view.coordinator()
        if node is None or node.node is None or node.node.broker is None or not node.serving:
            return None
        for shard in node.node.broker.parts.groups._runtime.active_shards():
            assert isinstance(shard, GroupShard)
            if MIGRATING in shard.groups:
                return shard.groups[MIGRATING]
        return None

    @property
    def members(self) -> list[SteeredMember]:
        return [*self.classics, *(one for one in self.consumers if not one.leaves)]

    def is_settled(self, kind: type[object]) -> bool:
        """Whether it is of this type and Stable, and all have something, of one epoch."""
        group = self.group
        if not isinstance(group, kind):
            return False
        stable = group.state is ConsumerGroupState.STABLE or group.state.value == "Stable"
        return (
            stable
            and sum(len(one.assigned) for one in self.members) == ALL_PARTITIONS
            and all(one.assigned for one in self.members)
            and not any(one._is_to_join for one in self.classics)
            and len({one.generation for one in self.members}) == 1
            and set(group.members) == {one.member_id for one in self.members}
        )

    def commit(self) -> None:
        """Each commits for what it has; nothing of that may be lost."""
        for one in self.members:
            for key in one.assigned:
                offset = self.committed.get(key, 0) + 10
                told: ErrorCode | None = None
                while told in (None, *ELSEWHERE):  # it may not have found the new one yet
                    told = self.story.do(one.commit_as(one.generation, key, offset))
                    self.story.run_for(50)
                assert told is ErrorCode.NONE
                self.committed[key] = offset

    def upgrade(self, step: ApiKey | None, moment: str) -> None:
        """A consumer comes; the coordinator dies at a step. None: when it is given something."""
        epoch = self.classics[0].generation
        if step is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self.trap.set(step, moment)
        name = f"consumer-{len(self.consumers)}"
        self.consumers.append(steered(self.story, name, Speaks.CONSUMER))
        if step is None:
            self.story.run_until(self._has_been_let_go, 20_000)
            self.waited += not self.consumers[-1].assigned
            self.trap.set(ApiKey.CONSUMER_GROUP_HEARTBEAT, moment)
        elif step is not ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self.story.run_until(lambda: isinstance(self.group, ConsumerGroup), 5_000)
            self.trap.set(step, moment)
        self._dies()
        self._settles(ConsumerGroup, epoch)

    def _has_been_let_go(self) -> bool:
        """Whether the classic members have let something go for the consumer."""
        has = sum(len(one.assigned) for one in self.classics)
        return isinstance(self.group, ConsumerGroup) and has < ALL_PARTITIONS

    def downgrade(self, step: ApiKey | None, moment: str) -> None:
        """The consumer leaves; the coordinator dies at a step. None: the consumer is dead, and the
        coordinator dies at the first heartbeat after its session."""
        epoch = self.classics[0].generation
        if step is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self.trap.set(step, moment, lambda request: request.member_epoch == LEAVE_EPOCH)
        if step is None:
            self.consumers[-1].die()
        self.consumers[-1].leaves = True
        if step is not ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self.story.run_until(lambda: isinstance(self.group, ClassicGroup), 10_000)
            self.trap.set(step or ApiKey.HEARTBEAT, moment)
        self._dies()
        self._settles(ClassicGroup, epoch)

    def _dies(self) -> None:
        """Wait for the trap, and for the next coordinator."""
        self.story.run_until(lambda: not self.trap.is_armed, 10_000)
        old: SimBroker = self.trap.sprung[-1][2]
        self.story.run_until(lambda: not old.alive, 1_000)
        self.story.new_leader(old, "__consumer_offsets")
        self.story.start(old)

    def _settles(self, kind: type[object], epoch: int) -> None:
        self.story.run_until(lambda: self.is_settled(kind), SETTLES_WITHIN_MS)
        assert [one.member_id for one in self.classics] == self.ids, "somebody had to join anew"
        assert all(one.generation > epoch for one in self.members)
        for one in self.members:
            told = None
            while told is None:
                told = self.story.do(one.committed(one.assigned))
            assert told == {key: self.committed[key] for key in one.assigned}
        self.story.in_sync(*self.story.brokers)


@pytest.mark.long(sample=4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "steps",
    [
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_HEARTBEAT),
        (ApiKey.HEARTBEAT, ApiKey.HEARTBEAT),
        (ApiKey.JOIN_GROUP, ApiKey.JOIN_GROUP),
        (ApiKey.SYNC_GROUP, ApiKey.SYNC_GROUP),
        (None, None),
    ],
    ids=["converts", "heartbeat", "join", "sync", "is given, dies"],
)
def test_a_coordinator_dies_at_a_step_of_a_conversion(
    seed: int, steps: tuple[ApiKey | None, ApiKey | None]
) -> None:
    """Members keep their ids and offsets, epochs rise, and the group comes to be of its type."""
    story = Scenario(seed, properties=STAY, assigned=True)

    def tell() -> None:
        conversions = Conversions(story)
        for moment in Trap.MOMENTS:
            conversions.commit()
            conversions.upgrade(steps[0], moment)
            conversions.commit()
            conversions.downgrade(steps[1], moment)
        assert len(conversions.trap.sprung) == 2 * len(Trap.MOMENTS)
        assert steps[0] is not None or conversions.waited > 1

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_classic_member_hands_over_to_a_consumer(seed: int) -> None:
    a_classic_member_hands_over(seed)
