"""`controller.decisions.alter_partition`: which ISRs a leader may have."""

from __future__ import annotations

from typing import Any

import pytest

from controller.decisions.alter_partition import alter_partitions
from controller.decisions.change_rules import TopicRulesMaker
from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import Decision, DecisionView
from controller.metadata.image import MetadataImage
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

FOO = b"f" * 16
SETTINGS = ControllerSettings(
    node_id=9,
    cluster_id="c",
    directory_id=b"",
    metadata_log_dir="/d",
    static_voters=VoterSet.of_ids(9),
)
RULES = TopicRulesMaker(ConfigurationControl(SETTINGS))


def image(*more: Any) -> MetadataImage:
    """Partition 0 of foo: replicas 1, 2, 3, in sync 1 and 2, led by 1; leader epoch 1, partition
    epoch 2. Broker 4 is fenced and has a replica of partition 1."""
    return image_of(
        *(broker_record(i) for i in (1, 2, 3)),
        broker_record(4, fenced=True),
        *topic_records("foo", FOO, [1, 2, 3], [1, 4], isr=[1]),
        m.PartitionChangeRecord(0, FOO, isr=[1, 2], leader=1),
        m.PartitionChangeRecord(0, FOO),
        *more,
    )


def alter(at: MetadataImage, isr: list[Any], broker: int = 1, **fields: Any) -> Decision[Any]:
    values = {"partition_index": 0, "leader_epoch": 1, "partition_epoch": 2, **fields}
    topic_id = values.pop("topic_id", FOO)
    states = [BrokerState(*(one if isinstance(one, tuple) else (one, one * 10))) for one in isr]
    data = AlterPartitionRequestPartitionData(new_isr_with_epochs=states, **values)
    epoch = values.get("broker_epoch", broker * 10)
    request = AlterPartitionRequest(
        broker, epoch, [AlterPartitionRequestTopicData(topic_id, [data])]
    )
    return alter_partitions(DecisionView(at, at.offset + 1, 0), request, RULES)


def answer_of(decision: Decision[Any]) -> Any:
    assert not isinstance(decision.reply, ApiError), decision
    (topic,) = decision.reply.topics
    (partition,) = topic.partitions
    return partition


def test_grow() -> None:
    decision = alter(image(), [1, 2, 3])
    assert decision.records == [m.PartitionChangeRecord(0, FOO, isr=[1, 2, 3])]
    answer = answer_of(decision)
    assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (0, 1, 1)
    assert (answer.isr, answer.partition_epoch) == ([1, 2, 3], 3)


def test_shrink_keeps_the_leader_epoch() -> None:
    decision = alter(image(), [1])
    assert decision.records == [m.PartitionChangeRecord(0, FOO, isr=[1])]
    assert answer_of(decision).leader_epoch == 1


def test_nothing_changes() -> None:
    decision = alter(image(), [1, 2])
    assert list(decision.records) == []
    assert answer_of(decision).partition_epoch == 2


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ([1], {"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ([1], {"partition_index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1], {"leader_epoch": 2}, ErrorCode.NOT_CONTROLLER),
        ([1], {"partition_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        ([1], {"leader_epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ([2], {"broker": 2}, ErrorCode.INVALID_REQUEST),
        ([1], {"partition_epoch": 1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([1, 4], {}, ErrorCode.INVALID_REQUEST),
        ([1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([2, 3], {}, ErrorCode.INVALID_REQUEST),
        ([], {}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
        ([1, (3, 29)], {}, ErrorCode.INELIGIBLE_REPLICA),
        ([1, (3, -1)], {}, ErrorCode.NONE),
    ],
)
def test_refused(isr: list[Any], fields: dict[str, Any], code: ErrorCode) -> None:
    decision = alter(image(), isr, **fields)
    assert answer_of(decision).error_code == code
    assert bool(decision.records) == (code is ErrorCode.NONE)


@pytest.mark.parametrize(
    "gone",
    [
        m.BrokerRegistrationChangeRecord(3, 30, fenced=1),
        m.BrokerRegistrationChangeRecord(3, 30, in_controlled_shutdown=1),
        m.UnregisterBrokerRecord(3, 30),
    ],
)
def test_who_is_not_alive_is_never_in_sync(gone: Any) -> None:
    """KIP-841: else a leader that has not heard of it would bring it back."""
    assert answer_of(alter(image(gone), [1, 2, 3])).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_a_copy_on_a_new_disk_is_in_sync_once_its_directory_is_known() -> None:
    """Whoever is in the ISR may be elected; who lost its disk may not."""
    old = m.PartitionChangeRecord(0, FOO, directories=[bytes(16), bytes(16), b"\xee" * 16])
    refused = alter(image(old), [1, 2, 3], partition_epoch=3)
    assert answer_of(refused).error_code == ErrorCode.INELIGIBLE_REPLICA
    own = bytes([3] * 15 + [0])
    new = m.PartitionChangeRecord(0, FOO, directories=[bytes(16), bytes(16), own])
    assert answer_of(alter(image(new), [1, 2, 3], partition_epoch=3)).error_code == 0


def test_an_older_incarnation_asks() -> None:
    request = AlterPartitionRequest(1, 9, [])
    at = image()
    outcome = alter_partitions(DecisionView(at, at.offset + 1, 0), request, RULES).reply
    assert isinstance(outcome, ApiError)
    assert outcome.code is ErrorCode.STALE_BROKER_EPOCH


def test_recovery_ends_when_the_leader_says_so() -> None:
    """After an unclean election nobody joins the ISR before the leader has recovered."""
    at = image(m.PartitionChangeRecord(0, FOO, isr=[1], leader=1, leader_recovery_state=1))
    epochs = {"leader_epoch": 2, "partition_epoch": 3}
    refused = alter(at, [1, 2], leader_recovery_state=1, **epochs)
    assert answer_of(refused).error_code == ErrorCode.INVALID_REQUEST
    decision = alter(at, [1, 2], leader_recovery_state=0, **epochs)
    assert decision.records == [
        m.PartitionChangeRecord(0, FOO, isr=[1, 2], leader_recovery_state=0)
    ]


def test_the_last_new_replica_in_sync_ends_a_reassignment() -> None:
    moving = m.PartitionChangeRecord(
        0, FOO, replicas=[3, 2, 1], adding_replicas=[3], removing_replicas=[1]
    )
    decision = alter(image(moving), [1, 2, 3], partition_epoch=3)
    assert answer_of(decision).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert decision.records == [
        m.PartitionChangeRecord(
            0, FOO, isr=[2, 3], leader=3, replicas=[3, 2], adding_replicas=[], removing_replicas=[]
        )
    ]


def test_a_reassignment_that_leaves_the_leader_costs_an_epoch_too() -> None:
    """Who leaves must not be able to fetch or to answer in the present epoch."""
    moving = m.PartitionChangeRecord(
        0, FOO, replicas=[1, 3, 2], adding_replicas=[3], removing_replicas=[2]
    )
    decision = alter(image(moving), [1, 2, 3], partition_epoch=3)
    answer = answer_of(decision)
    assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (0, 1, 2)
    assert answer.isr == [1, 3]
