"""I29: a group that the broker assigns settles once nothing changes, within a bound.

Quiet is a group whose coordinator, members, what those are subscribed to, and epoch stay as they
are: the topics of a new expression are looked up before the epoch can rise. Once a group has been
quiet for the interval between two assignments, the first heartbeat has a target computed; in a
round, in which each member is answered once, all hear what they have to give up; in the next all
say that they did; in the third each gets what is its own. So the group is Stable after `ROUNDS`,
and each member was told its target: with clients that send a heartbeat each interval, within the
assignment interval and three heartbeat intervals. One more is needed where a member was on its way
to give up something for an older target: that comes first. A round of a classic member is a
SyncGroup, or a Heartbeat after which it does not have to come again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.group_state import ConsumerGroupState
from broker.groups.consumer.state.member import Subscription
from broker.groups.group_shard import GroupShard
from broker.groups.reconciliation.position import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from broker.node.node import Node
from protocol.api_keys import ApiKey
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.consumer_groups.consumer_invariants import OfConsumerGroups, Place

ASSIGNMENT_INTERVAL_MS = 1_000.0
"""`group.consumer.assignment.interval.ms`, as it is by default."""
ROUNDS = 3
OF_A_ROUND = (ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT)


@dataclass(slots=True)
class Quiet:
    """A group since its last change; times in ms."""

    group: ConsumerGroup
    node: Node
    address: str
    epoch: int
    members: dict[str, Subscription]
    gives_up: bool
    """Whether a member was to give up something for an older target."""
    since_ms: float
    """When its round began: requests count that were sent since."""
    rounds: int = 0
    answered: dict[str, None] = field(default_factory=dict)
    """Whose turn in this round is over."""

    @property
    def limit(self) -> int:
        """After so many rounds it is Stable."""
        members = self.group.members.values()
        more = self.gives_up or any(one.uses_classic_protocol for one in members)
        return ROUNDS + more


class QuietGroupsSettle(OfConsumerGroups):
    """See the module."""

    name = "I29"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._quiet: dict[str, Quiet] = {}
        self._told: dict[tuple[str, str], list[Place]] = {}
        """By group and client: what it was told last that it has."""
        self.judged = 0
        """How often a group had to be Stable, and was."""

    def look_at(self, group: ConsumerGroup, broker: SimBroker) -> None:
        assert broker.node is not None
        known = self._quiet.get(group.group_id)
        members = {one.member_id: one.subscription for one in group.members.values()}
        if (
            known is None
            or known.group is not group
            or (known.epoch, known.members) != (group.epoch, members)
            or any(one.position.epoch == STATIC_LEAVE_EPOCH for one in group.members.values())
        ):
            self._quiet[group.group_id] = Quiet(
                *(group, broker.node, broker.address, group.epoch, members),
                any(one.position.revoking for one in group.members.values()),
                self.world.now_ms + ASSIGNMENT_INTERVAL_MS,
            )

    def received(self, exchange: Exchange) -> None:
        self.learn(exchange)
        if exchange.key not in OF_A_ROUND:
            return
        group_id = exchange.request.group_id
        given = self.given(exchange)
        if given is not None:
            self._told[group_id, exchange.client] = given
        quiet = self._quiet.get(group_id)
        if quiet is None or exchange in self._replaced or exchange.response.error_code:
            return
        member_id = self._member_of(exchange)
        if exchange.node != quiet.address or exchange.sent_ms < quiet.since_ms:
            return
        if member_id not in quiet.members:
            return
        quiet.answered[member_id] = None
        if quiet.rounds >= quiet.limit:
            self._has_its_own(quiet, member_id, exchange.client)
        if len(quiet.answered) == len(quiet.members):
            self._round_is_over(quiet)

    def _member_of(self, exchange: Exchange) -> str | None:
        """Whose turn it was; None where it is none, as who leaves has none."""
        if exchange.key is not ApiKey.CONSUMER_GROUP_HEARTBEAT:
            member_id: str = exchange.request.member_id
            return member_id
        told: str | None = exchange.response.member_id
        return told if exchange.response.member_epoch > JOIN_EPOCH else None

    def _round_is_over(self, quiet: Quiet) -> None:
        quiet.answered.clear()
        quiet.rounds += 1
        quiet.since_ms = self.world.now_ms
        if quiet.rounds < quiet.limit or self._shard_of(quiet) is None:
            return
        self.judged += 1
        state = quiet.group.state
        if state is not ConsumerGroupState.STABLE:
            positions = {one.member_id: one.position for one in quiet.group.members.values()}
            raise self.broken(
                f"{quiet.group.group_id} is {state.value} after {quiet.rounds} rounds without a "
                f"change in epoch {quiet.epoch}: {positions}"
            )

    def _shard_of(self, quiet: Quiet) -> GroupShard | None:
        """Return the group's shard; None if its coordinator changed, or its type."""
        broker, group_id = quiet.node.broker, quiet.group.group_id
        shards = [] if broker is None else broker.parts.groups._runtime.active_shards()
        return next((s for s in shards if s.groups.get(group_id) is quiet.group), None)

    def _has_its_own(self, quiet: Quiet, member_id: str, client: str) -> None:
        """Check that a member of a Stable group was given all partitions of its target.

        A classic member whose JoinGroup was answered has to sync, or is removed at its rebalance
        time-out: until then it may lack a partition, since the JoinGroup may be one that it gave
        up, which arrived late.
        """
        shard = self._shard_of(quiet)
        if shard is None or (quiet.group.group_id, member_id) in shard._consumers._timers._returns:
            return
        told = sorted(self._told.get((quiet.group.group_id, client), []))
        target = _places(quiet.group.target(member_id))
        if told != target:
            raise self.broken(
                f"{client} of {quiet.group.group_id} was told {told}, its target is {target}"
            )

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._quiet.clear()


def _places(assignment: Mapping[bytes, Any]) -> list[Place]:
    return sorted((topic_id, one) for topic_id, parts in assignment.items() for one in parts)
