"""What members' requests are answered, state by state; static members. Each play is one group."""

from __future__ import annotations

import pytest

from broker.groups.group_coordinator import PROTOCOLS_MAX
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE
from protocol.errors import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.clients.group_conversation import joining, leaving, subscription, syncing
from tests.unit.broker.groups.playbook import GroupNode, Playbook
from tests.unit.broker.sliced_fixture import Turns

# What a member of the current generation, another generation, and a stranger are answered.
HEARTBEATS = {
    "Empty": ("UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"),
    "PreparingRebalance": ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"),
    "CompletingRebalance": ("NONE", "ILLEGAL_GENERATION"),
    "Stable": ("NONE", "ILLEGAL_GENERATION"),
}
COMMITS = {
    "Empty": "UNKNOWN_MEMBER_ID",
    "PreparingRebalance": "NONE",
    "CompletingRebalance": "REBALANCE_IN_PROGRESS",
    "Stable": "NONE",
}
SYNCS = {
    "Empty": "sync UNKNOWN_MEMBER_ID",
    "PreparingRebalance": "sync REBALANCE_IN_PROGRESS",
    "CompletingRebalance": None,
    "Stable": "synced 'a'",
}


def _play_in(state: str) -> Playbook:
    play = Playbook()
    if state == "CompletingRebalance":
        play.join("a")
        play.settle()
    else:
        play.stable("a")
    if state == "PreparingRebalance":
        play.join("b")
    if state == "Empty":
        play.leave("a")
    assert play.state == state
    play.taken()
    return play


@pytest.mark.parametrize("state", HEARTBEATS)
def test_heartbeat(state: str) -> None:
    play = _play_in(state)
    member, other_generation = HEARTBEATS[state]
    play.beat("a")
    play.actor("a").generation += 7
    play.beat("a")
    play.beat("stranger")
    assert play.taken() == [
        f"0 a beat {member}",
        f"0 a beat {other_generation}",
        "0 stranger beat UNKNOWN_MEMBER_ID",
    ]


@pytest.mark.parametrize("state", COMMITS)
def test_commit(state: str) -> None:
    play = _play_in(state)
    play.commit("a", 5)
    assert play.taken() == [f"0 a commit {COMMITS[state]}"]
    assert play.committed() == (5 if COMMITS[state] == "NONE" else -1)


@pytest.mark.parametrize("state", SYNCS)
def test_sync(state: str) -> None:
    play = _play_in(state)
    if state == "CompletingRebalance":
        play.sync("a", a="a")
        assert play.taken() == ["0 a synced 'a'"]
        return
    play.sync("a")
    assert play.taken() == [f"0 a {SYNCS[state]}"]


def test_a_commit_of_an_old_generation_moves_nothing() -> None:
    """I17, and G8: a member that was stopped past its session comes back."""
    play = Playbook()
    play.stable("a", "b")
    play.commit("b", 7)
    play.wait(11, "a")
    play.join("a")
    play.sync("a", a="all")
    play.commit("a", 9)
    play.taken()
    play.commit("b", 8)
    play.beat("b")
    assert play.taken() == ["11 b commit UNKNOWN_MEMBER_ID", "11 b beat UNKNOWN_MEMBER_ID"]
    assert play.committed() == 9
    play.actor("a").generation -= 1
    play.commit("a", 1)
    assert play.taken() == ["11 a commit ILLEGAL_GENERATION"]
    assert play.committed() == 9


def test_the_protocol_is_voted_for() -> None:
    play = Playbook()
    play.actor("a").protocols = ["range", "sticky"]
    play.actor("b").protocols = ["roundrobin", "sticky", "range"]
    play.actor("c").protocols = ["sticky", "range"]
    play.join("a", "b", "c")
    play.settle()
    assert play.taken()[0] == "0 a joined 1 sticky leads a,b,c"


def test_a_member_without_a_common_protocol_is_refused() -> None:
    play = Playbook()
    play.stable("a")
    play.join("b", protocols=["sticky"])
    assert play.taken() == ["0 b join INCONSISTENT_GROUP_PROTOCOL"]
    assert play.state == "Stable"


def test_the_group_moves_to_another_protocol_when_all_have_it() -> None:
    """A rolling upgrade: range → range and cooperative → cooperative."""
    play = Playbook()
    play.stable("a", "b")
    for protocols in (["cooperative", "range"], ["cooperative"]):
        for name in ("a", "b"):
            play.leave(name)
            play.actor(name).member_id = ""
            play.join(name, protocols=protocols)
            play.join(*(other for other in ("a", "b") if other != name))
            play.sync(play.leader, a="1", b="2")
    choices = [line.split()[3:5] for line in play.taken() if "joined" in line]
    assert choices[0] == ["2", "range"]
    assert choices[-1][1] == "cooperative"
    assert play.state == "Stable"


def test_new_metadata_of_a_follower_starts_a_rebalance() -> None:
    play = Playbook()
    play.stable("a", "b")
    follower = next(name for name in ("a", "b") if name != play.leader)
    play.join(follower)
    assert play.taken() == [f"0 {follower} joined 1 range follows {play.leader}"]
    play.join(follower, protocols=[("range", subscription("other"))])
    play.join(play.leader)
    assert [line.split()[3] for line in play.taken()] == ["2", "2"]


def test_the_leader_starts_a_rebalance_by_joining() -> None:
    """How growth of a topic's partitions reaches the group."""
    play = Playbook()
    play.stable("a", "b")
    play.join("a")
    play.beat("b")
    play.join("b")
    assert play.taken() == [
        "0 b beat REBALANCE_IN_PROGRESS",
        "0 a joined 2 range leads a,b",
        "0 b joined 2 range follows a",
    ]


def test_a_join_is_repeated_when_its_answer_was_lost() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.taken()
    play.join("b")
    play.join("a")
    assert play.taken() == ["0 b joined 1 range follows a", "0 a joined 1 range leads a,b"]


def test_other_metadata_while_the_leader_assigns_starts_a_rebalance() -> None:
    play = Playbook()
    play.join("a", "b")
    play.settle()
    play.sync("a", a="x", b="y")
    play.sync("b")
    play.taken()
    play.join("a")
    play.join("b")
    play.taken()
    play.sync("b")
    play.join("b", protocols=[("range", subscription("other"))])
    assert play.taken() == ["0 b sync REBALANCE_IN_PROGRESS"]


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    play = Playbook()
    play.actor("a").instance_id = "A"
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    old = play.actor("b").member_id
    play.actor("b").member_id = ""
    play.join("b")
    play.sync("b")
    play.beat("a")
    assert play.actor("b").member_id != old
    assert play.taken() == [
        "0 b joined 1 range follows a",
        "0 b synced 'b'",
        "0 a beat NONE",
    ]
    play.actor("old", member_id=old, instance_id="B", generation=1)
    play.beat("old")
    play.sync("old")
    play.join("old")
    play.commit("old", 4)
    play.leave("old")
    assert play.taken() == [
        "0 old beat FENCED_INSTANCE_ID",
        "0 old sync FENCED_INSTANCE_ID",
        "0 old join FENCED_INSTANCE_ID",
        "0 old commit FENCED_INSTANCE_ID",
        "0 old leave FENCED_INSTANCE_ID",
    ]


@pytest.mark.parametrize(
    ("version", "answer"),
    [(9, "joined 1 range leads a,b skips assignment"), (8, "joined 1 range follows a'")],
)
def test_a_static_leader_that_comes_back_need_not_assign(version: int, answer: str) -> None:
    """KIP-814; before v9 it is told that its old id leads, so that it does not assign either."""
    play = Playbook()
    play.actor("a").instance_id = "A"
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    play.actor("a").member_id = ""
    play.join("a", version=version)
    play.sync("a")
    assert play.taken() == [f"0 a {answer}", "0 a synced 'a'"]
    assert play.state == "Stable"


def test_a_static_member_that_changes_the_vote_starts_a_rebalance() -> None:
    play = Playbook()
    play.actor("a", instance_id="A", protocols=["range", "sticky"])
    play.actor("b", instance_id="B", protocols=["range", "sticky"])
    play.stable("a", "b")
    play.actor("b").member_id = ""
    play.join("b", protocols=["sticky"])
    play.beat("a")
    play.join("a")
    assert play.taken() == [
        "0 a beat REBALANCE_IN_PROGRESS",
        "0 a joined 2 sticky leads a,b'",
        "0 b joined 2 sticky follows a",
    ]


def test_a_static_member_that_comes_back_while_the_leader_assigns_starts_a_rebalance() -> None:
    play = Playbook()
    play.actor("a").instance_id = "A"
    play.actor("b").instance_id = "B"
    play.join("a", "b")
    play.settle()
    play.sync("b")
    play.taken()
    play.actor("b").member_id = ""
    play.join("b")
    assert play.taken() == ["0 b sync FENCED_INSTANCE_ID"]
    play.join("a")
    assert play.taken() == ["0 a joined 2 range leads a,b'", "0 b joined 2 range follows a"]


def test_a_static_member_that_comes_back_in_the_join_phase_fences_the_one_that_waits() -> None:
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a")
    play.join("b")
    play.actor("b").member_id = ""
    play.join("b")
    assert play.taken() == ["0 b join FENCED_INSTANCE_ID"]
    play.join("a")
    assert play.taken() == ["0 a joined 2 range leads a,b'", "0 b joined 2 range follows a"]


def test_a_static_member_keeps_its_place_for_a_session() -> None:
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    play.join("c")
    play.join("a")
    play.wait(9, "a")
    assert play.taken() == [], "an absent static member is waited for"
    play.wait(1, "a")
    assert play.taken() == ["10 a joined 2 range leads a,c", "10 c joined 2 range follows a"]


def test_static_members_are_not_dropped_at_the_rebalance_time_out() -> None:
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    play.join("c")
    play.join("a")
    play.wait(60, "b")
    assert play.taken()[0] == "60 a joined 2 range leads a,b,c"


def test_only_absent_static_members_postpone_the_generation() -> None:
    play = Playbook()
    play.actor("a").instance_id = "A"
    play.stable("a", "b")
    play.leave("b")
    play.wait(60, "a")
    assert play.state == "PreparingRebalance"
    play.join("a")
    assert play.taken() == ["0 b leave NONE", "60 a joined 2 range leads a"]


def test_a_static_replacement_that_cannot_be_written_is_taken_back() -> None:
    play = Playbook()
    play.actor("a").instance_id = "A"
    play.stable("a", "b")
    old = play.actor("a").member_id
    play.actor("a").member_id = ""
    play.node.log.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    play.join("a")
    assert play.taken() == ["0 a join NOT_COORDINATOR"]
    play.node.log.append_error = ErrorCode.NONE
    play.actor("a").member_id = old
    play.beat("a")
    play.sync("a")
    assert play.taken() == ["0 a beat NONE", "0 a synced 'a'"]


def test_an_administrator_removes_a_static_member_by_its_instance() -> None:
    play = Playbook()
    play.actor("b").instance_id = "B"
    play.stable("a", "b")
    answer = play.admin.call(leaving("g", ("", "B"), ("", "X"), ("", None)), 5)
    assert [member.error_code for member in answer.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    play.beat("a")
    assert play.taken() == ["0 a beat REBALANCE_IN_PROGRESS"]


def test_several_members_leave_with_one_rebalance() -> None:
    play = Playbook()
    play.stable("a", "b", "c")
    members = [MemberIdentity(play.actor(name).member_id) for name in ("a", "b")]
    answer = play.admin.call(LeaveGroupRequest("g", members=members), 3)
    assert [member.error_code for member in answer.members] == [0, 0]
    play.join("c")
    assert play.taken() == ["0 c joined 2 range leads c"]


def test_leaving_with_a_member_id_that_is_pending() -> None:
    play = Playbook()
    play.stable("a")
    wire = play.node.connect("p")
    pending = wire.call(joining("g"), 9).member_id
    play.join("b")
    play.join("a")
    assert play.taken() == []
    assert wire.call(leaving("g", (pending, None)), 5).members[0].error_code == ErrorCode.NONE
    assert play.taken() == ["0 a joined 2 range leads a,b", "0 b joined 2 range follows a"]


def test_a_storm_of_clients_that_never_join_is_bounded() -> None:
    """G4, KAFKA-7610: ids that are given out count against group.max.size until they expire."""
    play = Playbook(group_max_size=20)
    wire = play.node.connect("storm")
    answers = [wire.call(joining("g", session_timeout_ms=10_000), 9) for _ in range(500)]
    given = [one for one in answers if one.error_code == ErrorCode.MEMBER_ID_REQUIRED]
    assert len(given) == 20
    assert answers[-1].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    play.wait(10)
    assert play.node.scheduler.pending() == 1
    play.stable("a")


def test_a_sync_for_another_protocol_is_refused() -> None:
    play = Playbook()
    play.stable("a")
    wire = play.node.connect("a")
    me = play.actor("a").member_id
    for request in (
        syncing("g", 1, me, protocol_type="connect"),
        syncing("g", 1, me, protocol_name="sticky"),
    ):
        assert wire.call(request, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert wire.call(syncing("g", 1, me), 5).assignment == b"a"


def test_member_ids_are_uuids_of_version_4() -> None:
    play = Playbook()
    first = play.node.connect("c").call(joining("g"), 9).member_id
    second = play.node.connect("c").call(joining("g"), 9).member_id
    assert first != second
    uuid = first.removeprefix("c-")
    assert (len(uuid), uuid[14], uuid[19] in "89ab") == (36, "4", True)
    assert play.node.connect(None).call(joining("g"), 9).member_id.startswith("-")


@pytest.mark.parametrize("group", ["g", "absent"])
def test_many_members_leave_in_slices(group: str) -> None:
    turns = Turns()
    node = GroupNode(turns=turns)
    client = node.connect()
    client.call(joining("g"), 5)
    member = client.call(joining("g"), 5).member_id
    count = 3 * PIECES_AT_ONCE
    strangers = [(f"m{number}", None) for number in range(count)]
    client.send(leaving(group, *strangers, (member, None)), 5)
    assert not client.answered and turns.run() >= 3
    codes = [one.error_code for one in client.receive().members]
    last = ErrorCode.NONE if group == "g" else ErrorCode.UNKNOWN_MEMBER_ID
    assert codes == [ErrorCode.UNKNOWN_MEMBER_ID] * count + [last]


def test_who_leaves_a_group_that_is_led_elsewhere_meanwhile_is_told() -> None:
    turns = Turns()
    node = GroupNode(turns=turns)
    client = node.connect()
    client.call(joining("g"), 5)
    member = client.call(joining("g"), 5).member_id
    strangers = [(f"m{number}", None) for number in range(2 * PIECES_AT_ONCE)]
    client.send(leaving("g", *strangers, (member, None)), 5)
    node.coordinator.on_resigned(node.coordinator.partition_for("g"))
    turns.run()
    codes = [one.error_code for one in client.receive().members]
    assert codes[0] == ErrorCode.UNKNOWN_MEMBER_ID
    assert codes[-1] == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_shares_of_many_members_are_read_in_slices() -> None:
    turns = Turns()
    client = GroupNode(turns=turns).connect()
    client.call(joining("g"), 5)
    client.send(syncing("g", 1, "m", {f"m{n}": b"" for n in range(3 * BULK_AT_ONCE)}), 5)
    assert not client.answered and turns.run() >= 2
    assert client.receive().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_with_very_many_protocols_is_refused() -> None:
    client = GroupNode().connect()
    names = [f"p{number}" for number in range(PROTOCOLS_MAX + 1)]
    answer = client.call(joining("g", protocols=names), 5)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    answer = client.call(joining("g", protocols=names[1:]), 5)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
