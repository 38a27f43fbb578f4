"""Members of a group that do what a test tells, one request at a time, and traps for coordinators.

A `ScriptedMember` has a connection of its own, as a client has. A `Trap` kills the node that serves
a request, at a moment of it: when it arrives, once it was handled, or with its answer under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ground.memory_filesystem import Died
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.cast import GROUPS
from tests.simulation.group_members import Committing, Key, Reading, encoded
from tests.simulation.scenario import Scenario, ScriptedClient

GROUP = GROUPS[0]
SOON_MS = 700.0
"""Within this, a member that asks all the time has heard of what is so."""
STAY = {
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "1000",
}
"""Properties of stories in which a coordinator moves when it is told to, and else does not, and in
which all who join at once are in the first generation, be the network slow."""
TOPIC = "orders"
KEYS: list[Key] = [(TOPIC, 0), (TOPIC, 1)]
ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


class ScriptedMember:
    """See the module. It knows what it was told last: member id, generation, leader."""

    def __init__(
        self,
        story: Scenario,
        name: str,
        *,
        instance_id: str | None = None,
        session_ms: int = 6_000,
        rebalance_ms: int = 8_000,
    ) -> None:
        self.story = story
        self.client = story.add(ScriptedClient, name)
        self.instance_id = instance_id
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.member_id = ""
        self.generation = -1
        self.leads = False
        self.members: list[str] = []

    # --- requests that are under way -------------------------------------------------------------

    def joining(self, to: SimBroker) -> Exchange:
        """A JoinGroup under way; `joined` takes its answer."""
        subscription = encoded(ConsumerProtocolSubscription([TOPIC]))
        request = JoinGroupRequest(
            GROUP,
            self.session_ms,
            self.rebalance_ms,
            self.member_id,
            self.instance_id,
            "consumer",
            [JoinGroupRequestProtocol("range", subscription)],
        )
        return self._send(request, 9, to, timeout_ms=self.rebalance_ms + 6_000.0)

    def syncing(self, to: SimBroker, shares: dict[str, list[Key]] | None = None) -> Exchange:
        """A SyncGroup under way; the leader's has everybody's share."""
        assignments = [
            SyncGroupRequestAssignment(member_id, _assignment(keys))
            for member_id, keys in (shares or {}).items()
        ]
        request = SyncGroupRequest(
            GROUP, self.generation, self.member_id, self.instance_id, "consumer", "range",
            assignments,
        )  # fmt: skip
        return self._send(request, 5, to, timeout_ms=self.rebalance_ms + 6_000.0)

    def committing(self, to: SimBroker, offset: int, key: Key = KEYS[0]) -> Exchange:
        """An OffsetCommit under way; `commit_error` tells how it ended."""
        part = OffsetCommitRequestPartition(key[1], offset, -1, "")
        request = OffsetCommitRequest(
            GROUP,
            self.generation,
            self.member_id,
            self.instance_id,
            topics=[OffsetCommitRequestTopic(key[0], partitions=[part])],
        )
        about = Committing(GROUP, self.generation, self.member_id, {key: offset})
        return self._send(request, 9, to, about=about)

    # --- requests and their answers --------------------------------------------------------------

    def joined(self, joining: Exchange) -> ErrorCode | None:
        """Wait for the answer to a JoinGroup; a member id that is to be used is used."""
        self._wait(joining)
        response = joining.response
        if response is None:
            return None
        error = ErrorCode(response.error_code)
        if error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
        if error is ErrorCode.NONE:
            self.generation = response.generation_id
            self.leads = response.leader == self.member_id
            self.members = [one.member_id for one in response.members]
        return error

    def introduce(self, to: SimBroker) -> None:
        """Get a member id: the first JoinGroup of a dynamic member."""
        assert self.joined(self.joining(to)) is ErrorCode.MEMBER_ID_REQUIRED

    def error(self, exchange: Exchange) -> ErrorCode | None:
        """Wait for an answer and its one error code; None where there is no answer."""
        self._wait(exchange)
        return None if exchange.response is None else ErrorCode(exchange.response.error_code)

    def commit_error(self, exchange: Exchange) -> ErrorCode | None:
        """The same for an OffsetCommit."""
        self._wait(exchange)
        if exchange.response is None:
            return None
        return ErrorCode(exchange.response.topics[0].partitions[0].error_code)

    def heartbeat(self, to: SimBroker) -> ErrorCode | None:
        """A sign of life."""
        request = HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance_id)
        return self.error(self._send(request, 4, to))

    def commit(self, to: SimBroker, offset: int) -> ErrorCode | None:
        """Commit an offset for the first partition."""
        return self.commit_error(self.committing(to, offset))

    def _send(
        self, request: Any, version: int, to: SimBroker, *, timeout_ms: float = 8_000.0,
        about: Any = None,
    ) -> Exchange:  # fmt: skip
        connection = self.client.connection(to.address)
        assert connection is not None, f"{to.address} does not listen"
        sent: Exchange = connection.send(request, version, timeout_ms, about=about)
        return sent

    def _wait(self, exchange: Exchange) -> None:
        self.story.run_until(lambda: exchange.outcome is not None, 30_000)


def _assignment(keys: list[Key]) -> bytes:
    parts = [ConsumerProtocolAssignmentTopicPartition(topic, [index]) for topic, index in keys]
    return encoded(ConsumerProtocolAssignment(parts))


def stable_group(story: Scenario, *members: ScriptedMember) -> ScriptedMember:
    """Let all join and sync in one generation, at the coordinator of now; its leader."""
    to = first_coordinator(story)
    for one in members:
        if not one.member_id and one.instance_id is None:
            one.introduce(to)
    joins = [one.joining(to) for one in members]
    assert all(one.joined(join) is ErrorCode.NONE for one, join in zip(members, joins, strict=True))
    assert len({one.generation for one in members}) == 1
    leader = next(one for one in members if one.leads)
    sync_all(to, leader, *members)
    return leader


def sync_all(to: SimBroker, leader: ScriptedMember, *members: ScriptedMember) -> None:
    """Let the leader assign, and all hear of it."""
    shares = shares_of(leader)
    syncs = [one.syncing(to, shares if one is leader else None) for one in members]
    assert all(one.error(sync) is ErrorCode.NONE for one, sync in zip(members, syncs, strict=True))


def shares_of(leader: ScriptedMember) -> dict[str, list[Key]]:
    """Each partition to one member, in turns."""
    shares: dict[str, list[Key]] = {member_id: [] for member_id in leader.members}
    for turn, key in enumerate(KEYS):
        shares[leader.members[turn % len(leader.members)]].append(key)
    return shares


def described(story: Scenario, to: SimBroker) -> DescribedGroup:
    """The group as its coordinator describes it."""
    response = story.ask(DescribeGroupsRequest([GROUP]), 5, to)
    assert response is not None
    group: DescribedGroup = response.groups[0]
    return group


def reading(client: Any, to: SimBroker, key: Key = KEYS[0]) -> Exchange | None:
    """An OffsetFetch under way; None where nobody listens."""
    topics = [OffsetFetchRequestTopics(key[0], partition_indexes=[key[1]])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, None, -1, topics)])
    connection = client.connection(to.address)
    if connection is None:
        return None
    sent: Exchange = connection.send(request, 9, 5_000.0, about=Reading(GROUP, [key]))
    return sent


def committed(exchange: Exchange) -> tuple[ErrorCode, int | None]:
    """What an OffsetFetch of one partition was told: an error, or an offset."""
    group = exchange.response.groups[0]
    if group.error_code:
        return ErrorCode(group.error_code), None
    told = group.topics[0].partitions[0]
    return ErrorCode(told.error_code), told.committed_offset


def read_offset(story: Scenario, to: SimBroker, key: Key = KEYS[0]) -> int:
    """The committed offset; -1 where there is none."""
    sent = reading(story.script, to, key)
    assert sent is not None
    story.run_until(lambda: sent.outcome is not None, 6_000)
    error, offset = committed(sent)
    assert error is ErrorCode.NONE and offset is not None, error
    return offset


def serves(story: Scenario, node: SimBroker) -> None:
    """Wait until a coordinator has loaded its groups."""

    def answers() -> bool:
        client = story.script
        sent = reading(client, node)
        if sent is None:
            return False
        story.run_until(lambda: sent.outcome is not None, 6_000)
        return sent.response is not None and committed(sent)[0] is ErrorCode.NONE

    story.run_until(answers, 20_000)


def found_by(story: Scenario, asked: SimBroker) -> str:
    """The address of the coordinator, as a broker tells it; "" where it does not."""
    response = story.ask(FindCoordinatorRequest("", 0, [GROUP]), 4, asked)
    host: str = "" if response is None else response.coordinators[0].host
    return host


def first_coordinator(story: Scenario) -> SimBroker:
    """The coordinator of the group, once somebody has asked for it: that makes its topic."""
    asked = next(one for one in story.view.brokers if one.serving)
    story.run_until(lambda: bool(found_by(story, asked)), 20_000)
    node = story.coordinator()
    serves(story, node)
    return node


def until_told(
    story: Scenario, member: ScriptedMember, to: SimBroker, last: ErrorCode, *before: ErrorCode
) -> None:
    """Send heartbeats until one is answered with `last`; the others are NONE, or `before`."""
    while (told := member.heartbeat(to)) is not last:
        assert told in (ErrorCode.NONE, *before), told
        story.run_for(SOON_MS / 2)


def check_known(story: Scenario, to: SimBroker, *members: ScriptedMember) -> None:
    """The coordinator knows the members, in their generation: nobody has to rejoin."""
    for one in members:
        assert one.heartbeat(to) is ErrorCode.NONE
        assert one.error(one.syncing(to)) is ErrorCode.NONE
    group = described(story, to)
    assert group.group_state == "Stable"
    assert {one.member_id for one in group.members} == {one.member_id for one in members}


class Trap:
    """A watcher of the network: kills the coordinator that serves the next request of a kind.

    Moments: "arrives" (it is not handled any more), "handled" (what it wrote is on one disk),
    "answered" (it is committed; the answer is not sent), "under way" (the answer may arrive).
    """

    MOMENTS = ("arrives", "handled", "answered", "under way")

    def __init__(self, story: Scenario) -> None:
        self.story = story
        self.sprung: list[tuple[ApiKey, str, SimBroker]] = []
        self._armed: tuple[ApiKey, str] | None = None
        self._wants: Callable[[Any], bool] = lambda _request: True
        story.network.watch(self)

    def set(
        self, key: ApiKey, moment: str, wants: Callable[[Any], bool] = lambda _request: True
    ) -> None:
        """Wait for a request of this kind at the coordinator, for the first that it `wants`."""
        assert moment in self.MOMENTS
        self._armed = (key, moment)
        self._wants = wants

    @property
    def is_armed(self) -> bool:
        return self._armed is not None

    def handled(self, exchange: Exchange) -> None:
        node = self._spring(exchange, "arrives", "handled")
        if node is None:
            return
        if self.sprung[-1][1] == "arrives":
            node.disk.die_at = node.disk.changes
            raise Died(f"{exchange.key.name} arrived")
        self.story.world.call_soon(lambda: self.story.kill(node))

    def answered(self, exchange: Exchange) -> None:
        node = self._spring(exchange, "answered", "under way")
        if node is not None:
            delay_ms = 0.0 if self.sprung[-1][1] == "answered" else 1.0
            self.story.world.call_later(delay_ms, lambda: self.story.kill(node))

    def _spring(self, exchange: Exchange, *moments: str) -> SimBroker | None:
        if self._armed is None:
            return None
        key, moment = self._armed
        node = self.story.view.at(exchange.node)
        if exchange.key is not key or moment not in moments or not self._wants(exchange.request):
            return None
        if node is not self.story.view.coordinator() or not node.serving:
            return None
        self._armed = None
        self.sprung.append((key, moment, node))
        return node

    def sent(self, exchange: Exchange) -> None:
        """Nothing: see `Watcher`."""

    def received(self, exchange: Exchange) -> None:
        """Nothing: see `Watcher`."""

    def unanswered(self, exchange: Exchange) -> None:
        """Nothing: see `Watcher`."""
