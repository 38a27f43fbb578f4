"""Records of consumer groups: what is written is what is read, and as Kafka wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.state import records
from broker.groups.consumer.state.member import Subscription
from broker.groups.group_records import read_group_record
from broker.groups.reconciliation.member_state import UNREVOKED_PARTITIONS
from broker.groups.reconciliation.position import MemberPosition
from protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupCurrentMemberAssignmentValueTopicPartitions,
)

T = b"t" * 16


def value_of(one: Record) -> Any:
    read = read_group_record(*one)
    assert isinstance(read, tuple)
    return read[1]


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (records.epoch_record("g", 2, 5), 3),
        (records.member_record("g", "m", Subscription()), 5),
        (records.target_epoch_record("g", 2, 99), 6),
        (records.target_record("g", "m", {T: (0,)}), 7),
        (records.position_record("g", "m", MemberPosition()), 8),
        (records.regex_record("g", "a.*", ["ab"], 7, 99), 16),
        (records.regex_tombstone("g", "a.*"), 16),
    ],
)
def test_a_record_has_its_type(record: Record, kind: int) -> None:
    assert record[0][:2] == bytes([0, kind])
    assert record[1] is None or record[1][:2] == b"\0\0"


def test_a_position_is_read_as_it_was_written() -> None:
    position = MemberPosition(
        3, 2, UNREVOKED_PARTITIONS, {T: {0: 2, 4: 3}}, {T: {1: 2}, b"u" * 16: {0: 1}}
    )
    assert records.position_of(value_of(records.position_record("g", "m", position))) == position


def test_brokers_before_4_3_do_not_say_since_when() -> None:
    topic = ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(T, [3, 1], None)
    value = ConsumerGroupCurrentMemberAssignmentValue(6, 5, 0, [topic], [])
    assert records.position_of(value).assigned == {T: {1: 6, 3: 6}}


def test_a_target_is_read_as_it_was_written() -> None:
    target = {T: (0, 2)}
    assert records.target_of(value_of(records.target_record("g", "m", target))) == target


def test_what_is_gone_in_which_order() -> None:
    assert [one[0][1] for one in records.member_tombstones("g", "m")] == [8, 7, 5]
    assert [one[0][1] for one in records.group_tombstones("g")] == [6, 4, 3]
    assert all(value is None for _, value in records.group_tombstones("g"))
