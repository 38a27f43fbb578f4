"""Named scenarios of the quorum (C2, C4; C1 and C8 are in `test_scenarios_metadata.py`)."""

from __future__ import annotations

import pytest

from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from simulation.machines.layout import Layout
from tests.simulation.scenario import Scenario
from tests.simulation.stories import voters_die_after_their_votes

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_c2_an_isolated_controller_resigns_and_commits_nothing(seed: int) -> None:
    """KAFKA-15489: within its fetch time-out, not only once it hears of another."""
    story = Scenario(seed)

    def tell() -> None:
        old = story.controller()
        assert old.node is not None
        raft = old.node.controller.raft
        offset = old.node.image.offset
        story.isolate(old)
        request = CreateTopicsRequest([CreatableTopic("lonely", 1, 3)], 1_500)
        answer = story.ask(request, 7, old)
        assert answer is None or answer.topics[0].error_code != 0
        assert not raft.is_leader
        assert "lonely" not in old.node.image.topics.by_name
        assert old.node.image.offset <= offset + 2, "a minority committed something"
        other = story.controller()
        assert other is not old
        sent = CreateTopicsRequest([CreatableTopic("sociable", 1, 2)], 5_000)
        assert story.ask(sent, 7, other).topics[0].error_code == 0

    story.run(tell)
    assert "sociable" in story.view.newest_image().topics.by_name


@pytest.mark.parametrize("seed", SEEDS)
def test_c4_a_voter_that_forgot_everything_costs_no_record(seed: int) -> None:
    """Killed, its metadata log deleted; the others elect; it comes back."""
    story = Scenario(seed)

    def tell() -> None:
        voter = next(one for one in story.brokers if one is not story.controller())
        story.kill(voter)
        voter.disk.remove_tree("/metadata/__cluster_metadata-0")
        _create(story, "before")
        story.run_for(1_000)
        leader = story.controller()
        story.kill(leader)
        story.run_for(100)
        story.start(leader)
        _create(story, "between")
        story.run_for(1_000)
        story.start(voter)
        story.in_sync(voter)
        story.kill(story.controller())
        story.run_for(3_000)

    story.run(tell)
    assert {"before", "between"} <= set(story.view.newest_image().topics.by_name)


def _create(story: Scenario, name: str) -> None:
    def done() -> bool:
        leader = story.controller()
        if not leader.serving:
            story.run_for(100)
            return False
        response = story.ask(CreateTopicsRequest([CreatableTopic(name, 1, 2)], 5_000), 7, leader)
        return response is not None and response.topics[0].error_code in (0, 36)

    while not done():
        story.run_for(200)


@pytest.mark.long(sample=1)
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_voters_that_die_after_their_votes_elect_one_leader_an_epoch(seed: int) -> None:
    voters_die_after_their_votes(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_brokers_beside_a_combined_node_that_is_the_only_voter(seed: int) -> None:
    """They come up, lose the one controller, go on with what they lead, and find it again."""
    layout = Layout(((1, "broker,controller"), (2, "broker"), (3, "broker")))
    story = Scenario(seed, layout=layout)

    def tell() -> None:
        combined, *beside = story.brokers
        story.producers()
        story.run_for(1_000)
        story.kill(combined)
        story.run_for(1_000)
        story.kill(beside[0])
        story.start(combined)
        story.run_for(1_000)
        story.start(beside[0])
        for broker in story.brokers:
            story.in_sync(broker)
        _create(story, "afterwards")

    assert story.run(tell).acknowledged > 5
