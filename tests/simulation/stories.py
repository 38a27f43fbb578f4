"""Stories that a test tells, and that catch mutants which chance rarely meets."""

from __future__ import annotations

import random

from protocol.errors import ErrorCode
from simulation.machines.layout import Layout
from simulation.network.sim_network import Weather
from simulation.sim_client import GeneratorRun, Waits
from tests.simulation.group_members import SESSION_MS, GroupMember
from tests.simulation.scenario import Scenario


class Worst(random.Random):
    """Draws the least: of what was not fsynced, nothing is left."""

    def randint(self, a: int, b: int) -> int:
        return a


def power_lost_beside_one_other(seed: int = 1) -> None:
    """Of two replicas in sync the leader loses power, then the other cannot be reached.

    What was acknowledged is on the other alone: the one that comes back must not lead, though it
    was the last but one in sync. Raises Failure.
    """
    story = Scenario(seed, layout=Layout.apart(3, 3))

    def tell() -> None:
        leader = story.leader()
        other, absent = story.followers()
        story.kill(absent)
        story.run_until(lambda: len(story.replica(leader).isr) == 2, 20_000)
        for _ in range(5):
            assert story.settled(story.produce("orders", 0, leader)) is ErrorCode.NONE
        for invariant in story.invariants:
            invariant.power_lost(leader)
        leader.lose_power(Worst(seed))
        story.new_leader(leader)
        story.isolate(other)
        story.run_until(lambda: story.view.leader("orders", 0) is None, 20_000)
        story.start(leader)
        story.run_for(3_000)
        story.network.links.heal()
        story.start(absent)
        story.in_sync(*story.brokers)

    story.run(tell)


def voters_die_after_their_votes(seed: int = 1) -> None:
    """Elections over and over, in which voters die right after they have voted. Raises Failure."""
    story = Scenario(
        seed,
        layout=Layout.apart(3, 5),
        weather=Weather(delay_ms=50.0),
        properties={
            "controller.quorum.election.timeout.ms": "100",
            "controller.quorum.election.backoff.max.ms": "20",
            "controller.quorum.fetch.timeout.ms": "300",
        },
    )
    chance = random.Random(seed)
    voters = [one for one in story.brokers if not one.is_broker]

    def tell() -> None:
        for _ in range(25):
            story.kill(story.controller())
            until_ms = story.world.now_ms + 400.0
            epochs: dict[str, int] = {}
            while story.world.now_ms < until_ms:
                story.run_for(3)
                for voter in voters:
                    if not voter.alive and chance.random() < 0.3:
                        voter.start()
                    elif voter.node is not None:
                        epoch = voter.node.controller.raft.epoch
                        if epoch > epochs.setdefault(voter.address, epoch):
                            epochs[voter.address] = epoch
                            if chance.random() < 0.5:
                                story.kill(voter)
            story.start(*voters)

    story.run(tell)


def stale_generation(seed: int = 1) -> None:
    """G8: SIGSTOP of a member past its session; it resumes, and commits. Raises Failure."""
    story = Scenario(seed)

    def tell() -> None:
        members = story.members()
        story.run_until(lambda: all_have_their_part(members), 30_000)
        stopped = members[0]
        generation = stopped.generation
        assert stopped.task is not None
        stopped.task.cancel()
        story.run_until(lambda: members[1].generation > generation, SESSION_MS * 3.0)
        story.run_until(lambda: bool(members[1].assigned), SESSION_MS * 3.0)
        told: list[ErrorCode] = []

        def commit() -> Waits:
            for _ in range(8):  # it draws what it commits, and that may be nothing
                told.append((yield from stopped._commit()))

        stopped.positions = dict.fromkeys(stopped.assigned, 99)
        stopped.task = GeneratorRun(story.world, commit())
        story.run_until(lambda: len(told) == 8, 10_000)
        refused = [one for one in told if one is not ErrorCode.NONE]
        assert refused, "nothing was refused"
        assert set(refused) <= {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}

    story.run(tell)


def all_have_their_part(members: list[GroupMember]) -> bool:
    """Whether every member is in the group, in one generation, with something to read."""
    return len({one.generation for one in members}) == 1 and all(one.assigned for one in members)
