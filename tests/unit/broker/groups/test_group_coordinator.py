"""Which partition a group belongs to, and what is answered where its shard is not here."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinator.coordinator_log import LogRecord, TransactionMarker
from broker.coordinator.coordinator_partitions import partition_for
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_delete import OffsetDeleteRequest
from tests.clients.group_conversation import (
    beat,
    committing,
    describing,
    fetching,
    joining,
    leaving,
    syncing,
)
from tests.unit.broker.groups.playbook import PARTITIONS, GroupNode, LocalWire

# String.hashCode() of Java 17.
JAVA_HASHES = {
    "": 0,
    "a": 97,
    "group": 98629247,
    "console-consumer-12345": 158455506,
    "Grüße, 世界": -166104223,
    "\U0001f600": 1772899,
    "polygenelubricants": -(2**31),
}


@pytest.mark.parametrize("group", JAVA_HASHES)
def test_the_partition_is_that_of_javas_hash(group: str) -> None:
    code = JAVA_HASHES[group]
    positive = 0 if code == -(2**31) else abs(code)
    for partitions in (1, 50, 2**31 - 1):
        assert partition_for(group, partitions) == positive % partitions


def _errors(wire: LocalWire) -> dict[str, int]:
    """What every API answers for the group `g`."""

    def call(request: Any, version: int) -> Any:
        return wire.call(request, version)

    return {
        "join": call(joining("g"), 9).error_code,
        "sync": call(syncing("g", 1, "m"), 5).error_code,
        "heartbeat": call(beat("g", 1, "m"), 4).error_code,
        "leave": call(leaving("g", ("m", None)), 5).error_code,
        "commit": call(committing("g", 1), 9).topics[0].partitions[0].error_code,
        "fetch": call(fetching("g", ["conversation"]), 9).groups[0].error_code,
        "fetch v1": call(fetching("g", ["conversation"]), 1).topics[0].partitions[0].error_code,
        "fetch v2": call(fetching("g", ["conversation"]), 2).error_code,
        "offset delete": call(OffsetDeleteRequest("g"), 0).error_code,
        "describe": call(describing("g"), 6).groups[0].error_code,
        "delete": call(DeleteGroupsRequest(["g"]), 2).results[0].error_code,
    }


def test_a_group_that_is_led_elsewhere() -> None:
    node = GroupNode()
    node.coordinator.on_resigned(partition_for("g", PARTITIONS), node.epoch)
    answers = _errors(node.connect())
    assert set(answers.values()) == {ErrorCode.NOT_COORDINATOR}, answers
    assert node.connect().call(ListGroupsRequest(), 5).error_code == ErrorCode.NONE


def test_a_group_that_is_being_loaded() -> None:
    node = GroupNode()
    node.log.hold_loads = True
    node.restart()
    answers = _errors(node.connect())
    assert answers.pop("heartbeat") == ErrorCode.NONE, "its members need not know"
    assert set(answers.values()) == {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}, answers
    listed = node.connect().call(ListGroupsRequest(), 5)
    assert listed.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    node.log.finish_loads()
    assert node.connect().call(joining("g"), 9).error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_a_coordinator_that_was_shut_down() -> None:
    node = GroupNode()
    node.coordinator.shutdown()
    answers = _errors(node.connect())
    assert set(answers.values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}, answers
    listed = node.connect().call(ListGroupsRequest(), 5)
    assert listed.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert node.scheduler.pending() == 0


def test_session_time_outs_have_limits() -> None:
    node = GroupNode(group_min_session_timeout_ms=1_000, group_max_session_timeout_ms=2_000)
    wire = node.connect()
    for session, error in [
        (999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (1_000, ErrorCode.MEMBER_ID_REQUIRED),
        (2_000, ErrorCode.MEMBER_ID_REQUIRED),
        (2_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ]:
        assert wire.call(joining("g", session_timeout_ms=session), 9).error_code == error


def test_offsets_of_a_transaction_count_after_its_marker() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 1), 9)
    partition = partition_for("g", PARTITIONS)
    first = node.log.records[partition][0]
    assert isinstance(first, LogRecord)
    node.log.records[partition].append(first._replace(offset=1, producer_id=7))
    node.log.commit(partition)
    node.restart()
    unstable = wire.call(fetching("g", ["conversation"], require_stable=True), 9)
    answer = unstable.groups[0].topics[0].partitions[0]
    assert answer.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    offset = node.log.append_marker(partition, 7, committed=True)
    node.log.commit(partition)
    node.coordinator.on_transaction_marker(partition, TransactionMarker(offset, 7, True))
    for _ in range(2):
        stable = wire.call(fetching("g", ["conversation"], require_stable=True), 9)
        assert stable.groups[0].topics[0].partitions[0].error_code == ErrorCode.NONE
        node.restart()


def test_it_is_told_again_what_it_knows() -> None:
    node = GroupNode()
    wire = node.connect()
    member = wire.call(joining("g", group_instance_id="i"), 9).member_id
    partition = partition_for("g", PARTITIONS)
    node.coordinator.on_elected(partition, node.epoch)
    node.coordinator.on_resigned(partition, node.epoch - 1)
    assert wire.call(beat("g", 1, member, "i"), 4).error_code == ErrorCode.NONE
    # The leader still, in another epoch: nobody has to join again.
    node.coordinator.on_elected(partition, node.epoch + 1)
    assert wire.call(beat("g", 1, member, "i"), 4).error_code == ErrorCode.NONE
    # After another one led in between, only what is in the log is known: no member was.
    node.coordinator.on_resigned(partition, node.epoch + 1)
    node.coordinator.on_elected(partition, node.epoch + 2)
    assert wire.call(beat("g", 1, member, "i"), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
