"""TxnOffsetCommit: names of topics, one error a partition, what each version understands."""

from __future__ import annotations

from typing import Any

import pytest

from broker.apis.txn_offset_commit import refuse_txn_offset_commit
from broker.verification.transaction_verification import TransactionSupportedOperation
from protocol.errors import ErrorCode
from tests.clients.transactional_offsets_conversation import committing_in_transaction
from tests.unit.broker.groups.playbook import GroupNode

VERSIONS = range(6)


def codes(answer: Any) -> list[tuple[str, int, str]]:
    return [
        (topic.name, partition.partition_index, ErrorCode(partition.error_code).name)
        for topic in answer.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_partition_has_its_own_error(version: int) -> None:
    node = GroupNode()
    request = committing_in_transaction("g", 5, partitions=[0, 9, 1])
    request.topics += committing_in_transaction("g", 5, topic="missing").topics
    assert codes(node.connect().call(request, version)) == [
        ("conversation", 9, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("conversation", 0, "NONE"),
        ("conversation", 1, "NONE"),
        ("missing", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert len(node.log.verifications) == 1


def test_where_no_partition_is_known_nobody_is_asked() -> None:
    node = GroupNode()
    answer = node.connect().call(committing_in_transaction("g", 5, topic="missing"), 5)
    assert codes(answer) == [("missing", 0, "UNKNOWN_TOPIC_OR_PARTITION")]
    assert node.log.verifications == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_says_whether_the_partition_is_verified_or_added(version: int) -> None:
    node = GroupNode()
    request = committing_in_transaction("g", 5, transactional_id="T", producer_epoch=3)
    node.connect().call(request, version)
    partition = node.coordinator.partition_for("g")
    operation = TransactionSupportedOperation.DEFAULT_ERROR
    if version == 4:
        operation = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    if version == 5:
        operation = TransactionSupportedOperation.ADD_PARTITION
    assert node.log.verifications == [(partition, ("T", 7, 3), operation)]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("INVALID_TXN_STATE", "INVALID_TXN_STATE"),
        ("INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
        ("TRANSACTION_ABORTABLE", "TRANSACTION_ABORTABLE"),
        ("CONCURRENT_TRANSACTIONS", "CONCURRENT_TRANSACTIONS"),
        ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
        ("NETWORK_EXCEPTION", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"),
        ("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE"),
    ],
)
def test_a_transaction_that_could_not_be_verified(error: str, told: str) -> None:
    node = GroupNode()
    node.log.verify_error = ErrorCode[error]
    answer = node.connect().call(committing_in_transaction("g", 5, partitions=[0, 9]), 5)
    assert codes(answer) == [
        ("conversation", 9, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("conversation", 0, told),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_loading_is_told_to_those_who_know_it(version: int) -> None:
    node = GroupNode()
    node.log.hold_loads = True
    node.restart()
    told = "COORDINATOR_NOT_AVAILABLE" if version < 2 else "COORDINATOR_LOAD_IN_PROGRESS"
    answer = node.connect().call(committing_in_transaction("g", 5), version)
    assert codes(answer) == [("conversation", 0, told)]


def test_a_group_needs_a_name_and_a_coordinator() -> None:
    node = GroupNode()
    wire = node.connect()
    answer = wire.call(committing_in_transaction("", 5), 5)
    assert codes(answer) == [("conversation", 0, "INVALID_GROUP_ID")]
    node.coordinator.on_resigned(node.coordinator.partition_for("g"))
    answer = wire.call(committing_in_transaction("g", 5), 5)
    assert codes(answer) == [("conversation", 0, "NOT_COORDINATOR")]
    node.coordinator.shutdown()
    answer = wire.call(committing_in_transaction("g", 5), 5)
    assert codes(answer) == [("conversation", 0, "COORDINATOR_NOT_AVAILABLE")]


def test_a_refusal_names_every_partition() -> None:
    request = committing_in_transaction("g", 5, partitions=[0, 1])
    answer = refuse_txn_offset_commit(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert codes(answer) == [("conversation", p, "UNKNOWN_SERVER_ERROR") for p in (0, 1)]
