"""A broker's group APIs in process and in virtual time: requests in, answers out.

`GroupNode` is one broker that leads all of `__consumer_offsets`, with a log in memory. `LocalWire`
sends it a request through the real API handlers, encoded and decoded as on the network, so that a
version's limits show. `Playbook` writes down who was answered what, and when.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from broker.apis.auto_topic_creation import SHARE_TOPIC, TRANSACTION_TOPIC
from broker.apis.consumer_groups import ConsumerGroupsApi
from broker.apis.find_coordinator import Coordinators, FindCoordinatorApi
from broker.apis.group_admin import GroupAdminApi
from broker.apis.group_membership import GroupMembershipApi
from broker.apis.group_offsets import GroupOffsetsApi
from broker.apis.share_group_offsets import ShareGroupOffsetsApi
from broker.apis.share_groups import ShareGroupsApi
from broker.apis.txn_offset_commit import TxnOffsetCommitApi
from broker.config.parse import single_node_config
from broker.coordinator.coordinator_log import TransactionMarker
from broker.groups.group_coordinator import OFFSETS_TOPIC, GroupCoordinator
from broker.requests.context import Api, RequestContext
from broker.requests.sliced_answers import SlicedAnswers
from broker.share.state.share_log import key_of
from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import (
    BrokerRegistration,
    Endpoint,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
    TopicsImage,
)
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import SlicedWork
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.primitives import MessageBuffer
from tests.clients.group_conversation import (
    beat,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.unit.broker.coordinator.in_memory_coordinator_log import InMemoryCoordinatorLog
from tests.unit.broker.groups.consumer.surroundings import surroundings
from tests.unit.broker.groups.share.fake_ports import FakeShares
from tests.unit.broker.sliced_fixture import Turns

TOPIC_ID = bytes(range(100, 116))
OFFSETS_TOPIC_ID = bytes(range(50, 66))
PARTITIONS = 5


def image_with(**topics: tuple[bytes, int]) -> MetadataImage:
    """Broker 1 leading all partitions of `topics`: name → (id, number of partitions)."""
    partition = PartitionRegistration((1,), (bytes(16),), (1,), 1, 0, 0)
    images = [
        TopicImage(name, topic_id, dict.fromkeys(range(count), partition))
        for name, (topic_id, count) in topics.items()
    ]
    endpoint = Endpoint("PLAINTEXT", "localhost", 9092, 0)
    broker = BrokerRegistration(
        1, 1, bytes(16), {"PLAINTEXT": endpoint}, {}, None, False, False, ()
    )
    by_name = {image.name: image for image in images}
    by_id = {image.id: image for image in images}
    return MetadataImage(
        topics=TopicsImage(by_name, by_id),
        brokers={1: broker},
        features={"group.version": 1, "share.version": 2},
    )


class GroupNode:
    """One broker's groups. `image` may be replaced; `restart` loads all from the log.

    With `turns` what is long is done in slices, when they are run.
    """

    def __init__(
        self,
        scheduler: SimScheduler | None = None,
        turns: Turns | None = None,
        **config: Any,
    ) -> None:
        self.scheduler = scheduler or SimScheduler()
        self._turns = turns
        if turns is None:
            threads: Any = None  # not asked
            self._answers = SlicedAnswers(SlicedWork(self.scheduler, threads, 0))
        else:
            self._answers = turns.answers
        self.log = InMemoryCoordinatorLog()
        self.config = single_node_config()._replace(
            offsets_topic_num_partitions=PARTITIONS,
            **{"group_initial_rebalance_delay_ms": 0, **config},
        )
        self.image = image_with(
            conversation=(TOPIC_ID, 2), **{OFFSETS_TOPIC: (OFFSETS_TOPIC_ID, PARTITIONS)}
        )
        self.shares = FakeShares()
        self.created: list[str] = []
        self.refused: list[Callable[[], None]] = []
        """Says that the controller makes none of them."""
        self.epoch = 0
        self._random = random.Random(7)
        self.coordinator: GroupCoordinator
        self.apis: dict[ApiKey, Api] = {}
        self.restart()

    def restart(self) -> None:
        """Die, and come up again with what is in the log."""
        if self.apis:
            self.coordinator.shutdown()
        self.coordinator = GroupCoordinator(
            self.config,
            self.scheduler,
            self.log,
            self._random.randbytes,
            lambda: self.config.offsets_topic_num_partitions,
            surroundings(self.config, lambda: self.image),
            self.shares.ports,
            sliced=None if self._turns is None else self._turns.work,
        )
        self.apis = {api.key: api for api in self._make_apis()}
        self.epoch += 1
        for partition in range(PARTITIONS):
            self.coordinator.on_elected(partition, self.epoch)

    def finder(self, answers: SlicedAnswers) -> FindCoordinatorApi:
        """FindCoordinator, whose long answers are made by `answers`."""
        kinds = [
            Coordinators(topic, self.coordinator.partition_for, self.coordinator.serves)
            for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC)
        ]

        def share_partition_for(key: str) -> int | None:
            return None if key_of(key) is None else self.coordinator.partition_for(key)

        kinds.append(Coordinators(SHARE_TOPIC, share_partition_for, self.coordinator.serves))
        return FindCoordinatorApi(self, 1, self.scheduler, *kinds, self._create, answers)

    def _make_apis(self) -> list[Api]:
        return [
            *self.finder(self._answers).apis(),
            *GroupMembershipApi(self.coordinator).apis(),
            *ConsumerGroupsApi(self.coordinator, self._answers).apis(),
            *ShareGroupsApi(self.coordinator, self._answers).apis(),
            *ShareGroupOffsetsApi(self, self.coordinator, self._answers).apis(),
            *GroupOffsetsApi(self, self.coordinator, self._answers).apis(),
            *GroupAdminApi(self.coordinator, self._answers).apis(),
            *TxnOffsetCommitApi(self, self.coordinator, self._answers).apis(),
        ]

    def _create(self, name: str, refused: Callable[[], None]) -> None:
        self.created.append(name)
        self.refused.append(refused)

    def end_transaction(self, group: str, producer_id: int, *, committed: bool) -> None:
        """Write a marker to the group's partition, as WriteTxnMarkers does."""
        partition = self.coordinator.partition_for(group)
        assert self.coordinator.marker_error(partition) is ErrorCode.NONE
        offset = self.log.append_marker(partition, producer_id, committed)
        marker = TransactionMarker(offset, producer_id, committed)
        self.coordinator.on_transaction_marker(partition, marker)

    def connect(self, client_id: str | None = "client", rights: Rights = UNLIMITED) -> LocalWire:
        """A client's connection, and what the client may do."""
        return LocalWire(self, client_id, rights)


class LocalWire:
    """A connection in process, with one request at a time as a real one."""

    def __init__(self, node: GroupNode, client_id: str | None, rights: Rights) -> None:
        self._node = node
        self._client_id = client_id
        self._rights = rights
        self._answers: list[Any] = []
        self.waiting = 0

    def send(self, request: Any, version: int) -> None:
        """Hand the request to its API."""
        self.tell(request, version, self._answers.append)

    def tell(self, request: Any, version: int, told: Callable[[Any], None]) -> None:
        """Hand the request to its API, and its answer to `told`."""
        key = ApiKey(request.API_KEY)
        api = self._node.apis[key]
        assert api.oldest <= version <= api.latest
        messages = messages_of(key)
        context = RequestContext(
            key, version, 0, self._client_id, "127.0.0.1", "PLAINTEXT", "connection", self._rights
        )
        self.waiting += 1

        def respond(response: Any) -> None:
            self.waiting -= 1
            told(_over_the_wire(response, messages.response, version))

        api.handle(context, _over_the_wire(request, messages.request, version), respond)

    def receive(self) -> Any:
        """The next answer; virtual time passes until it is there."""
        self._node.scheduler.run_until(lambda: bool(self._answers), limit_ms=1_000_000)
        return self._answers.pop(0)

    def call(self, request: Any, version: int) -> Any:
        """Send and receive."""
        self.send(request, version)
        return self.receive()

    @property
    def answered(self) -> bool:
        """Whether an answer is there already."""
        return bool(self._answers)


def _over_the_wire(message: Any, kind: Any, version: int) -> Any:
    out = MessageBuffer()
    message.write(out, version)
    data = out.joined()
    decoded, end = kind.read(memoryview(data), 0, version)
    assert end == len(data)
    return decoded


class Actor:
    """One consumer of the play, by name: remembers what it was told, sends what it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.member_id = ""
        self.generation = -1
        self.instance_id: str | None = None
        self.protocols: list[Any] = ["range"]
        self.session_ms = 10_000
        self.rebalance_ms = 60_000
        self.is_leader = False


class Playbook:
    """A play of several consumers in one group: lines in, a transcript of answers out.

    Every answer adds a line `<seconds> <name> <what>`. Names stand for member ids.
    """

    def __init__(self, group: str = "g", node: GroupNode | None = None, **config: Any) -> None:
        self.node = node or GroupNode(**config)
        self.group = group
        self.lines: list[str] = []
        self.actors: dict[str, Actor] = {}
        self.admin = self.node.connect("admin")

    def actor(self, name: str, **changes: Any) -> Actor:
        """The consumer of that name; `changes` are attributes to set."""
        actor = self.actors.setdefault(name, Actor(name))
        for key, value in changes.items():
            setattr(actor, key, value)
        return actor

    def name_of(self, member_id: str) -> str:
        """Who has this member id; with a mark where it had or will have it."""
        for actor in self.actors.values():
            if actor.member_id == member_id:
                return actor.name
        prefix = member_id[:-37]  # - and a UUID
        return "".join(f"{a.name}'" for a in self.actors.values() if a.instance_id == prefix)

    def say(self, actor: Actor, what: str) -> None:
        """Add a line to the transcript."""
        self.lines.append(f"{self.node.scheduler.now_ms / 1000:g} {actor.name} {what}")

    def taken(self) -> list[str]:
        """The lines since the last time."""
        lines, self.lines = self.lines, []
        return lines

    def _send(self, actor: Actor, request: Any, version: int, told: Callable[[Any], None]) -> None:
        self.node.connect(actor.name).tell(request, version, told)

    def join(self, *names: str, version: int = 9, **changes: Any) -> None:
        """JoinGroup; a member id that is asked for is used at once."""
        for name in names:
            actor = self.actor(name, **changes)
            request = joining(
                self.group,
                actor.member_id,
                group_instance_id=actor.instance_id,
                protocols=actor.protocols,
                session_timeout_ms=actor.session_ms,
                rebalance_timeout_ms=actor.rebalance_ms,
            )
            self._send(actor, request, version, partial(self._joined, actor, version))

    def _joined(self, actor: Actor, version: int, answer: Any) -> None:
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            actor.member_id = answer.member_id
            self.join(actor.name, version=version)
        elif answer.error_code:
            self.say(actor, f"join {ErrorCode(answer.error_code).name}")
        else:
            actor.member_id = answer.member_id
            actor.generation = answer.generation_id
            actor.is_leader = bool(answer.members)
            members = ",".join(self.name_of(m.member_id) for m in answer.members)
            leads = f" leads {members}" if members else f" follows {self.name_of(answer.leader)}"
            skip = " skips assignment" if answer.skip_assignment else ""
            self.say(actor, f"joined {answer.generation_id} {answer.protocol_name}{leads}{skip}")

    def sync(self, *names: str, **shares: str) -> None:
        """SyncGroup; `shares` are a leader's assignments by name."""
        for name in names:
            actor = self.actor(name)
            request = syncing(
                self.group,
                actor.generation,
                actor.member_id,
                {self.actors[who].member_id: share.encode() for who, share in shares.items()},
                group_instance_id=actor.instance_id,
                protocol_name=None,
                protocol_type=None,
            )
            self._send(actor, request, 4, partial(self._synced, actor))

    def _synced(self, actor: Actor, answer: Any) -> None:
        if answer.error_code:
            self.say(actor, f"sync {ErrorCode(answer.error_code).name}")
        else:
            self.say(actor, f"synced {answer.assignment.decode()!r}")

    def beat(self, *names: str) -> None:
        """Heartbeat."""
        for name in names:
            actor = self.actor(name)
            request = beat(self.group, actor.generation, actor.member_id, actor.instance_id)
            self._send(actor, request, 4, partial(self._beaten, actor))

    def _beaten(self, actor: Actor, answer: Any) -> None:
        self.say(actor, f"beat {ErrorCode(answer.error_code).name}")

    def leave(self, *names: str) -> None:
        """LeaveGroup."""
        for name in names:
            actor = self.actor(name)
            request = leaving(self.group, (actor.member_id, actor.instance_id))

            def told(answer: Any, actor: Actor = actor) -> None:
                error = answer.error_code or answer.members[0].error_code
                self.say(actor, f"leave {ErrorCode(error).name}")

            self._send(actor, request, 5, told)

    def commit(self, name: str, offset: int) -> None:
        """OffsetCommit of partition 0, as a member."""
        actor = self.actor(name)
        request = committing(
            self.group,
            offset,
            generation_id_or_member_epoch=actor.generation,
            member_id=actor.member_id,
            group_instance_id=actor.instance_id,
        )

        def told(answer: Any) -> None:
            error = answer.topics[0].partitions[0].error_code
            self.say(actor, f"commit {ErrorCode(error).name}")

        self._send(actor, request, 9, told)

    def committed(self) -> int:
        """The committed offset of partition 0, as anybody reads it."""
        answer = self.admin.call(fetching(self.group, ["conversation"]), 9)
        assert answer.groups[0].error_code == ErrorCode.NONE
        offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
        return offset

    def wait(self, seconds: float, *beating: str) -> None:
        """Let time pass; those who are named send a (silent) heartbeat every second."""
        for _ in range(int(seconds)):
            before = len(self.lines)
            for name in beating:
                self.beat(name)
            del self.lines[before:]
            self.node.scheduler.run_for(1_000)
        self.node.scheduler.run_for((seconds % 1) * 1_000)

    def settle(self) -> None:
        """Let what is due now happen (an initial delay of 0 ms, say)."""
        self.node.scheduler.run_for(0)

    @property
    def state(self) -> str:
        """The group's state, as DescribeGroups says."""
        answer = self.admin.call(describing(self.group), 5)
        state: str = answer.groups[0].group_state
        return state

    def stable(self, *names: str, **shares: str) -> None:
        """Bring an empty group to Stable with these members; each is assigned its name."""
        self.join(*names)
        self.node.scheduler.run_until(lambda: self.state == "CompletingRebalance")
        for name in sorted(names, key=lambda n: self.actors[n].is_leader):
            given = {n: n for n in names} | shares if self.actors[name].is_leader else {}
            self.sync(name, **given)
        assert self.state == "Stable", self.state
        self.taken()

    @property
    def leader(self) -> str:
        """Who leads the generation."""
        return next(actor.name for actor in self.actors.values() if actor.is_leader)
