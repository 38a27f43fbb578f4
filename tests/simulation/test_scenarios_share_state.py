"""States of share-partitions in a cluster: any broker asks, and what was acknowledged survives.

The persisters of the brokers are asked directly, as leaders of share-partitions and coordinators of
groups do.
"""

from __future__ import annotations

import pytest

from broker.share.state.share_state_shard import StateAnswer
from protocol.errors import ErrorCode
from tests.simulation.scenario import Scenario
from tests.simulation.share_states import STATE_EPOCH, TOPIC, States, an_earlier_leader_stays_fenced

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_states_survive_the_death_of_the_share_coordinator(seed: int) -> None:
    """Writes of another broker that were under way are made at the new coordinator."""
    story = Scenario(seed)

    def tell() -> None:
        states = States(story)
        states.initialize(story.brokers[0])
        old, asked = states.coordinator(), states.another()
        assert states.write(asked, 1) is ErrorCode.NONE
        assert states.write(old, 2) is ErrorCode.NONE
        begun = [states.writing(asked, offset) for offset in (3, 4)]
        story.run_for(1)
        story.kill(old)
        begun += [states.writing(asked, offset) for offset in (5, 6)]
        assert {states.reply(replies)[0] for replies in begun} == {ErrorCode.NONE}
        assert states.coordinator() is not old
        for node in story.brokers:
            if node.alive:
                assert states.acknowledged(node) == {1, 2, 3, 4, 5, 6}
        story.start(old)
        assert states.acknowledged(old) == {1, 2, 3, 4, 5, 6}

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_earlier_leader_stays_fenced_after_the_coordinator_has_died(seed: int) -> None:
    an_earlier_leader_stays_fenced(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinator_that_is_cut_off_is_left_without_waiting_for_its_answers(seed: int) -> None:
    """Its own writes are never acknowledged there, and not lost: they go to the new one."""
    story = Scenario(seed, properties={"request.timeout.ms": "30000"})

    def tell() -> None:
        states = States(story)
        states.initialize(story.brokers[0])
        old, asked = states.coordinator(), states.another()
        assert states.write(asked, 1) is ErrorCode.NONE
        story.isolate(old)
        begun = [states.writing(asked, 2), states.writing(old, 3)]
        new = story.new_leader(old, TOPIC)
        story.run_until(lambda: bool(begun[0]), 1_000)
        assert states.reply(begun[0])[0] is ErrorCode.NONE
        assert states.acknowledged(new) == {1, 2}
        story.heal()
        assert states.reply(begun[1])[0] is ErrorCode.NONE
        assert states.acknowledged(asked) == {1, 2, 3}

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_states_are_there_after_all_brokers_have_died(seed: int) -> None:
    """All begin with calls before the topic exists, and all find the same one."""
    story = Scenario(seed)

    def tell() -> None:
        states = States(story)
        assert TOPIC not in story.view.newest_image().topics.by_name
        arguments = states.key, STATE_EPOCH, 0
        begun = [states.begin(node, "initialize", *arguments) for node in story.brokers]
        assert {states.reply(replies)[0] for replies in begun} == {ErrorCode.NONE}
        configs = story.view.newest_image().topics.get(TOPIC)
        assert configs is not None and len(configs.partitions[0].replicas) == 3
        for offset, node in enumerate(story.brokers):
            assert states.write(node, offset) is ErrorCode.NONE
        story.kill(*story.brokers)
        story.start(*story.brokers)
        for node in story.brokers:
            assert states.acknowledged(node) == {0, 1, 2}

    story.run(tell)


def test_the_states_of_a_deleted_group_go() -> None:
    story = Scenario()

    def tell() -> None:
        states = States(story)
        states.initialize(story.brokers[0])
        asked = states.another()
        assert states.write(asked, 1) is ErrorCode.NONE
        begun = [states.begin(asked, "delete", key) for key in states.keys]
        assert {states.reply(replies)[0] for replies in begun} == {ErrorCode.NONE}
        for node in story.brokers:
            assert states.call(node, "summary", states.key) == (ErrorCode.NONE, StateAnswer())
            assert states.call(node, "read", states.key, 2)[0] is ErrorCode.INVALID_REQUEST

    story.run(tell)
