"""Offsets of transactions through the coordinator: who may commit, when they count, what remains.

KIP-447: a producer commits for a consumer's generation; readers that want stable offsets wait.
"""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.clients.group_conversation import (
    TOPIC,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.clients.transactional_offsets_conversation import committing_in_transaction
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, LocalWire

UNSTABLE = "UNSTABLE_OFFSET_COMMIT"


def commit(wire: LocalWire, offset: int = 5, version: int = 5, **changes: Any) -> str:
    group = changes.pop("group", "g")
    answer = wire.call(committing_in_transaction(group, offset, **changes), version)
    return ErrorCode(answer.topics[0].partitions[0].error_code).name


def read(wire: LocalWire, group: str = "g", *, stable: bool = True) -> tuple[int, str]:
    answer = wire.call(fetching(group, [TOPIC], require_stable=stable), 9).groups[0]
    partition = answer.topics[0].partitions[0]
    return partition.committed_offset, ErrorCode(partition.error_code).name


def stable_group(wire: LocalWire, instance: str | None = None) -> str:
    """A group "g" of one member in generation 1; its member id."""
    changes: dict[str, Any] = {"group_instance_id": instance}
    joined = wire.call(joining("g", **changes), 9)
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        joined = wire.call(joining("g", joined.member_id, **changes), 9)
    wire.call(syncing("g", 1, joined.member_id, {joined.member_id: b"all"}, **changes), 5)
    return str(joined.member_id)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("committed", [False, True])
def test_offsets_count_when_the_transaction_is_committed(committed: bool, restart: bool) -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 1), 9)
    assert commit(wire, 5) == "NONE"
    if restart:
        node.restart()
        wire = node.connect()
    assert read(wire) == (-1, UNSTABLE)
    assert read(wire, stable=False) == (1, "NONE")
    node.end_transaction("g", 7, committed=committed)
    for _ in range(2):
        assert read(wire) == (5 if committed else 1, "NONE")
        assert read(wire, stable=False) == (5 if committed else 1, "NONE")
        node.restart()
        wire = node.connect()


def test_other_partitions_and_groups_are_stable() -> None:
    wire = GroupNode().connect()
    wire.call(committing("g", 1, partitions=[0, 1]), 9)
    wire.call(committing("h", 1), 9)
    commit(wire, 5)
    answer = wire.call(fetching("g", None, require_stable=True), 9).groups[0]
    assert [(p.committed_offset, p.error_code) for p in answer.topics[0].partitions] == [
        (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT),
        (2, ErrorCode.NONE),
    ]
    assert read(wire, "h") == (1, "NONE")


def test_an_answer_leaves_when_the_offsets_are_in_the_log_for_good() -> None:
    node = GroupNode()
    node.log.commit_at_once = False
    wire, reader = node.connect(), node.connect()
    wire.send(committing_in_transaction("g", 5), 5)
    assert not wire.answered
    node.log.commit(node.coordinator.partition_for("g"))
    assert wire.receive().topics[0].partitions[0].error_code == ErrorCode.NONE
    # The same for the marker: what it commits is told when it is committed itself.
    node.end_transaction("g", 7, committed=True)
    reader.send(fetching("g", [TOPIC], require_stable=True), 9)
    assert not reader.answered
    assert read(wire, stable=False) == (-1, "NONE")
    node.log.commit(node.coordinator.partition_for("g"))
    answer = reader.receive().groups[0].topics[0].partitions[0]
    assert answer.committed_offset == 5
    assert read(wire, stable=False) == (5, "NONE")


def test_a_generation_that_is_over_is_fenced() -> None:
    wire = GroupNode().connect()
    member = stable_group(wire)
    assert commit(wire, member_id=member, generation_id_or_member_epoch=1) == "NONE"
    assert commit(wire, member_id=member, generation_id_or_member_epoch=0) == "ILLEGAL_GENERATION"
    assert commit(wire, member_id=member, generation_id_or_member_epoch=2) == "ILLEGAL_GENERATION"
    assert commit(wire, member_id="other", generation_id_or_member_epoch=1) == "UNKNOWN_MEMBER_ID"
    assert commit(wire, member_id="", generation_id_or_member_epoch=1) == "UNKNOWN_MEMBER_ID"
    assert commit(wire, member_id=member, generation_id_or_member_epoch=-1) == "ILLEGAL_GENERATION"
    wire.call(leaving("g", (member, None)), 5)
    assert commit(wire, member_id=member, generation_id_or_member_epoch=1) == "UNKNOWN_MEMBER_ID"
    assert commit(wire, member_id=member, generation_id_or_member_epoch=-1) == "NONE", (
        "an empty group"
    )


def test_an_instance_that_was_replaced_is_fenced() -> None:
    wire = GroupNode().connect()
    old = stable_group(wire, "i")
    identity: dict[str, Any] = {"member_id": old, "generation_id_or_member_epoch": 1}
    assert commit(wire, group_instance_id="i", **identity) == "NONE"
    assert commit(wire, group_instance_id="j", **identity) == "UNKNOWN_MEMBER_ID"
    wire.call(joining("g", group_instance_id="i"), 9)
    assert commit(wire, group_instance_id="i", **identity) == "FENCED_INSTANCE_ID"
    assert commit(wire, **identity) == "UNKNOWN_MEMBER_ID"


def test_producers_that_know_no_group_metadata_may_always_commit() -> None:
    """KIP-447: versions before 3 do not say who consumes."""
    node = GroupNode()
    wire = node.connect()
    assert commit(wire, version=2) == "NONE"
    node.end_transaction("g", 7, committed=False)
    stable_group(wire)
    assert commit(wire, version=2) == "NONE"
    joining_member = node.connect()
    joining_member.send(joining("g", group_instance_id="new"), 9)
    assert wire.call(describing("g"), 5).groups[0].group_state == "PreparingRebalance"
    assert commit(wire, version=2) == "NONE"


def test_a_rebalance_does_not_stop_a_commit_of_its_generation() -> None:
    wire = GroupNode().connect()
    joined = wire.call(joining("g", group_instance_id="i"), 9)
    assert wire.call(describing("g"), 5).groups[0].group_state == "CompletingRebalance"
    request: dict[str, Any] = {"member_id": joined.member_id, "generation_id_or_member_epoch": 1}
    assert commit(wire, **request) == "NONE"
    plain = committing("g", 5, generation_id_or_member_epoch=1, member_id=joined.member_id)
    answer = wire.call(plain, 9).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_generation_of_a_group_that_does_not_exist() -> None:
    wire = GroupNode().connect()
    assert commit(wire, generation_id_or_member_epoch=1, member_id="m") == "ILLEGAL_GENERATION"
    assert commit(wire) == "NONE"
    assert wire.call(describing("g"), 5).groups[0].group_state == "Empty"


def test_metadata_over_the_limit_is_refused_partition_by_partition() -> None:
    node = GroupNode()
    wire = node.connect()
    assert commit(wire, metadata="x" * 4097) == "OFFSET_METADATA_TOO_LARGE"
    assert node.log.records == {}


def test_what_cannot_be_written_is_refused() -> None:
    node = GroupNode()
    wire = node.connect()
    for error, told in (
        (ErrorCode.INVALID_PRODUCER_EPOCH, "INVALID_PRODUCER_EPOCH"),
        (ErrorCode.INVALID_TXN_STATE, "INVALID_TXN_STATE"),
        (ErrorCode.NOT_ENOUGH_REPLICAS, "COORDINATOR_NOT_AVAILABLE"),
    ):
        node.log.append_error = error
        assert commit(wire) == told
    assert read(wire) == (-1, "NONE"), "nothing is pending"


def test_a_coordinator_that_moves_while_the_transaction_is_verified() -> None:
    node = GroupNode()
    node.log.hold_verifications = True
    wire = node.connect()
    wire.send(committing_in_transaction("g", 5), 5)
    partition = node.coordinator.partition_for("g")
    node.coordinator.on_resigned(partition)
    node.log.finish_verifications()
    answer = wire.receive().topics[0].partitions[0]
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert node.log.records == {}


def test_a_marker_while_the_groups_are_loaded_is_refused_and_one_in_the_log_is_replayed() -> None:
    node = GroupNode()
    commit(node.connect())
    partition = node.coordinator.partition_for("g")
    node.log.hold_loads = True
    node.restart()
    assert node.coordinator.marker_error(partition) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    node.log.append_marker(partition, 7, committed=True)
    node.log.finish_loads()
    assert node.coordinator.marker_error(partition) is ErrorCode.NONE
    assert read(node.connect()) == (5, "NONE")
    node.coordinator.on_resigned(partition)
    assert node.coordinator.marker_error(partition) is ErrorCode.NOT_COORDINATOR
    node.coordinator.shutdown()
    assert node.coordinator.marker_error(partition) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_deleted_group_stays_deleted_when_its_transaction_is_committed() -> None:
    node = GroupNode()
    wire = node.connect()
    commit(wire)
    deleted = wire.call(DeleteGroupsRequest(["g"]), 2).results[0]
    assert deleted.error_code == ErrorCode.NONE
    node.end_transaction("g", 7, committed=True)
    for _ in range(2):
        assert read(wire) == (-1, "NONE")
        assert wire.call(describing("g"), 5).groups[0].group_state == "Dead"
        node.restart()
        wire = node.connect()


def test_a_deleted_offset_stays_deleted_when_its_transaction_is_committed() -> None:
    node = GroupNode()
    wire = node.connect()
    commit(wire, partitions=[0, 1])
    topics = [OffsetDeleteRequestTopic(TOPIC, [OffsetDeleteRequestPartition(0)])]
    assert wire.call(OffsetDeleteRequest("g", topics), 0).error_code == ErrorCode.NONE
    node.end_transaction("g", 7, committed=True)
    answer = wire.call(fetching("g", [TOPIC], require_stable=True), 9).groups[0].topics[0]
    assert [p.committed_offset for p in answer.partitions] == [-1, 6]


def test_offsets_of_a_deleted_topic_do_not_come_back() -> None:
    node = GroupNode()
    wire = node.connect()
    commit(wire)
    node.coordinator.on_topics_deleted({TOPIC_ID: TOPIC})
    node.end_transaction("g", 7, committed=True)
    assert read(wire) == (-1, "NONE")


def test_nothing_expires_under_an_open_transaction() -> None:
    node = GroupNode(offsets_retention_minutes=1, offsets_retention_check_interval_ms=60_000)
    wire = node.connect()
    wire.call(committing("g", 1), 9)
    commit(wire)
    commit(wire, group="only-pending")
    node.scheduler.run_for(5 * 60_000)
    assert read(wire, stable=False) == (1, "NONE")
    assert wire.call(describing("only-pending"), 5).groups[0].group_state == "Empty"
    for group in ("g", "only-pending"):
        node.end_transaction(group, 7, committed=False)
    node.scheduler.run_for(2 * 60_000)
    assert wire.call(describing("g"), 5).groups[0].group_state == "Dead"
    assert wire.call(describing("only-pending"), 5).groups[0].group_state == "Dead"
