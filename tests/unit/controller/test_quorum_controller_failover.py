"""C1 and C8 on the controller itself: random decisions while leadership moves.

Every OK survives; what was refused or lost is absent or complete; nothing is given twice; the image
that was decided on is the image that the log replays to, and that a snapshot holds.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from controller.decisions.change_rules import is_active
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import NO_LEADER, MetadataImage, ResourceType
from controller.metadata.scram_credential import ITERATIONS_MIN, ScramMechanism
from controller.metadata.snapshot import SnapshotId, decode_snapshot, encode_image, image_of
from controller.settings import DEFAULT_FEATURES
from protocol.errors import ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from protocol.messages.controller_registration import ControllerRegistrationRequest
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.elect_leaders import ElectLeadersRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.unregister_broker import UnregisterBrokerRequest
from protocol.messages.unregister_controller import UnregisterControllerRequest
from tests.unit.controller.controller_fixture import CLUSTER_ID
from tests.unit.controller.quorum_model import Quorum

SEEDS = 20
STEPS = 250
BROKERS = (1, 2, 3, 4)
USERS = ("alice", "bob")
UNKNOWN = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)


class Run:
    """One seed: what was asked, and what is known of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.quorum = Quorum(seed)
        self.epochs: dict[int, int] = {}
        self.all_epochs: list[tuple[int, int]] = []
        self.blocks: list[tuple[int, int]] = []
        self.topic_ids: list[bytes] = []
        self.created: dict[str, tuple[bytes, int]] = {}
        """Topics that were made, with their partitions; growth may add to them."""
        self.doomed: set[str] = set()
        self.refused: set[str] = set()
        self.asked_partitions: dict[str, set[int]] = {}
        self.retention: dict[str, set[str]] = {}
        """By topic, what `retention.ms` may be: the last OK, and every unknown outcome since."""
        self.users: dict[str, list[int | None]] = {name: [None] for name in USERS}
        """By user, the iterations that were asked for, one after the other; None: no credential."""
        self.users_done = dict.fromkeys(USERS, 0)
        """By user, the last of them that was answered with OK: it holds, or a later one."""
        self.iterations = ITERATIONS_MIN
        self.names = 0
        self.quorum.fail_over()
        self.quorum.commit()
        for broker_id in BROKERS:
            self.register(broker_id)
            self.quorum.commit()
            self.heartbeat(broker_id)
            self.quorum.commit()

    @property
    def image(self) -> MetadataImage:
        return self.quorum.leader.controller.image

    def step(self) -> None:
        kinds = [
            self.create, self.create, self.delete, self.grow, self.configure, self.configure,
            self.heartbeat, self.heartbeat, self.register, self.gone, self.alter_isr,
            self.alter_isr, self.alter_isr, self.reassign, self.reassign, self.elect,
            self.producer_ids, self.producer_ids, self.assign, self.unregister,
            self.register_controller, self.unregister_controller, self.set_user, self.delete_user,
        ]  # fmt: skip
        self.random.choice(kinds)()
        chance = self.random.random()
        if chance < 0.5:
            self.quorum.commit(self.random.randint(1, 3))
        elif chance < 0.58:
            self.quorum.fail_over()
        check_image(self.image)

    def ask(self, request: Any, respond: Any = None, version: int | None = None) -> None:
        version = request.MAX_VERSION if version is None else version
        self.quorum.ask(request, version, respond or (lambda _answer: None))

    # --- topics --------------------------------------------------------------------------------

    def create(self) -> None:
        self.names += 1
        name, count = f"t{self.names}", self.random.randint(1, 4)
        self.asked_partitions[name] = {count}

        def respond(answer: Any) -> None:
            (one,) = answer.topics
            if one.error_code == ErrorCode.NONE:
                self.created[name] = (one.topic_id, count)
                self.topic_ids.append(one.topic_id)
            elif one.error_code not in UNKNOWN:
                self.refused.add(name)

        topic = CreatableTopic(name, count, self.random.randint(1, 3))
        self.ask(CreateTopicsRequest([topic], 60_000), respond)

    def some_topic(self) -> str | None:
        names = list(self.image.topics.by_name)
        return self.random.choice(names) if names else None

    def delete(self) -> None:
        name = self.some_topic()
        if name is not None:
            self.doomed.add(name)
            self.ask(DeleteTopicsRequest([DeleteTopicState(name)], timeout_ms=60_000))

    def grow(self) -> None:
        name = self.some_topic()
        if name is None or name in self.doomed:
            return
        count = len(self.image.topics.by_name[name].partitions) + self.random.randint(1, 2)
        self.asked_partitions[name].add(count)

        def respond(answer: Any) -> None:
            if answer.results[0].error_code == ErrorCode.NONE and name in self.created:
                topic_id, before = self.created[name]
                self.created[name] = (topic_id, max(count, before))

        self.ask(CreatePartitionsRequest([CreatePartitionsTopic(name, count)], 60_000), respond)

    def configure(self) -> None:
        name = self.some_topic()
        if name is None:
            return
        value = str(self.random.randint(1, 1_000_000))
        may_be = self.retention.setdefault(name, {""})
        may_be.add(value)
        key = self.random.choice(["retention.ms", "min.insync.replicas"])
        if key == "min.insync.replicas":
            may_be.discard(value)
            value = str(self.random.randint(1, 3))

        def respond(answer: Any) -> None:
            code = answer.responses[0].error_code
            if key == "retention.ms" and code == ErrorCode.NONE:
                later = self.later(name, value)
                self.retention[name] = {value} | later

        if key == "retention.ms":
            self.order.setdefault(name, []).append(value)
        resource = AlterConfigsResource(ResourceType.TOPIC, name, [AlterableConfig(key, 0, value)])
        self.ask(IncrementalAlterConfigsRequest([resource]), respond)

    @property
    def order(self) -> dict[str, list[str]]:
        if not hasattr(self, "_order"):
            self._order: dict[str, list[str]] = {}
        return self._order

    def later(self, name: str, value: str) -> set[str]:
        """Values that were asked for after `value`."""
        asked = self.order[name]
        return set(asked[asked.index(value) + 1 :])

    # --- SCRAM users ---------------------------------------------------------------------------

    def set_user(self) -> None:
        self.iterations += 1
        name, iterations = self.random.choice(USERS), self.iterations
        upsertion = ScramCredentialUpsertion(name, 1, iterations, b"salt", b"p" * 32)
        self._alter_user(name, iterations, AlterUserScramCredentialsRequest([], [upsertion]))

    def delete_user(self) -> None:
        name = self.random.choice(USERS)
        deletion = ScramCredentialDeletion(name, 1)
        self._alter_user(name, None, AlterUserScramCredentialsRequest([deletion]))

    def _alter_user(
        self, name: str, then: int | None, request: AlterUserScramCredentialsRequest
    ) -> None:
        may_be = self.users[name]
        may_be.append(then)
        here = len(may_be) - 1

        def respond(answer: Any) -> None:
            if answer.results[0].error_code == ErrorCode.NONE:
                self.users_done[name] = max(self.users_done[name], here)

        self.ask(request, respond)

    # --- brokers -------------------------------------------------------------------------------

    def register(self, broker_id: int | None = None) -> None:
        broker_id = broker_id or self.random.choice(BROKERS)

        def respond(answer: Any) -> None:
            if answer.error_code == ErrorCode.NONE:
                self.epochs[broker_id] = answer.broker_epoch
                self.all_epochs.append((answer.broker_epoch, broker_id))

        self.ask(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=self.random.randbytes(16),
                listeners=[Listener("PLAINTEXT", "h", 9092, 0)],
                features=[Feature(name, *levels) for name, levels in DEFAULT_FEATURES.items()],
                rack=self.random.choice([None, "a", "b"]),
                log_dirs=[bytes([broker_id, n] * 8) for n in range(self.random.randint(1, 2))],
                previous_broker_epoch=self.random.choice([-1, self.epochs.get(broker_id, -1)]),
            ),
            respond,
        )

    def heartbeat(self, broker_id: int | None = None) -> None:
        broker_id = broker_id or self.random.choice(BROKERS)
        broker = self.image.brokers.get(broker_id)
        lost = list(broker.log_dirs[:1]) if broker is not None and len(broker.log_dirs) > 1 else []
        self.ask(
            BrokerHeartbeatRequest(
                broker_id,
                self.epochs.get(broker_id, -1),
                self.image.offset,
                want_shut_down=self.random.random() < 0.1,
                offline_log_dirs=lost if self.random.random() < 0.1 else [],
            )
        )

    def gone(self) -> None:
        broker_id = self.random.choice(BROKERS)
        epoch = self.epochs.get(broker_id, -1)
        self.quorum.leader.controller.broker_gone(broker_id, epoch)

    def unregister(self) -> None:
        if self.random.random() < 0.2:
            self.ask(UnregisterBrokerRequest(self.random.choice(BROKERS)))

    def producer_ids(self) -> None:
        broker_id = self.random.choice(BROKERS)

        def respond(answer: Any) -> None:
            if answer.error_code == ErrorCode.NONE:
                self.blocks.append((answer.producer_id_start, answer.producer_id_len))

        self.ask(AllocateProducerIdsRequest(broker_id, self.epochs.get(broker_id, -1)), respond)

    def register_controller(self) -> None:
        node_id = self.random.choice(list(self.quorum.members))
        self.ask(ControllerRegistrationRequest(node_id, self.random.randbytes(16)))

    def unregister_controller(self) -> None:
        self.ask(UnregisterControllerRequest(self.random.choice(list(self.quorum.members))))

    # --- partitions ----------------------------------------------------------------------------

    def some_partition(self) -> tuple[Any, int, Any] | None:
        name = self.some_topic()
        if name is None:
            return None
        topic = self.image.topics.by_name[name]
        index = self.random.choice(list(topic.partitions))
        return topic, index, topic.partitions[index]

    def alter_isr(self) -> None:
        found = self.some_partition()
        if found is None or found[2].leader == NO_LEADER:
            return
        topic, index, partition = found
        others = [replica for replica in partition.replicas if replica != partition.leader]
        isr = [partition.leader, *(r for r in others if self.random.random() < 0.7)]
        brokers = self.image.brokers
        data = AlterPartitionRequestPartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=[BrokerState(r, brokers[r].epoch) for r in isr if r in brokers],
            partition_epoch=partition.partition_epoch,
        )
        self.ask(
            AlterPartitionRequest(
                partition.leader,
                self.epochs.get(partition.leader, -1),
                [AlterPartitionRequestTopicData(topic.id, [data])],
            )
        )

    def reassign(self) -> None:
        found = self.some_partition()
        if found is None:
            return
        topic, index, _ = found
        wanted = self.random.sample(BROKERS, self.random.randint(1, 3))
        target = ReassignablePartition(index, None if self.random.random() < 0.3 else wanted)
        self.ask(
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(topic.name, [target])],
                allow_replication_factor_change=self.random.random() < 0.7,
            )
        )

    def elect(self) -> None:
        self.ask(ElectLeadersRequest(self.random.choice([0, 1]), None, 60_000))

    def assign(self) -> None:
        found = self.some_partition()
        if found is None:
            return
        topic, index, partition = found
        broker_id = self.random.choice(partition.replicas)
        directory = bytes([broker_id, self.random.randint(0, 2)] * 8)
        one = AssignReplicasToDirsRequestTopicData(
            topic.id, [AssignReplicasToDirsRequestPartitionData(index)]
        )
        self.ask(
            AssignReplicasToDirsRequest(
                broker_id,
                self.epochs.get(broker_id, -1),
                [AssignReplicasToDirsRequestDirectoryData(directory, [one])],
            )
        )


def check_image(image: MetadataImage) -> None:
    """What holds after every decision."""
    for topic in image.topics.by_name.values():
        assert list(topic.partitions) == list(range(len(topic.partitions)))
        for index, one in topic.partitions.items():
            said = f"{topic.name}-{index}: {one}"
            assert set(one.isr) <= set(one.replicas), said
            assert set(one.elr) <= set(one.replicas), said
            assert not set(one.isr) & set(one.elr), said
            assert len(one.directories) == len(one.replicas) == len(set(one.replicas)), said
            assert one.leader == NO_LEADER or one.leader in one.isr, said
            assert one.leader == NO_LEADER or is_active(image, one.leader), said
            assert set(one.removing_replicas) | set(one.adding_replicas) <= set(one.replicas), said


def check_end(run: Run) -> None:
    """What holds in the end."""
    quorum, image = run.quorum, run.image
    for name, (topic_id, partitions) in run.created.items():
        if name in run.doomed:
            continue
        topic = image.topics.get(name)
        assert topic is not None, f"{name} was made and is gone"
        assert topic.id == topic_id
        assert len(topic.partitions) >= partitions
    for name, topic in image.topics.by_name.items():
        assert name not in run.refused
        assert len(topic.partitions) in run.asked_partitions[name]
        value = image.topic_config(name, "retention.ms") or ""
        assert value in run.retention.get(name, {""})
    for name, may_be in run.users.items():
        credential = image.scram.credential(ScramMechanism.SCRAM_SHA_256, name)
        has = None if credential is None else credential.iterations
        assert has in may_be[run.users_done[name] :], name
    assert len(set(run.topic_ids)) == len(run.topic_ids)
    assert len({epoch for epoch, _ in run.all_epochs}) == len(run.all_epochs)
    ends = [start + size for start, size in sorted(run.blocks)]
    starts = [start for start, _ in sorted(run.blocks)]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    for member in quorum.members.values():
        assert member.loader.image == image
    check_replay(quorum, image)


def check_replay(quorum: Quorum, image: MetadataImage) -> None:
    """The log, from its beginning, and a snapshot both give the image."""
    delta = MetadataDelta(MetadataImage())
    for batch in quorum.log:
        for record in batch.records:
            delta.replay(record)
    assert delta.apply(image.offset, image.epoch, image.timestamp_ms) == image
    content = decode_snapshot(encode_image(image, 0))
    assert image_of(content, SnapshotId(image.offset + 1, image.epoch)) == image


@pytest.mark.parametrize("seed", range(SEEDS))
def test_decisions_and_failovers(seed: int) -> None:
    run = Run(seed)
    for _ in range(STEPS):
        run.step()
    run.quorum.commit()
    check_end(run)
    assert run.created
    assert run.blocks
    assert any(run.users_done.values())
