"""Rebalances in virtual time: who waits, how long, and who is dropped. Each play is one group."""

from __future__ import annotations

import pytest

from broker.config.parse import single_node_config
from broker.coordinator.outcome import NOTHING
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import ClassicGroupState
from broker.groups.classic.protocol import NEW_MEMBER_JOIN_TIMEOUT_MS
from broker.groups.classic.rebalance import Rebalancer
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from tests.clients.group_conversation import joining
from tests.unit.broker.groups.playbook import Playbook


def test_the_first_generation_waits_for_more_members() -> None:
    play = Playbook(group_initial_rebalance_delay_ms=3_000)
    play.join("a")
    play.wait(2)
    play.join("b")
    play.wait(0.9)
    assert play.taken() == []
    play.wait(2)  # the second member has put it off by another delay
    assert play.taken() == []
    play.wait(1.1)
    assert play.taken() == ["6 a joined 1 range leads a,b", "6 b joined 1 range follows a"]


def test_the_delay_of_the_first_generation_ends_with_the_rebalance_time_out() -> None:
    play = Playbook(group_initial_rebalance_delay_ms=3_000)
    play.actor("a").rebalance_ms = 7_000
    for second in range(12):
        if not play.lines:
            play.join(f"m{second}" if second else "a", rebalance_ms=7_000)
        play.wait(1)
    assert play.lines[0].startswith("7 a joined 1")


def test_one_member_needs_no_delay_when_it_is_0() -> None:
    play = Playbook()
    play.join("a")
    assert play.taken() == []
    play.settle()
    play.sync("a", a="all")
    assert play.taken() == ["0 a joined 1 range leads a", "0 a synced 'all'"]


def test_a_second_member_makes_the_first_rejoin() -> None:
    play = Playbook()
    play.stable("a")
    play.join("b")
    play.beat("a")
    play.sync("a")
    play.commit("a", 5)
    play.join("a")
    play.sync("b")
    assert play.taken() == [
        "0 a beat REBALANCE_IN_PROGRESS",
        "0 a sync REBALANCE_IN_PROGRESS",
        "0 a commit NONE",
        "0 a joined 2 range leads a,b",
        "0 b joined 2 range follows a",
    ]
    play.commit("b", 6)
    play.beat("b")
    play.sync("a", a="x", b="y")
    assert play.taken() == [
        "0 b commit REBALANCE_IN_PROGRESS",
        "0 b beat NONE",
        "0 a synced 'x'",
        "0 b synced 'y'",
    ]
    assert play.state == "Stable"


def test_many_members_join_in_one_generation() -> None:
    play = Playbook()
    names = [f"m{n:02}" for n in range(40)]
    play.stable(*names)
    play.join("late")
    play.join(*names)
    lines = play.taken()
    assert len(lines) == 41
    assert all(" joined 2 range" in line for line in lines)


def test_a_silent_member_of_a_stable_group_expires() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.wait(9, "a")
    assert play.state == "Stable"
    play.wait(2, "a")
    play.beat("a", "b")
    assert play.taken() == ["11 a beat REBALANCE_IN_PROGRESS", "11 b beat UNKNOWN_MEMBER_ID"]
    play.join("a")
    assert play.taken() == ["11 a joined 2 range leads a"]


def test_the_last_member_leaves_the_group_empty() -> None:
    play = Playbook()
    play.stable("a")
    play.wait(10)
    assert play.state == "Empty"
    play.beat("a")
    play.join("a")
    assert play.taken() == ["10 a beat UNKNOWN_MEMBER_ID", "10 a join UNKNOWN_MEMBER_ID"]


def test_commits_keep_a_session_alive() -> None:
    play = Playbook()
    play.stable("a")
    for offset in range(6):
        play.wait(5)
        play.commit("a", offset)
    assert play.state == "Stable"


def test_who_does_not_rejoin_in_time_is_dropped() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.join("c")
    play.join("a")
    play.wait(59, "b")  # alive, but it does not rejoin
    assert play.taken() == []
    play.wait(1, "b")
    play.beat("b")
    assert play.taken() == [
        "60 a joined 2 range leads a,c",
        "60 c joined 2 range follows a",
        "60 b beat UNKNOWN_MEMBER_ID",
    ]


def test_another_leads_when_the_leader_does_not_rejoin() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.join("c", "b")
    play.wait(60, "a")
    assert play.taken() == ["60 b joined 2 range leads b,c", "60 c joined 2 range follows b"]


def test_a_member_that_dies_while_it_is_expected_to_rejoin_is_not_waited_for() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.join("c", "a")
    play.wait(9)
    assert play.taken() == []
    play.wait(1)
    assert play.taken() == ["10 a joined 2 range leads a,c", "10 c joined 2 range follows a"]


def test_a_leader_that_never_assigns_is_evicted_at_the_rebalance_time_out() -> None:
    """KAFKA-12890: it even sends heartbeats; the others waited for ever."""
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.sync("b")
    play.wait(59, "a")
    assert play.taken() == []
    play.wait(1, "a")
    play.beat("a", "b")
    assert play.taken() == [
        "60 b sync REBALANCE_IN_PROGRESS",
        "60 a beat UNKNOWN_MEMBER_ID",
        "60 b beat REBALANCE_IN_PROGRESS",
    ]
    play.join("b")
    play.sync("b", b="all")
    assert play.taken() == ["60 b joined 2 range leads b", "60 b synced 'all'"]


def test_a_follower_that_never_syncs_is_evicted_too() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.sync("a", a="x", b="y")
    play.taken()
    assert play.state == "Stable"
    play.wait(60, "a", "b")
    play.beat("b")
    play.join("a")
    assert play.taken() == ["60 b beat UNKNOWN_MEMBER_ID", "60 a joined 2 range leads a"]


def test_nobody_is_evicted_when_all_have_synced() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.wait(120, "a", "b")
    assert play.state == "Stable"


def test_a_member_that_dies_while_the_leader_assigns_starts_a_rebalance() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.sync("b")
    play.wait(10)  # a, who leads, is silent; b waits and need not send heartbeats
    assert play.taken() == ["10 b sync REBALANCE_IN_PROGRESS"]
    play.join("b")
    assert play.taken() == ["10 b joined 2 range leads b"]


def test_a_member_id_that_is_not_used_expires() -> None:
    play = Playbook()
    play.stable("a")
    wire = play.node.connect("ghost")
    ghost = wire.call(joining("g", session_timeout_ms=10_000), 9).member_id
    play.join("b", "a")
    assert play.taken() == [], "the join phase waits for whoever has the member id"
    play.wait(10)
    assert play.taken() == ["10 a joined 2 range leads a,b", "10 b joined 2 range follows a"]
    answer = wire.call(joining("g", ghost), 9)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_member_does_not_wait_for_ever() -> None:
    """KAFKA-7610: before v4 a client that gives up leaves a member behind, without session."""
    play = Playbook(group_initial_rebalance_delay_ms=3_000)
    play.stable("a")
    play.actor("a").rebalance_ms = 1_800_000
    play.join("a", rebalance_ms=1_800_000)  # the leader: a rebalance with its own join
    play.sync("a", a="all")
    play.taken()
    play.join("b", version=3, session_ms=6_000)
    play.wait(NEW_MEMBER_JOIN_TIMEOUT_MS / 1_000 - 1, "a")
    assert play.taken() == []
    play.wait(1, "a")
    assert [line.split(" ", 1)[1] for line in play.taken()] == ["b join UNKNOWN_MEMBER_ID"]


def test_leaving_hands_the_share_on() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.leave("b")
    play.beat("a")
    play.join("a")
    assert play.taken() == [
        "0 b leave NONE",
        "0 a beat REBALANCE_IN_PROGRESS",
        "0 a joined 2 range leads a",
    ]


def test_leaving_answers_what_is_parked() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.sync("b")
    play.taken()
    play.leave("b")
    assert play.taken() == ["0 b sync UNKNOWN_MEMBER_ID", "0 b leave NONE"]


def test_the_same_join_again_supersedes_the_one_that_is_parked() -> None:
    play = Playbook()
    play.stable("a", "b")
    play.join("c")
    play.join("b")
    play.join("b")
    assert play.taken() == ["0 b join REBALANCE_IN_PROGRESS"]
    play.join("a")
    assert len(play.taken()) == 3


def test_the_same_sync_again_supersedes_the_one_that_is_parked() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.sync("b")
    play.sync("b")
    assert play.taken() == ["0 b sync REBALANCE_IN_PROGRESS"]
    play.sync("a", b="y")
    assert play.taken() == ["0 a synced ''", "0 b synced 'y'"]


def test_a_group_that_is_too_large_sheds_who_comes_last() -> None:
    play = Playbook(group_max_size=2)
    play.stable("a", "b")
    play.join("c")
    assert play.taken() == ["0 c join GROUP_MAX_SIZE_REACHED"]
    play.leave("b")
    play.join("c")
    play.join("d")
    play.join("a")
    assert play.taken() == ["0 b leave NONE", "0 a join GROUP_MAX_SIZE_REACHED"]
    assert play.state == "PreparingRebalance"
    play.wait(60)
    assert play.taken() == ["60 c joined 2 range leads c,d", "60 d joined 2 range follows c"]


def test_an_assignment_that_cannot_be_written_fails_the_sync() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.sync("b")
    play.taken()
    play.node.log.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    play.sync("a", a="x", b="y")
    assert play.taken() == [
        "0 a sync COORDINATOR_NOT_AVAILABLE",
        "0 b sync COORDINATOR_NOT_AVAILABLE",
    ]
    assert play.state == "PreparingRebalance"
    play.node.log.append_error = ErrorCode.NONE
    play.join("a", "b")
    assert [line[:12] for line in play.taken()] == ["0 a joined 2", "0 b joined 2"]


def test_a_group_becomes_empty_even_when_that_cannot_be_written() -> None:
    play = Playbook()
    play.stable("a")
    play.node.log.append_error = ErrorCode.KAFKA_STORAGE_ERROR
    play.leave("a")
    assert play.state == "Empty"


@pytest.mark.parametrize("commit", [True, False])
def test_an_assignment_leaves_when_it_is_committed(commit: bool) -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.node.log.commit_at_once = False
    play.sync("b")
    play.sync("a", a="x", b="y")
    play.sync("b")  # Stable already, but not committed
    assert play.taken() == []
    play.wait(4)
    if commit:
        for partition in range(5):
            play.node.log.commit(partition)
        assert play.taken() == ["4 a synced 'x'", "4 b synced 'y'", "4 b synced 'y'"]
    else:
        play.wait(1)
        assert play.taken() == [
            "5 a sync COORDINATOR_NOT_AVAILABLE",
            "5 b sync COORDINATOR_NOT_AVAILABLE",
            "5 b sync COORDINATOR_NOT_AVAILABLE",
        ]


@pytest.fixture
def rebalancer() -> Rebalancer:
    return Rebalancer(single_node_config(), SimScheduler(), lambda decide: None)


def taken_over(*members: str) -> ClassicGroup:
    """A classic group as the record has it by which it was converted."""
    metadata = [MemberMetadata(member_id=one, group_instance_id=None) for one in members]
    value = GroupMetadataValue("consumer", 4, "range", members[0], 0, metadata)
    return ClassicGroup.restore("g", value, 0)


def test_a_group_that_was_converted_rebalances(rebalancer: Rebalancer) -> None:
    group = taken_over("a", "b")
    rebalancer.rebalance_converted(group, "converted")
    assert group.state is ClassicGroupState.PREPARING_REBALANCE


def test_it_does_so_once_where_somebody_left_meanwhile(rebalancer: Rebalancer) -> None:
    group = taken_over("a", "b")
    rebalancer.remove_member(group, "a")
    rebalancer.prepare(group, "a has left")
    rebalancer.rebalance_converted(group, "converted")
    assert group.state is ClassicGroupState.PREPARING_REBALANCE


def test_it_is_left_alone_where_it_is_led_elsewhere_meanwhile(rebalancer: Rebalancer) -> None:
    group = taken_over("a")
    rebalancer.close(group, ErrorCode.NOT_COORDINATOR)
    assert rebalancer.rebalance_converted(group, "converted") == NOTHING
    assert rebalancer.resume(group) == NOTHING
    assert group.members["a"].session is None


def test_it_is_left_alone_where_all_have_left_meanwhile(rebalancer: Rebalancer) -> None:
    group = taken_over("a")
    rebalancer.remove_member(group, "a")
    assert rebalancer.rebalance_converted(group, "converted") == NOTHING
