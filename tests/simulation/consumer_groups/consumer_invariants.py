"""Invariants of groups that the broker assigns (KIP-848): I23, I24, I25.

I23 and I24 look from two sides: at what a coordinator holds after each decision, and at what
members were told. A member believes that it has a partition from the answer that gives it until it
says that it has it no more; one that was not heard for a session is out of the group, whatever it
believes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.group_shard import GroupShard
from broker.groups.reconciliation.member_state import STABLE
from controller.metadata.image import TopicsImage
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.invariants.invariant import Invariant
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import OFFSETS_TOPIC
from simulation.network.sim_network import Exchange
from tests.simulation.consumer_groups.consumer_member import JOIN_EPOCH
from tests.simulation.consumer_groups.migrating_member import owned_of, subscription_of
from tests.simulation.group_members import HEARTBEAT_MS, SESSION_MS, Committing, Key, assignment_of

Place = tuple[bytes, int]
"""Topic id and partition."""


@dataclass(slots=True)
class Belief:
    """What one client believes that it has; times in ms."""

    heard_ms: float
    """When it sent the last request that was answered without an error and begins its session
    anew: a heartbeat, a JoinGroup. A SyncGroup in a stable group does not, on Kafka neither."""
    since_ms: dict[Place, float] = field(default_factory=dict)
    """When each partition was given."""


def consumer_groups(broker: SimBroker) -> Iterator[tuple[ConsumerGroup, GroupShard]]:
    """Those that a broker coordinates with their shards, but where something is half done."""
    assert broker.node is not None
    if broker.node.broker is None:
        return
    runtime = broker.node.broker.parts.groups._runtime
    for shard in runtime.active_shards():
        assert isinstance(shard, GroupShard)
        if not shard._context.is_deciding:
            for group in shard.groups.values():
                if isinstance(group, ConsumerGroup):
                    yield group, shard


OF_MEMBERS = (
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
)
"""What members ask, of both protocols."""


class OfConsumerGroups(Invariant):
    """What both sides have in common."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._ids: dict[str, bytes] = {}
        """Topic ids by name, as clients were told them."""
        self._replaced: dict[Exchange, None] = {}
        """Answers of a coordinator that had been replaced, and could not know: old news."""
        self._seen: dict[tuple[str, str], tuple[ConsumerGroup, int]] = {}
        """What was looked at: a group, as of its last record."""

    def answered(self, exchange: Exchange) -> None:
        view = self.promises.view
        if view is None or exchange.key not in OF_MEMBERS:
            return
        if view.is_replaced(view.at(exchange.node), OFFSETS_TOPIC, 0):
            self._replaced[exchange] = None

    def is_news(self, exchange: Exchange) -> bool:
        """Whether it is a coordinator's answer to a heartbeat."""
        right = exchange.key is ApiKey.CONSUMER_GROUP_HEARTBEAT
        return right and exchange not in self._replaced

    def learn(self, exchange: Exchange) -> None:
        """Take topic ids from what a client is told."""
        if exchange.key is ApiKey.METADATA:
            for topic in exchange.response.topics:
                if not topic.error_code and topic.name is not None:
                    self._ids[topic.name] = topic.topic_id

    def places(self, keys: Iterable[Key]) -> list[Place]:
        """The same partitions by topic id."""
        return [(self._ids[name], partition) for name, partition in keys if name in self._ids]

    def given(self, exchange: Exchange) -> list[Place] | None:
        """What an answer gives its member: all that it has from now on; None where it says
        nothing of that, or is old news."""
        return None if exchange in self._replaced else self._gives(exchange)

    def _gives(self, exchange: Exchange) -> list[Place] | None:
        """The same of an answer that may be old news."""
        if exchange.response.error_code:
            return None
        if exchange.key is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            told = exchange.response.assignment
            if told is None:
                return None
            return [(t.topic_id, p) for t in told.topic_partitions for p in t.partitions]
        if exchange.key is not ApiKey.SYNC_GROUP:
            return None
        if exchange.request.group_id not in self.promises.assigned_groups:
            return None
        return self.places(assignment_of(exchange.response.assignment))

    def node_ran(self, broker: SimBroker) -> None:
        for group, _ in consumer_groups(broker):
            now = (group, group.record_offset)
            if self._seen.get((broker.address, group.group_id)) != now:
                self._seen[broker.address, group.group_id] = now
                self.look_at(group, broker)

    def look_at(self, group: ConsumerGroup, broker: SimBroker) -> None:
        """A record of it was replayed."""


OF_TOPICS = (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS)
HEARTBEATS_MS = 3 * HEARTBEAT_MS
"""Within it each member that lives has sent one."""
STILL_IN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
"""Errors after which a member still has what it has."""


class HeldByOne(OfConsumerGroups):
    """I23: a partition is one member's, by the coordinator's state and by what members believe."""

    name = "I23"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._beliefs: dict[str, dict[str, Belief]] = {}
        """By group and client."""
        self._untold: dict[tuple[str, str], Exchange] = {}
        """By group and client: the newest answer to a SyncGroup, until it arrives."""

    def answered(self, exchange: Exchange) -> None:
        super().answered(exchange)
        if exchange.key is ApiKey.SYNC_GROUP and exchange.refused is None:
            self._untold[exchange.request.group_id, exchange.client] = exchange

    def look_at(self, group: ConsumerGroup, broker: SimBroker) -> None:
        holders: dict[Place, str] = {}
        for member in group.members.values():
            for held in (member.position.assigned, member.position.revoking):
                for topic_id, partitions in held.items():
                    for partition in partitions:
                        other = holders.setdefault((topic_id, partition), member.member_id)
                        if other != member.member_id:
                            raise self.broken(
                                f"{group.group_id} has {partition} of {topic_id.hex()} twice: "
                                f"{other} and {member.member_id}"
                            )

    def sent(self, exchange: Exchange) -> None:
        if not self._is_of_member(exchange):
            return
        beliefs = self._beliefs.setdefault(exchange.request.group_id, {})
        if exchange.key is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            self._untold.pop((exchange.request.group_id, exchange.client), None)
        says = self._says(exchange)
        if says is None or exchange.client not in beliefs:
            return
        if not says:
            del beliefs[exchange.client]
            return
        since_ms = beliefs[exchange.client].since_ms
        for place in [one for one in since_ms if one not in says]:
            del since_ms[place]

    def _is_of_member(self, exchange: Exchange) -> bool:
        if exchange.key is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            return True
        groups = self.promises.assigned_groups
        return exchange.key in OF_MEMBERS and exchange.request.group_id in groups

    def _says(self, exchange: Exchange) -> list[Place] | None:
        """What its sender says that it has; None where it says nothing."""
        request = exchange.request
        if exchange.key is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            if request.member_epoch <= JOIN_EPOCH:
                return []
            if request.topic_partitions is None:
                return None
            return [(t.topic_id, p) for t in request.topic_partitions for p in t.partitions]
        if exchange.key is ApiKey.JOIN_GROUP:
            said = subscription_of(bytes(request.protocols[0].metadata))
            return self.places(owned_of(said))
        return [] if exchange.key is ApiKey.LEAVE_GROUP else None

    def handled(self, exchange: Exchange) -> None:
        if self._is_of_member(exchange) and exchange.outcome is not None:
            # Its sender has long asked again: what the coordinator makes of it is not what that
            # believes, in Kafka neither.
            self._beliefs.setdefault(exchange.request.group_id, {}).pop(exchange.client, None)

    def received(self, exchange: Exchange) -> None:
        self.learn(exchange)
        if not self._is_of_member(exchange) or exchange in self._replaced:
            return
        response, group_id = exchange.response, exchange.request.group_id
        if self._untold.get((group_id, exchange.client)) is exchange:
            del self._untold[group_id, exchange.client]
        beliefs = self._beliefs.setdefault(group_id, {})
        if response.error_code:
            if response.error_code not in STILL_IN:
                beliefs.pop(exchange.client, None)
            return
        left = getattr(exchange.request, "member_epoch", JOIN_EPOCH) < JOIN_EPOCH
        if left or exchange.key is ApiKey.LEAVE_GROUP:
            return
        belief = beliefs.setdefault(exchange.client, Belief(-SESSION_MS))
        if exchange.key is not ApiKey.SYNC_GROUP:
            belief.heard_ms = max(belief.heard_ms, exchange.sent_ms)
        given = self.given(exchange)
        if given is None:
            return
        assert exchange.answered_ms is not None
        for place in given:
            self._check(group_id, exchange.client, place, exchange.answered_ms)
        # What it is to give up it has until it says so.
        for place in given:
            belief.since_ms.setdefault(place, exchange.answered_ms)

    def _check(self, group_id: str, client: str, place: Place, when_ms: float) -> None:
        for other, belief in self._beliefs[group_id].items():
            since_ms = belief.since_ms.get(place)
            if other == client or since_ms is None or since_ms > when_ms:
                continue
            if (group_id, other) in self._untold:
                # Its assignment is lost or on its way. A coordinator that takes a classic group
                # over believes the generation, Kafka's too (`ConsumerGroup.fromClassicGroup`).
                continue
            if belief.heard_ms + SESSION_MS > when_ms:
                raise self.broken(
                    f"{client} is given {place[1]} of {place[0].hex()} in {group_id}, and {other}, "
                    f"heard at {belief.heard_ms:.0f}, has it since {since_ms:.0f}"
                )

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._beliefs.clear()


class EpochsRise(OfConsumerGroups):
    """I24: member ≤ assignment ≤ group; none falls; who is at the target has nothing to give up,
    and at rest the target has each partition of what is subscribed to, once."""

    name = "I24"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._told: dict[tuple[str, str], list[tuple[float, int]]] = {}
        """By group and member id: when which epochs were told."""
        self._changed_ms = 0.0
        """When topics were made or deleted last."""
        self._brokers: dict[str, SimBroker] = {}

    def look_at(self, group: ConsumerGroup, broker: SimBroker) -> None:
        if group.assignment_epoch > group.epoch:
            raise self.broken(f"{group.group_id} is assigned ahead of its epoch {group.epoch}")
        for member in group.members.values():
            position = member.position
            if position.epoch > group.assignment_epoch:
                raise self.broken(f"{member.member_id} is ahead of {group.group_id}'s target")
            if position.state is STABLE and position.revoking:
                raise self.broken(f"{member.member_id} is stable, and has something to give up")
        self._look_at_targets(group, broker)

    def _look_at_targets(self, group: ConsumerGroup, broker: SimBroker) -> None:
        targeted: dict[Place, None] = {}
        for member_id in group.members:
            for topic_id, partitions in group.target(member_id).items():
                for partition in partitions:
                    if (topic_id, partition) in targeted:
                        raise self.broken(
                            f"{partition} of {topic_id.hex()} is meant for two in {group.group_id}"
                        )
                    targeted[topic_id, partition] = None
        assert broker.node is not None
        topics = broker.node.image.topics
        if group.metadata_hash == metadata_hash(group.subscribed_topics(), topics):
            self._look_at_topics(group, topics)

    def _look_at_topics(self, group: ConsumerGroup, topics: TopicsImage) -> None:
        """The newest target has each partition of what members are subscribed to, and no other."""
        if not group.assigned_at_ms or group.assignment_epoch < group.epoch:
            return
        targeted = {
            (topic_id, partition)
            for member_id in group.members
            for topic_id, partitions in group.target(member_id).items()
            for partition in partitions
        }
        wanted = {
            (topic.id, index)
            for name in group.subscribed_topics()
            if (topic := topics.get(name)) is not None
            for index in topic.partitions
        }
        if targeted != wanted:
            wrong = sorted((one[0].hex(), one[1]) for one in targeted ^ wanted)
            raise self.broken(f"{group.group_id}'s target of {group.epoch} has wrongly {wrong}")
        self._look_at_sizes(group)

    def _look_at_sizes(self, group: ConsumerGroup) -> None:
        """All that are subscribed to the same have as much, by the uniform assignor."""
        said = {(one.subscription.topics, one.subscription.regex) for one in group.members.values()}
        sizes = [
            sum(len(partitions) for partitions in group.target(member_id).values())
            for member_id in group.members
        ]
        if len(said) == 1 and max(sizes) - min(sizes) > 1:
            raise self.broken(f"{group.group_id} has targets of {sizes} partitions")

    def received(self, exchange: Exchange) -> None:
        if exchange.key in OF_TOPICS:
            self._changed_ms = self.world.now_ms
        response = exchange.response
        if not self.is_news(exchange) or response.error_code or response.member_epoch <= 0:
            return
        if exchange.request.member_epoch == JOIN_EPOCH:
            # Where the group was a classic one meanwhile, and empty, it counts anew.
            self._told.pop((exchange.request.group_id, response.member_id), None)
        key = (exchange.request.group_id, response.member_id)
        told = self._told.setdefault(key, [])
        for when_ms, epoch in told:
            if when_ms < exchange.sent_ms and epoch > response.member_epoch:
                raise self.broken(
                    f"{response.member_id} of {key[0]} was at epoch {epoch}, and is told "
                    f"{response.member_epoch}"
                )
        if not told or told[-1][1] < response.member_epoch:
            told.append((self.world.now_ms, response.member_epoch))

    def node_served(self, broker: SimBroker) -> None:
        if broker.is_broker:
            self._brokers[broker.address] = broker

    def at_end(self, final: Any) -> None:
        view = self.promises.view
        for broker in self._brokers.values():
            if broker.node is None or (view and view.is_replaced(broker, OFFSETS_TOPIC, 0)):
                continue
            if self.world.now_ms - self._changed_ms < HEARTBEATS_MS:
                break  # its members need not have sent a heartbeat, at which that is noticed
            for group, _ in consumer_groups(broker):
                self._look_at_topics(group, broker.node.image.topics)
        for group_id, members in final.members.items():
            if not members or final.groups[group_id] != "Stable":
                continue
            has = Counter(
                (topic.topic_name, partition)
                for member in members
                for topic in member.assignment.topic_partitions
                for partition in topic.partitions
            )
            names = dict.fromkeys(name for one in members for name in one.subscribed_topic_names)
            wanted = {
                (topic.name, partition)
                for topic in final.topics.all_of(names)
                for partition in topic.leaders
            }
            by_name = all(not one.subscribed_topic_regex for one in members)
            missing = wanted - set(has)
            if max(has.values(), default=1) > 1 or missing or (by_name and set(has) != wanted):
                raise self.broken(f"{group_id} is stable, and has {dict(has)} of {sorted(wanted)}")

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._told.clear()


class CommitsOfOwners(OfConsumerGroups):
    """I25: who has been told that a partition is its own commits for it, and nobody who had it
    before."""

    name = "I25"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._owners: dict[tuple[str, Place], tuple[float, float, str]] = {}
        """By group and partition: when the last owner was given it, when it knew, and who it is."""

    def received(self, exchange: Exchange) -> None:
        self.learn(exchange)
        if isinstance(exchange.about, Committing):
            self._take_commit(exchange)
        elif exchange.key in OF_MEMBERS:
            self._take_assignment(exchange)

    def _take_assignment(self, exchange: Exchange) -> None:
        assert exchange.answered_ms is not None
        now = (exchange.answered_ms, self.world.now_ms, exchange.client)
        for place in self._gives(exchange) or ():
            key = (exchange.request.group_id, place)
            if exchange in self._replaced:
                # It may be so all the same, and then its next coordinator knows of it.
                self._owners.pop(key, None)
                continue
            known = self._owners.get(key)
            if known is None or known[2] != exchange.client and known[0] < now[0]:
                self._owners[key] = now

    def _take_commit(self, exchange: Exchange) -> None:
        group_id = exchange.about.group
        names = {one.topic_id: one.name for one in exchange.request.topics}
        for topic in exchange.response.topics:
            topic_id = self._ids.get(topic.name or names[topic.topic_id])
            for told in topic.partitions:
                if told.error_code or topic_id is None:
                    continue
                owner = self._owners.get((group_id, (topic_id, told.partition_index)))
                if (
                    owner is not None
                    and owner[2] != exchange.client
                    and owner[1] < exchange.sent_ms
                ):
                    raise self.broken(
                        f"{exchange.client} could commit for {told.partition_index} of "
                        f"{topic_id.hex()} in {group_id}, {owner[2]}'s since {owner[0]:.0f}"
                    )

    def power_lost(self, broker: SimBroker) -> None:
        if not self.in_cluster:
            self._owners.clear()


CONSUMER_INVARIANTS = (HeldByOne, EpochsRise, CommitsOfOwners)
