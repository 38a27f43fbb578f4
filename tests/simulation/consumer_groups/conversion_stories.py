"""Conversions of a group that a test tells step by step, and that catch mutants which chance rarely
meets."""

from __future__ import annotations

from protocol.errors import ErrorCode
from tests.simulation.consumer_groups.migrating_member import Speaks
from tests.simulation.consumer_groups.steered_member import SteeredMember, steered
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import STAY

ALL_PARTITIONS = 3


def a_classic_member_hands_over(seed: int = 1) -> None:
    """A classic member that keeps what it has, and a consumer to which it has to give some of it.

    Between JoinGroup and SyncGroup it has all of that still, and nobody else is given any. Once it
    has let go, it commits no more in the generation in which it had that. Raises Failure.
    """
    story = Scenario(seed, properties=STAY, assigned=True)

    def tell() -> None:
        classic = steered(story, "classic", Speaks.COOPERATIVE, alone=False)
        consumer = steered(story, "consumer", Speaks.CONSUMER, alone=False)
        _joins_alone(story, classic)
        before, had = classic.generation, list(classic.assigned)
        assert len(had) == ALL_PARTITIONS
        story.do(consumer._find())
        story.do(consumer.next_turn())
        assert consumer.generation > before and not consumer.assigned

        story.do(classic.next_turn())
        assert classic._is_to_join
        joined = story.do(classic.ask_to_join())
        story.do(consumer.next_turn())
        assert not consumer.assigned, "it is given what another has"
        story.do(classic.sync(joined))
        lost = [key for key in had if key not in classic.assigned]
        assert lost and classic.generation == before

        assert classic._is_to_join
        story.do(classic.next_turn())
        assert classic.generation > before
        story.do(consumer.next_turn())
        assert sorted(consumer.assigned) == sorted(lost)
        story.run_for(100)
        told = story.do(classic.commit_as(before, lost[0], 7))
        assert told is ErrorCode.ILLEGAL_GENERATION

    story.run(tell)


def _joins_alone(story: Scenario, classic: SteeredMember) -> None:
    """By the classic protocol: until it has everything."""

    def has_joined() -> bool:
        story.do(classic._find() if classic.coordinator is None else classic.next_turn())
        return bool(classic.assigned)

    story.run_until(has_joined, 20_000)
