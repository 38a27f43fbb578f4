"""Offsets of a consumer group expire by their retention, and never while a member needs them.

One member, subscribed to one of two topics for which the group has offsets; retention is a minute.
Its commits and what is read are not told to the invariants, which know of no expiry: the story
looks for itself.
"""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from simulation.sim_trace import Failure
from tests.simulation.cast import MIGRATING
from tests.simulation.consumer_groups.migrating_member import Speaks
from tests.simulation.consumer_groups.steered_member import SteeredMember, steered
from tests.simulation.group_members import Key
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import STAY

pytestmark = pytest.mark.slow

MINUTE_MS = 60_000.0
CHECK_MS = 2_000.0
SOON_MS = 5_000.0
"""Longer than a check and its tombstones take."""
EXPIRY = {
    **STAY,
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": str(int(CHECK_MS)),
}
OWN: Key = ("orders", 0)
OTHER: Key = ("clicks", 0)
NONE = -1


class Expiring:
    """The story's group and its one member."""

    def __init__(self, story: Scenario, expression: str | None) -> None:
        self.story = story
        for broker in story.brokers:
            broker.set_clock(0)  # retention is by the clock of the day
        self.member: SteeredMember = steered(
            story, "member", Speaks.CONSUMER, topics=["orders"], expression=expression
        )
        story.run_until(lambda: OWN in self.member.assigned, 30_000)

    def commit(self, key: Key, offset: int) -> float:
        """Commit; when that was, in ms."""
        member = self.member
        error = self.story.do(member.commit_as(member.generation, key, offset, watched=False))
        assert error is ErrorCode.NONE
        return self.story.world.now_ms

    def offset(self, key: Key) -> int:
        """What the coordinator says; `NONE` where there is none."""
        topics = [OffsetFetchRequestTopics(key[0], partition_indexes=[key[1]])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(MIGRATING, None, -1, topics)])
        told: Any = None
        while told is None or told.error_code:
            response = self.story.ask(request, 9, self.story.coordinator())
            told = None if response is None else response.groups[0]
        found: int = told.topics[0].partitions[0].committed_offset
        return found

    def until(self, when_ms: float) -> None:
        self.story.run_for(when_ms - self.story.world.now_ms)

    def is_gone(self) -> bool:
        """Whether there is no such group."""
        request = ConsumerGroupDescribeRequest([MIGRATING])
        told = self.story.ask(request, 1, self.story.coordinator()).groups[0]
        return bool(told.error_code == ErrorCode.GROUP_ID_NOT_FOUND)

    def leave(self) -> None:
        self.member.leaves = True
        self.story.run_until(lambda: self.member.done, 5_000)


@pytest.mark.parametrize("expression", [None, "ord.*"])
def test_offsets_expire_while_a_group_lives_but_for_what_it_is_subscribed_to(
    expression: str | None,
) -> None:
    """Also where its coordinator dies meanwhile: the next one has the times of the log."""
    story = Scenario(1, properties=EXPIRY, assigned=True)

    def tell() -> None:
        group = Expiring(story, expression)
        group.commit(OWN, 7)
        committed_ms = group.commit(OTHER, 9)
        group.until(committed_ms + MINUTE_MS / 2)
        old = story.coordinator()
        story.kill(old)
        story.new_leader(old, "__consumer_offsets")
        story.start(old)
        group.until(committed_ms + MINUTE_MS - SOON_MS)
        assert (group.offset(OWN), group.offset(OTHER)) == (7, 9)
        group.until(committed_ms + MINUTE_MS + SOON_MS)
        assert (group.offset(OWN), group.offset(OTHER)) == (7, NONE)
        group.until(committed_ms + 1.5 * MINUTE_MS)
        assert group.offset(OWN) == 7
        group.leave()
        group.until(story.world.now_ms + SOON_MS)

    story.run(tell)


def test_offsets_of_an_empty_group_expire_by_their_commits_and_the_group_with_the_last() -> None:
    """One that is older than the retention goes when nobody is there any more (as in Kafka)."""
    story = Scenario(1, properties=EXPIRY, assigned=True)

    def tell() -> None:
        group = Expiring(story, None)
        group.commit(("orders", 1), 5)
        group.until(story.world.now_ms + MINUTE_MS + SOON_MS)
        assert group.offset(("orders", 1)) == 5
        committed_ms = group.commit(OWN, 7)
        group.leave()
        group.until(story.world.now_ms + SOON_MS)
        assert (group.offset(OWN), group.offset(("orders", 1))) == (7, NONE)
        group.until(committed_ms + MINUTE_MS - SOON_MS)
        assert group.offset(OWN) == 7 and not group.is_gone()
        group.until(committed_ms + MINUTE_MS + SOON_MS)
        assert group.offset(OWN) == NONE and group.is_gone()

    story.run(tell)


@pytest.mark.parametrize("answer", [True, False])
def test_who_does_not_ask_what_members_are_subscribed_to_is_caught(
    answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets that never go, or go under a live member's feet, fail the stories above."""
    monkeypatch.setattr(
        "broker.groups.consumer.state.group.ConsumerGroup.is_subscribed_to",
        lambda _self, _topic: answer,
    )
    with pytest.raises(Failure):
        test_offsets_expire_while_a_group_lives_but_for_what_it_is_subscribed_to(None)
