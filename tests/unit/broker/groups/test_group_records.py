"""Records of `__consumer_offsets`: the bytes that Apache Kafka writes, read and written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from broker.coordinator.coordinator_log import LogRecord
from broker.groups.group_records import (
    OtherRecord,
    group_metadata_record,
    group_tombstone,
    offset_commit_record,
    offset_tombstone,
    read_group_record,
    record,
    tombstone,
)
from protocol.errors import ProtocolError
from protocol.messages.group_records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tests.clients.group_conversation import converse
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode

GOLDEN = Path(__file__).parents[3] / "golden" / "group_records_kafka.txt"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _golden() -> list[tuple[int, bytes, bytes | None]]:
    records = []
    for line in GOLDEN.read_text().splitlines()[1:]:
        partition, key, value = line.split()
        records.append(
            (int(partition), bytes.fromhex(key), None if value == "-" else bytes.fromhex(value))
        )
    return records


def _written_again(key: bytes, value: bytes | None) -> tuple[bytes, bytes | None]:
    found = read_group_record(key, value)
    assert not isinstance(found, OtherRecord)
    name, content = found
    if isinstance(name, GroupMetadataKey):
        if content is None:
            return group_tombstone(name.group)
        assert isinstance(content, GroupMetadataValue)
        return group_metadata_record(name.group, content)
    where = (name.group, name.topic, name.partition)
    if content is None:
        return offset_tombstone(*where)
    assert isinstance(content, OffsetCommitValue)
    return offset_commit_record(*where, content)


def test_every_record_of_kafka_is_written_again_byte_for_byte() -> None:
    records = _golden()
    assert len(records) > 80
    for _, key, value in records:
        assert _written_again(key, value) == (key, value)


def _comparable(records: list[tuple[int, bytes, bytes | None]]) -> list[str]:
    """Times, ids that a broker draws and the order of members are not part of the comparison."""
    lines = []
    for partition, key, value in records:
        found = read_group_record(key, value)
        assert not isinstance(found, OtherRecord)
        content = found[1]
        if isinstance(content, GroupMetadataValue):
            content.current_state_timestamp = 0
            content.members.sort(key=lambda member: member.member_id)
        elif content is not None:
            content.commit_timestamp = 0
            assert content.topic_id != bytes(16)
            content.topic_id = TOPIC_ID
        version = None if value is None else value[:2]
        lines.append(_UUID.sub("#", f"{partition} {version!r} {found!r}"))
    return lines


def test_the_same_requests_leave_the_same_records_as_in_kafka() -> None:
    node = GroupNode(group_max_size=4)
    converse(node.connect, TOPIC_ID)
    node.scheduler.run_for(120_000)  # as long as Kafka had: the members left behind expire
    ours: list[tuple[int, bytes, bytes | None]] = []
    for partition, log in sorted(node.log.records.items()):
        for one in log:
            assert isinstance(one, LogRecord) and one.key is not None
            ours.append((partition, one.key, one.value))
    assert _comparable(ours) == _comparable(_golden())


def test_an_expiry_of_its_own_is_kept_in_version_1() -> None:
    value = OffsetCommitValue(offset=5, commit_timestamp=1, expire_timestamp=9, topic_id=TOPIC_ID)
    key, data = offset_commit_record("g", "t", 0, value)
    assert data[:2] == b"\0\1"
    found = read_group_record(key, data)
    assert not isinstance(found, OtherRecord)
    assert isinstance(found[1], OffsetCommitValue)
    assert found[1].expire_timestamp == 9


def test_offsets_of_old_brokers_are_read() -> None:
    key, data = offset_commit_record("g", "t", 3, OffsetCommitValue(offset=5, metadata="m"))
    legacy_value = b"\0\0" + (5).to_bytes(8, "big") + b"\0\1m" + bytes(8)
    found = read_group_record(b"\0\0" + key[2:], legacy_value)
    assert found == (OffsetCommitKey("g", "t", 3), OffsetCommitValue(offset=5, metadata="m"))
    assert read_group_record(b"\0\0" + key[2:], None) == (OffsetCommitKey("g", "t", 3), None)


def test_records_of_other_groups_are_named_not_read() -> None:
    assert read_group_record(b"\0\x17\0\1g", b"\0\0") == OtherRecord(23)
    assert OtherRecord(23).name == "StreamsGroupTopology"
    assert OtherRecord(99).name == "type 99"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (b"\0\2", None),
        (b"\0\2\0\5g", None),
        (b"\0\2\0\1g", b""),
        (b"\0\2\0\1g", b"\0\3"),
        (b"\0\2\0\1g", b"\0\x63"),
        (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\3\0"),
        (b"\0\5\0\1g\0\1m", b"\0\0"),
        (b"\0\3\0\1g", b"\0\1\0\0\0\1\0"),
    ],
)
def test_damaged_records_are_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(ProtocolError):
        read_group_record(key, value)


def test_a_record_of_a_consumer_group_is_read_as_it_was_written() -> None:
    key, value = ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(3, 7)
    written = record(key, value)
    assert written[0] == b"\0\3\0\1g"
    assert read_group_record(*written) == (key, value)
    assert read_group_record(*tombstone(key)) == (key, None)
