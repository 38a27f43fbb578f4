"""Random lives of a group: joins, deaths, restarts of members and of the coordinator.

Held after every step: I16 (in one generation a partition has at most one owner) and I17 (a
committed offset that was acknowledged survives, and moves only by the current generation). At the
end all live members behave, and I18 holds: the group is Stable or Empty within 30 seconds.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from protocol.errors import ErrorCode
from tests.clients.group_conversation import beat, committing, describing, joining, syncing
from tests.unit.broker.groups.playbook import PARTITIONS, Actor, Playbook

NAMES = st.sampled_from(["a", "b", "c", "d"])
SECONDS = st.integers(1, 12)
SESSION_MS, REBALANCE_MS = 8_000, 10_000
HEAL_S = 30


class Member(Actor):
    """A consumer that does what its coordinator tells it, when it is its turn."""

    def __init__(self, name: str, static: bool) -> None:
        super().__init__(name)
        self.instance_id = name if static else None
        self.session_ms, self.rebalance_ms = SESSION_MS, REBALANCE_MS
        self.alive = False
        self.life = 0
        self.must_join = True
        self.waiting = False
        self.members: list[str] = []
        self.owns: tuple[int, str] | None = None


class GroupLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.play = Playbook(group_initial_rebalance_delay_ms=1_000)
        self.members = {name: Member(name, static=name in "ab") for name in "abcd"}
        self.owners: dict[tuple[int, str], str] = {}
        self.acknowledged = -1
        self.sent = 0

    # -- a member's turn -------------------------------------------------------------------------

    def _ask(self, member: Member, request: Any, version: int, told: Any) -> None:
        """Send; an answer to an earlier life of the member reaches nobody."""
        life = member.life
        member.waiting = True

        def answered(answer: Any) -> None:
            if member.life == life and member.alive:
                member.waiting = False
                told(member, answer)

        self.play._send(member, request, version, answered)

    def _turn(self, member: Member) -> None:
        """What a client does next: join, sync, or heartbeat."""
        group = self.play.group
        if not member.alive or member.waiting:
            return
        if member.must_join:
            request: Any = joining(
                group,
                member.member_id,
                group_instance_id=member.instance_id,
                session_timeout_ms=member.session_ms,
                rebalance_timeout_ms=member.rebalance_ms,
            )
            self._ask(member, request, 9, self._joined)
        elif member.owns is None:
            shares = {m: f"p{n}".encode() for n, m in enumerate(member.members)}
            request = syncing(
                group,
                member.generation,
                member.member_id,
                shares,
                group_instance_id=member.instance_id,
            )
            self._ask(member, request, 5, self._synced)
        else:
            request = beat(group, member.generation, member.member_id, member.instance_id)
            self._ask(member, request, 4, self._beaten)

    def _joined(self, member: Member, answer: Any) -> None:
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            member.member_id = answer.member_id
        elif error is ErrorCode.NONE:
            member.member_id, member.generation = answer.member_id, answer.generation_id
            member.members = [one.member_id for one in answer.members]
            if answer.skip_assignment:
                member.members = []
            member.must_join, member.owns = False, None
        else:
            self._refused(member, error)

    def _synced(self, member: Member, answer: Any) -> None:
        error = ErrorCode(answer.error_code)
        if error is not ErrorCode.NONE:
            self._refused(member, error)
            return
        share = (member.generation, answer.assignment.decode())
        member.owns = share
        if share[1]:
            # A static member's successor takes its share over, in the same generation.
            owner = member.instance_id or member.member_id
            assert self.owners.setdefault(share, owner) == owner, f"two owners of {share}"

    def _beaten(self, member: Member, answer: Any) -> None:
        error = ErrorCode(answer.error_code)
        if error is not ErrorCode.NONE:
            self._refused(member, error)

    def _refused(self, member: Member, error: ErrorCode) -> None:
        member.must_join, member.owns = True, None
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            member.member_id = ""

    @initialize(names=st.sets(NAMES, min_size=1))
    def begin(self, names: set[str]) -> None:
        for name in sorted(names):
            self.start(name)
        self.all_behave_for(4)

    # -- what happens ------------------------------------------------------------------------------

    @rule(name=NAMES)
    def start(self, name: str) -> None:
        """The process starts, or it is killed and started again at once."""
        member = self.members[name]
        member.alive, member.waiting, member.must_join = True, False, True
        member.member_id, member.owns = "", None
        member.life += 1

    @rule(name=NAMES)
    def kill(self, name: str) -> None:
        self.members[name].alive = False

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        member = self.members[name]
        if member.alive and member.member_id and not member.waiting:
            self.play.actors[name] = member
            self.play.leave(name)
            member.alive = False

    @rule(name=NAMES)
    def turn(self, name: str) -> None:
        self._turn(self.members[name])

    @rule(seconds=SECONDS)
    def all_behave_for(self, seconds: int) -> None:
        for _ in range(seconds * 2):
            for member in self.members.values():
                self._turn(member)
            self.play.node.scheduler.run_for(500)

    @rule(seconds=SECONDS)
    def silence(self, seconds: int) -> None:
        self.play.node.scheduler.run_for(seconds * 1_000)

    @rule()
    def restart_coordinator(self) -> None:
        self.play.node.restart()

    @rule()
    def fail_over(self) -> None:
        """Another replica leads: what was not committed is gone."""
        log = self.play.node.log
        for partition, records in log.records.items():
            del records[log.committed.get(partition, -1) + 1 :]
        self.play.node.restart()

    @precondition(lambda self: self.play.node.log.commit_at_once)
    @rule()
    def replicas_fall_behind(self) -> None:
        self.play.node.log.commit_at_once = False

    @precondition(lambda self: not self.play.node.log.commit_at_once)
    @rule()
    def replicas_catch_up(self) -> None:
        self._catch_up()

    def _catch_up(self) -> None:
        self.play.node.log.commit_at_once = True
        for partition in range(PARTITIONS):
            self.play.node.log.commit(partition)

    @rule(refuse=st.booleans())
    def appends(self, refuse: bool) -> None:
        error = ErrorCode.NOT_ENOUGH_REPLICAS if refuse else ErrorCode.NONE
        self.play.node.log.append_error = error

    @rule(name=NAMES, stale=st.booleans())
    def commit(self, name: str, stale: bool) -> None:
        member = self.members[name]
        if member.owns is None:
            return
        self.sent += 1
        offset, generation = self.sent, member.generation - stale

        def told(answer: Any) -> None:
            error = ErrorCode(answer.topics[0].partitions[0].error_code)
            if error is ErrorCode.NONE:
                assert not stale, "a commit of an old generation was accepted"
                self.acknowledged = max(self.acknowledged, offset)

        request = committing(
            self.play.group,
            offset,
            generation_id_or_member_epoch=generation,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
        )
        self.play._send(member, request, 9, told)

    # -- what holds --------------------------------------------------------------------------------

    @invariant()
    def acknowledged_offsets_stay(self) -> None:
        if self.play.node.log.commit_at_once:
            assert self.play.committed() >= self.acknowledged

    @invariant()
    def nobody_is_parked_twice(self) -> None:
        for shard in self.play.node.coordinator._runtime.active_shards():
            for group in shard.groups.values():
                waiting = sum(member.is_awaiting_join for member in group.members.values())
                assert waiting == group.awaiting_join_count

    def _described(self) -> Any:
        return self.play.admin.call(describing(self.play.group), 5).groups[0]

    def teardown(self) -> None:
        self.play.node.log.append_error = ErrorCode.NONE
        self._catch_up()
        self.all_behave_for(HEAL_S)
        alive = [member for member in self.members.values() if member.alive]
        assert self.play.state in (["Stable"] if alive else ["Stable", "Empty", "Dead"])
        assert len(self._described().members) == len(alive), "a dead member is still there"
        generations = {member.generation for member in alive}
        assert len(generations) <= 1 and all(member.owns for member in alive)
        self.play.node.restart()
        assert self.play.committed() >= self.acknowledged


GroupLife.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much],
)
TestGroupLife = pytest.mark.slow(GroupLife.TestCase)
