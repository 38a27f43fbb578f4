"""Named scenarios of groups (G2 to G8): told step by step, judged by all invariants."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from tests.simulation.group_members import SESSION_MS, GroupMember
from tests.simulation.scenario import Scenario
from tests.simulation.sim_client import Task, Waits
from tests.simulation.sim_network import Exchange
from tests.simulation.simulation import GROUPS

SEEDS = (1, 2, 3)


def all_have_their_part(members: list[GroupMember]) -> bool:
    """Whether every member is in the group, in one generation, with something to read."""
    return len({one.generation for one in members}) == 1 and all(one.assigned for one in members)


class Moment:
    """Waits for the next request of a kind to reach a broker."""

    def __init__(self, story: Scenario, key: ApiKey) -> None:
        self.story = story
        self.key = key
        self.seen: Exchange | None = None
        story.network.watch(self)

    def handled(self, exchange: Exchange) -> None:
        if exchange.key is self.key and self.seen is None:
            self.seen = exchange

    def sent(self, exchange: Exchange) -> None: ...
    def answered(self, exchange: Exchange) -> None: ...
    def received(self, exchange: Exchange) -> None: ...
    def given_up(self, exchange: Exchange) -> None: ...

    def wait(self) -> None:
        self.story.run_until(lambda: self.seen is not None, 30_000)
        self.story.network.watchers.remove(self)


@pytest.mark.parametrize("key", [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_COMMIT])
@pytest.mark.parametrize("seed", SEEDS)
def test_g2_the_coordinator_dies_inside_a_request(key: ApiKey, seed: int) -> None:
    story = Scenario(seed)

    def tell() -> None:
        story.members()
        for _ in range(4):
            Moment(story, key).wait()
            story.run_for(story.world.random.random() * 5.0)
            coordinator = story.coordinator()
            story.kill(coordinator)
            story.run_for(300)
            story.start(coordinator)

    story.run(tell)


class SilentMember(GroupMember):
    """Joins, and never syncs: where it leads the group, nobody gets an assignment."""

    def _sync(self, joined: Any, assignments: Any) -> Waits:
        yield 60_000.0
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_g3_a_silent_member_is_put_out_at_the_rebalance_timeout(seed: int) -> None:
    """KAFKA-12890: the group does not stay in CompletingRebalance."""
    story = Scenario(seed)

    def tell() -> None:
        silent = story.add(SilentMember, "silent", group=GROUPS[0], topics=list(story.steady),
                           instance_id=None)  # fmt: skip
        story.run_until(lambda: silent.generation >= 0, 20_000)
        members = story.members()
        story.run_until(lambda: all_have_their_part(members), 30_000)
        silent.die()

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_g5_a_static_member_comes_back_after_a_failover(seed: int) -> None:
    """The old process is fenced; nobody rebalances (KAFKA-10284)."""
    story = Scenario(seed)

    def member(name: str) -> GroupMember:
        found: GroupMember = story.add(
            GroupMember, name, group=GROUPS[0], topics=list(story.steady), instance_id="instance-1"
        )
        return found

    def tell() -> None:
        first = member("static-1")
        story.run_until(lambda: bool(first.assigned), 30_000)
        generation, old_id = first.generation, first.member_id
        assert first.task is not None
        first.task.cancel()  # its process stands still
        coordinator = story.coordinator()
        story.kill(coordinator)
        story.new_leader(coordinator, "__consumer_offsets")
        second = member("static-2")
        story.run_until(lambda: second.joined > 0, 20_000)
        assert second.generation == generation
        assert second.member_id != old_id
        beat = HeartbeatRequest(GROUPS[0], generation, old_id, "instance-1")
        answer = story.ask(beat, 4, story.coordinator())
        assert ErrorCode(answer.error_code) is ErrorCode.FENCED_INSTANCE_ID
        first.die()
        story.start(coordinator)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_g6_a_commit_is_acknowledged_and_its_coordinator_dies(seed: int) -> None:
    """The next coordinator knows that offset, or a later one (I17)."""
    story = Scenario(seed)

    def tell() -> None:
        members = story.members()
        for _ in range(5):
            story.run_until(lambda: any(one.positions for one in members), 30_000)
            Acknowledged(story).wait()
            coordinator = story.coordinator()
            story.kill(coordinator)
            story.new_leader(coordinator, "__consumer_offsets")
            story.start(coordinator)
            story.in_sync(coordinator)

    story.run(tell)


class Acknowledged(Moment):
    """Waits until a commit is acknowledged."""

    def __init__(self, story: Scenario) -> None:
        super().__init__(story, ApiKey.OFFSET_COMMIT)

    def handled(self, exchange: Exchange) -> None: ...

    def answered(self, exchange: Exchange) -> None:
        super().handled(exchange)


@pytest.mark.parametrize("seed", SEEDS)
def test_g8_a_commit_of_a_stale_generation_moves_nothing(seed: int) -> None:
    """SIGSTOP of a member past its session; it resumes, and commits."""
    story = Scenario(seed)

    def tell() -> None:
        members = story.members()
        story.run_until(lambda: all_have_their_part(members), 30_000)
        stopped = members[0]
        generation = stopped.generation
        assert stopped.task is not None
        stopped.task.cancel()
        story.run_until(lambda: members[1].generation > generation, SESSION_MS * 3.0)
        told: list[ErrorCode] = []

        def commit() -> Waits:
            for _ in range(8):  # it draws what it commits, and that may be nothing
                told.append((yield from stopped._commit()))

        stopped.positions = dict.fromkeys(stopped.assigned, 99)
        stopped.task = Task(story.world, commit())
        story.run_until(lambda: len(told) == 8, 10_000)
        refused = [one for one in told if one is not ErrorCode.NONE]
        assert refused
        assert set(refused) <= {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}

    story.run(tell)
