"""Named scenarios of groups (G2 to G8): told step by step, judged by all invariants."""

from __future__ import annotations

import random

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from simulation.sim_client import Waits
from tests.batches import build_batch
from tests.simulation.group_members import GroupMember
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import (
    ELSEWHERE,
    GROUP,
    SOON_MS,
    STAY,
    ScriptedMember,
    Trap,
    check_known,
    committed,
    described,
    first_coordinator,
    read_offset,
    reading,
    serves,
    shares_of,
    stable_group,
    sync_all,
    until_told,
)

pytestmark = pytest.mark.slow

SEEDS = (1, 2, 3)


class RestlessMember(GroupMember):
    """Commits a few times, leaves, and joins again: each request comes often."""

    def _serve(self) -> Waits:
        if self.calm:
            yield from super()._serve()
            return
        if not (yield from self._read_offsets()):
            return
        for _ in range(self.chance.randint(2, 4)):
            yield 100.0 + 200.0 * self.chance.random()
            error = yield from self._commit()
            if error:
                yield from self._react(error)
                return
        yield from self._leave()


# --- G2 ------------------------------------------------------------------------------------------


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("seed", SEEDS[:2])
def test_g2_a_coordinator_dies_inside_requests_of_members_twenty_times(seed: int) -> None:
    story = Scenario(seed)
    chance = random.Random(seed)
    kinds = [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.OFFSET_COMMIT]
    deaths = [(key, moment) for key in kinds for moment in Trap.MOMENTS]
    deaths += chance.sample(deaths, 8)
    chance.shuffle(deaths)
    members: list[RestlessMember] = []

    def tell() -> None:
        trap = Trap(story)
        for number in range(3):
            members.append(
                story.add(RestlessMember, f"member-{number}", group=GROUP,
                          topics=list(story.steady),
                          instance_id="instance-0" if number == 0 else None)
            )  # fmt: skip
        for key, moment in deaths:
            trap.set(key, moment)
            story.run_until(lambda: not trap.is_armed, 30_000)
            _, _, old = trap.sprung[-1]
            _follow_elsewhere(story, old, members)
            story.in_sync(old)
        assert [(key, moment) for key, moment, _ in trap.sprung] == deaths

    story.run(tell)


def _follow_elsewhere(story: Scenario, old: SimBroker, members: list[RestlessMember]) -> None:
    """The coordinator is dead, and comes back: its members are at the next one."""
    story.run_until(lambda: not old.alive, 1_000)
    story.new_leader(old, "__consumer_offsets")
    story.start(old)
    assert _refused(story, old) is ErrorCode.NOT_COORDINATOR  # it never led in this life
    synced = sum(one.joined for one in members)
    story.run_until(lambda: sum(one.joined for one in members) > synced, 30_000)


def _refused(story: Scenario, node: SimBroker) -> ErrorCode | None:
    """What a broker says to a Heartbeat of somebody who believes that it coordinates."""
    stranger = ScriptedMember(story, f"stranger-{story.world.events_run}")
    stranger.member_id = "stranger"
    return stranger.heartbeat(node)


@pytest.mark.parametrize("seed", SEEDS)
def test_g2_a_coordinator_that_is_cut_off_answers_nothing_that_is_not_replicated(seed: int) -> None:
    """Neither a static member's return nor an offset; the next one knows of neither."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        static = ScriptedMember(story, "static", instance_id="instance-7", session_ms=30_000)
        other = ScriptedMember(story, "other", session_ms=30_000)
        stable_group(story, static, other)
        old = story.coordinator()
        assert other.commit(old, 10) is ErrorCode.NONE
        story.isolate(old)
        again = ScriptedMember(story, "again", instance_id="instance-7")
        join, commit = again.joining(old), other.committing(old, 20)
        assert other.commit_error(commit) in (*ELSEWHERE, None)
        assert again.joined(join) in (*ELSEWHERE, None)
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        assert read_offset(story, new) == 10
        check_known(story, new, static, other)
        story.network.links.heal()
        story.in_sync(old)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_g2_a_coordinator_that_is_cut_off_hands_out_no_assignment(seed: int) -> None:
    """Two generations of one number would have two owners of a partition else (I16)."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        old = first_coordinator(story)
        one, two = ScriptedMember(story, "one"), ScriptedMember(story, "two")
        for member in (one, two):
            member.introduce(old)
        joins = [one.joining(old), two.joining(old)]
        assert one.joined(joins[0]) is two.joined(joins[1]) is ErrorCode.NONE
        leader = one if one.leads else two
        story.isolate(old)
        syncs = [one.syncing(old, shares_of(leader)), two.syncing(old, shares_of(leader))]
        assert one.error(syncs[0]) in (*ELSEWHERE, None)
        assert two.error(syncs[1]) in (*ELSEWHERE, None)
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        assert one.heartbeat(new) is ErrorCode.UNKNOWN_MEMBER_ID
        story.network.links.heal()
        story.in_sync(old)

    story.run(tell)


# --- G3 ------------------------------------------------------------------------------------------

REBALANCE_MS = 5_000


@pytest.mark.parametrize("leader_is_silent", [False, True])
def test_g3_who_joins_and_never_syncs_is_put_out_at_the_rebalance_timeout(
    leader_is_silent: bool,
) -> None:
    """It sends heartbeats all the time, so that its session lasts (KAFKA-12890)."""
    story = Scenario(1, properties=STAY)

    def tell() -> None:
        to = first_coordinator(story)
        both = [ScriptedMember(story, name, rebalance_ms=REBALANCE_MS) for name in ("one", "two")]
        for one in both:
            one.introduce(to)
        joins = [one.joining(to) for one in both]
        assert [one.joined(join) for one, join in zip(both, joins, strict=True)] == [0, 0]
        began_ms = story.world.now_ms
        silent, other = sorted(both, key=lambda one: one.leads is not leader_is_silent)
        share = None if leader_is_silent else shares_of(other)
        sync = other.syncing(to, share)
        until_told(story, silent, to, ErrorCode.UNKNOWN_MEMBER_ID)
        assert REBALANCE_MS - 100 <= story.world.now_ms - began_ms <= REBALANCE_MS + SOON_MS
        if leader_is_silent:
            assert other.error(sync) is ErrorCode.REBALANCE_IN_PROGRESS
        else:
            assert other.error(sync) is ErrorCode.NONE
            assert other.heartbeat(to) is ErrorCode.REBALANCE_IN_PROGRESS
        _goes_on_alone(story, other, to, generation=2)
        assert silent.commit(to, 9) is ErrorCode.UNKNOWN_MEMBER_ID

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_g3_who_does_not_rejoin_is_put_out_by_the_next_coordinator_too(seed: int) -> None:
    """Of a rebalance that its coordinator did not survive, the next one knows nothing."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        both = [ScriptedMember(story, name, rebalance_ms=REBALANCE_MS) for name in ("one", "two")]
        leader = stable_group(story, *both)
        silent = next(one for one in both if one is not leader)
        old = first_coordinator(story)
        leader.joining(old)  # forces a rebalance, for which the other does not come
        until_told(story, silent, old, ErrorCode.REBALANCE_IN_PROGRESS)
        to = _fail_over(story, old)
        assert described(story, to).group_state == "Stable"
        assert leader.heartbeat(to) is ErrorCode.NONE
        join = leader.joining(to)
        began_ms = story.world.now_ms
        story.run_for(10)
        until_told(story, silent, to, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)
        assert leader.joined(join) is ErrorCode.NONE
        assert REBALANCE_MS - 100 <= story.world.now_ms - began_ms <= REBALANCE_MS + SOON_MS
        assert leader.generation == 2 and leader.members == [leader.member_id]
        sync_all(to, leader, leader)
        assert described(story, to).group_state == "Stable"
        story.start(old)

    story.run(tell)


@pytest.mark.parametrize("synced_before", [False, True])
def test_g3_a_coordinator_that_dies_between_join_and_sync_leaves_no_group_stuck(
    synced_before: bool,
) -> None:
    story = Scenario(1, properties=STAY)

    def tell() -> None:
        one, two = ScriptedMember(story, "one"), ScriptedMember(story, "two")
        old = first_coordinator(story)
        if synced_before:
            stable_group(story, one)
        else:
            one.introduce(old)
        two.introduce(old)
        joins = one.joining(old), two.joining(old)
        assert one.joined(joins[0]) is two.joined(joins[1]) is ErrorCode.NONE
        generation = one.generation
        to = _fail_over(story, old)
        shares = shares_of(one if one.leads else two)
        syncs = one.syncing(to, shares), two.syncing(to, shares)
        known = ErrorCode.ILLEGAL_GENERATION if synced_before else ErrorCode.UNKNOWN_MEMBER_ID
        assert one.error(syncs[0]) is known
        assert two.error(syncs[1]) is ErrorCode.UNKNOWN_MEMBER_ID
        two.member_id = ""
        if not synced_before:
            one.member_id = ""
        leader = stable_group(story, one, two)
        assert leader.generation == generation
        assert described(story, to).group_state == "Stable"
        story.start(old)

    story.run(tell)


def _goes_on_alone(
    story: Scenario, member: ScriptedMember, to: SimBroker, *, generation: int
) -> None:
    assert member.joined(member.joining(to)) is ErrorCode.NONE
    assert (member.generation, member.members) == (generation, [member.member_id])
    sync_all(to, member, member)
    group = described(story, to)
    assert group.group_state == "Stable"
    assert [one.member_id for one in group.members] == [member.member_id]


def _fail_over(story: Scenario, old: SimBroker) -> SimBroker:
    """Kill the coordinator; the next one, once it has loaded the group."""
    story.kill(old)
    new = story.new_leader(old, "__consumer_offsets")
    serves(story, new)
    return new


# --- G5 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("death", ["before", "inside", "after"])
@pytest.mark.parametrize("static_leads", [False, True])
def test_g5_a_static_member_restarts_around_the_death_of_its_coordinator(
    death: str, static_leads: bool
) -> None:
    """The old process is fenced, nobody rebalances, and the id survives (KAFKA-10284)."""
    story = Scenario(1, properties=STAY)

    def tell() -> None:
        old = first_coordinator(story)
        static = ScriptedMember(story, "static", instance_id="instance-7")
        other = ScriptedMember(story, "other")
        _stable_led_by(story, static if static_leads else other, static, other)
        assert static.leads is static_leads
        shares = {one.member_id: one.member_assignment for one in described(story, old).members}
        assert static.commit(old, 10) is ErrorCode.NONE
        again = ScriptedMember(story, "static-again", instance_id="instance-7")
        if death == "before":
            to = _fail_over(story, old)
        elif death == "inside":
            trap = Trap(story)
            trap.set(ApiKey.JOIN_GROUP, "handled")
            assert again.joined(again.joining(old)) is None
            assert not trap.is_armed
            to = _fail_over(story, old)
        if death == "after":
            assert again.joined(again.joining(old)) is ErrorCode.NONE
            to = _fail_over(story, old)
        else:
            assert again.joined(again.joining(to)) is ErrorCode.NONE
        assert again.generation == static.generation
        assert again.member_id != static.member_id
        _check_fenced(static, to)
        sync = again.syncing(to)
        assert again.error(sync) is ErrorCode.NONE
        assert sync.response.assignment == shares[static.member_id]
        for one in (again, other):
            assert one.heartbeat(to) is ErrorCode.NONE
        group = described(story, to)
        assert group.group_state == "Stable"
        ids = {one.member_id: one.group_instance_id for one in group.members}
        assert ids == {again.member_id: "instance-7", other.member_id: None}
        assert read_offset(story, to) == 10
        assert again.commit(to, 11) is ErrorCode.NONE
        story.start(old)

    story.run(tell)


def _stable_led_by(story: Scenario, leader: ScriptedMember, *members: ScriptedMember) -> None:
    """Whoever joins first leads."""
    to = story.coordinator()
    for one in members:
        if one.instance_id is None:
            one.introduce(to)
    first = leader.joining(to)
    story.run_until(lambda: first.handled_ms is not None, 1_000)
    joins = {one: first if one is leader else one.joining(to) for one in members}
    assert all(one.joined(join) is ErrorCode.NONE for one, join in joins.items())
    sync_all(to, leader, *members)


def _check_fenced(member: ScriptedMember, to: SimBroker) -> None:
    """Whatever the process does whose instance id another has."""
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert member.heartbeat(to) is fenced
    assert member.commit(to, 3) is fenced
    assert member.error(member.syncing(to)) is fenced
    assert member.joined(member.joining(to)) is fenced


@pytest.mark.parametrize("seed", SEEDS)
def test_g5_the_time_of_an_absent_static_member_is_its_session(seed: int) -> None:
    """Its place waits for it across a failover, and no longer than its session."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        static = ScriptedMember(story, "static", instance_id="instance-7", session_ms=9_000)
        other = ScriptedMember(story, "other")
        stable_group(story, static, other)
        old = first_coordinator(story)
        story.run_for(3_000)
        to = _fail_over(story, old)
        began_ms = story.world.now_ms
        until_told(story, other, to, ErrorCode.REBALANCE_IN_PROGRESS)
        assert 8_000 <= story.world.now_ms - began_ms <= 9_000 + SOON_MS
        _goes_on_alone(story, other, to, generation=2)
        assert static.heartbeat(to) is ErrorCode.UNKNOWN_MEMBER_ID
        story.start(old)

    story.run(tell)


# --- G6 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_g6_what_was_committed_is_there_after_the_death_of_its_coordinator(seed: int) -> None:
    """Killed within 1 ms: all that anybody is told from then on is that offset, a later one that
    was under way, or where to ask."""
    story = Scenario(seed, properties={**STAY, "offsets.load.buffer.size": "200"})
    chance = random.Random(seed)
    told: list[ErrorCode] = []

    def tell() -> None:
        member = ScriptedMember(story, "member", session_ms=30_000)
        stable_group(story, member)
        for offset in range(1, 40):
            assert member.commit(story.coordinator(), offset) is ErrorCode.NONE
        offset = 100
        for _ in range(4):
            old = story.coordinator()
            assert member.commit(old, offset) is ErrorCode.NONE
            member.committing(old, offset + 1)  # nobody hears how it ends
            story.run_for(chance.random())
            story.kill(old)
            polls = _polls_until_served(story)
            for sent in polls:
                if sent.response is not None:
                    error, found = committed(sent)
                    told.append(error)
                    assert found in (offset, offset + 1) if not error else error in ELSEWHERE
            story.start(old)
            story.in_sync(old)
            assert member.heartbeat(story.coordinator()) is ErrorCode.NONE
            offset += 10

    story.run(tell)
    assert told.count(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) >= 4


def _polls_until_served(story: Scenario) -> list[Exchange]:
    """Ask every broker all the time, until one tells an offset."""
    polls: list[Exchange] = []

    def served() -> bool:
        found = [one for one in polls if one.response is not None]
        return any(committed(one)[0] is ErrorCode.NONE for one in found[-9:])

    end_ms = story.world.now_ms + 20_000.0
    while not served():
        assert story.world.now_ms < end_ms
        for node in story.brokers:
            sent = reading(story.script, node)
            if sent is not None:
                polls.append(sent)
        story.run_for(4.0)
    return polls


# --- G8 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failover", [False, True])
@pytest.mark.parametrize("is_static", [False, True])
def test_g8_a_commit_of_a_stale_generation_moves_nothing(is_static: bool, failover: bool) -> None:
    """A member stands still past its session, or (a static one) through a rebalance."""
    story = Scenario(1, properties=STAY)

    def tell() -> None:
        to = first_coordinator(story)
        stopped = ScriptedMember(story, "stopped", instance_id="instance-7" if is_static else None,
                                 session_ms=30_000 if is_static else 6_000,
                                 rebalance_ms=REBALANCE_MS)  # fmt: skip
        other = ScriptedMember(story, "other", rebalance_ms=REBALANCE_MS)
        _stable_led_by(story, other, stopped, other)
        assert stopped.commit(to, 10) is ErrorCode.NONE
        if not is_static:
            until_told(story, other, to, ErrorCode.REBALANCE_IN_PROGRESS)
        assert other.joined(other.joining(to)) is ErrorCode.NONE  # it leads: it can force one
        sync_all(to, other, other)
        assert other.generation == stopped.generation + 1
        assert other.commit(to, 100) is ErrorCode.NONE
        old = to
        if failover:
            to = _fail_over(story, old)
        stale = ErrorCode.ILLEGAL_GENERATION if is_static else ErrorCode.UNKNOWN_MEMBER_ID
        assert stopped.commit(to, 11) is stale
        assert stopped.heartbeat(to) is stale
        assert stopped.error(stopped.syncing(to)) is stale
        assert read_offset(story, to) == 100
        assert other.commit(to, 101) is ErrorCode.NONE
        story.start(old)

    story.run(tell)


@pytest.mark.parametrize("hole", [False, True])
def test_g8_an_offsets_log_with_an_empty_tail_loads(hole: bool) -> None:
    """Cleaning left a batch without records there, and an empty segment; or only the latter, some
    offsets further on (KAFKA-9065)."""
    story = Scenario(1, properties=STAY)

    def tell() -> None:
        member = ScriptedMember(story, "member", session_ms=30_000)
        stable_group(story, member)
        assert member.commit(story.coordinator(), 10) is ErrorCode.NONE
        story.in_sync(*story.brokers)
        story.run_for(500)
        story.kill(*story.brokers)
        for node in story.brokers:
            _empty_tail(node, hole)
        story.start(*story.brokers)
        to = story.coordinator()
        serves(story, to)
        end = story.replica(to, "__consumer_offsets").log.log_end_offset
        assert read_offset(story, to) == 10
        assert member.heartbeat(to) is ErrorCode.NONE
        assert member.commit(to, 11) is ErrorCode.NONE
        assert end == 9
        next_one = _fail_over(story, to)
        assert read_offset(story, next_one) == 11
        story.start(to)

    story.run(tell)


def _empty_tail(node: SimBroker, hole: bool) -> None:
    """End a dead broker's log of offsets at 9, with nothing from its last record on."""
    folder = "/data/__consumer_offsets-0"
    segment = node.disk.open(f"{folder}/{0:020}.log")
    last = list(iterate_batches(memoryview(segment.pread(segment.size, 0))))[-1][1]
    assert last.next_offset < 9
    if not hole:
        segment.append(
            build_batch(
                [],
                base_offset=last.next_offset,
                last_offset=8,
                leader_epoch=last.partition_leader_epoch,
            )
        )
    segment.close()
    node.disk.open(f"{folder}/{9:020}.log", create=True).close()
