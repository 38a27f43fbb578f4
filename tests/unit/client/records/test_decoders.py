"""What the records of the cluster's own topics mean."""

from __future__ import annotations

import json

import pytest

from broker.groups.group_records import (
    group_metadata_record,
    offset_commit_record,
    offset_tombstone,
)
from broker.transactions.transaction_log import transaction_key
from client.records.decoders import (
    METADATA,
    NONE,
    OFFSETS,
    TRANSACTIONS,
    decode_by,
    decoder_of,
    plain,
)
from controller.metadata.records import encode_record
from protocol.messages import metadata_records as m
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata, OffsetCommitValue
from protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue
from protocol.primitives import MessageBuffer
from protocol.records import Record


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        ("__consumer_offsets-12", "0.log", OFFSETS),
        ("__consumer_offsets-3.0a1b-delete", "0.log", OFFSETS),
        ("__transaction_state-0", "0.log", TRANSACTIONS),
        ("__cluster_metadata-0", "0.log", METADATA),
        ("data", "bootstrap.checkpoint", METADATA),
        ("orders-0", "0.log", NONE),
        ("consumer_offsets-0", "0.log", NONE),
    ],
)
def test_which_decoder_fits(folder: str, file: str, expected: str) -> None:
    assert decoder_of(folder, file) == expected


def test_a_committed_offset_and_its_end() -> None:
    value = OffsetCommitValue(offset=42, leader_epoch=3, metadata="m", commit_timestamp=1000)
    record = Record(0, 0, *offset_commit_record("g", "t", 7, value))
    decoded = decode_by(OFFSETS)(record)
    assert decoded is not None
    data = {"group": "g", "topic": "t", "partition": 7}
    assert decoded.key == {"type": "1", "data": data}
    found = json.loads(json.dumps(decoded.value))
    assert found["version"] == "3"
    assert (found["data"]["offset"], found["data"]["leaderEpoch"]) == (42, 3)
    assert found["data"]["commitTimestamp"] == 1000
    gone = decode_by(OFFSETS)(Record(0, 0, *offset_tombstone("g", "t", 7)))
    assert gone == (decoded.key, None)


def test_a_generation_shows_what_its_members_read() -> None:
    out = MessageBuffer(b"\0\1")
    ConsumerProtocolSubscription(topics=["orders"]).write(out, 1)
    member = MemberMetadata(member_id="m", subscription=bytes(out), assignment=b"\0")
    value = GroupMetadataValue(protocol_type="consumer", generation=1, members=[member])
    decoded = decode_by(OFFSETS)(Record(0, 0, *group_metadata_record("g", value)))
    assert decoded is not None and decoded.key == {"type": "2", "data": {"group": "g"}}
    (shown,) = json.loads(json.dumps(decoded.value))["data"]["members"]
    assert shown["memberId"] == "m" and shown["subscription"]["topics"] == ["orders"]
    assert shown["assignment"] == "AA=="  # it is none: shown as it is


def test_a_transaction() -> None:
    value = TransactionLogValue(
        producer_id=5, transaction_partitions=[PartitionsSchema("t", [0, 2])]
    )
    out = MessageBuffer(b"\0\1")
    value.write(out, 1)
    decoded = decode_by(TRANSACTIONS)(Record(0, 0, transaction_key("tx"), bytes(out)))
    assert decoded is not None
    assert decoded.key == {"type": "0", "data": {"transactionalId": "tx"}}
    data = json.loads(json.dumps(decoded.value))["data"]
    assert data["producerId"] == 5
    assert data["transactionPartitions"] == [{"topic": "t", "partitionIds": [0, 2]}]


def test_metadata() -> None:
    record = m.TopicRecord("orders", bytes(range(16)))
    decoded = decode_by(METADATA)(Record(0, 0, None, encode_record(record, 0)))
    assert decoded == (
        None,
        {
            "type": "TOPIC_RECORD",
            "version": 0,
            "data": {"name": "orders", "topicId": "AAECAwQFBgcICQoLDA0ODw"},
        },
    )


@pytest.mark.parametrize("name", [OFFSETS, TRANSACTIONS, METADATA, NONE])
def test_no_decoder_shows_a_secret_or_fails(name: str) -> None:
    decode = decode_by(name)
    secret = m.UserScramCredentialRecord("u", 1, b"hush", b"hush", b"hush", 4096)
    hidden = decode(Record(0, 0, None, encode_record(secret, 0)))
    assert hidden is not None and "hush" not in str(hidden) and "aHVzaA" not in str(hidden)
    for key, value in (
        (None, None),
        (None, b"\1"),
        (b"", b""),
        (b"\0\1", b"\0\1"),
        (b"\x7f\0", b"x"),
        (b"text", b"text"),
    ):
        assert decode(Record(0, 0, key, value)) is None
    key, value = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=1))
    if name == OFFSETS:
        newer = decode(Record(0, 0, key, b"\0\x7f" + value[2:]))
        assert newer is not None and newer.value == b"\0\x7f" + value[2:]


def test_ids_and_bytes() -> None:
    assert plain(bytes(16), "topic_id") == "AAAAAAAAAAAAAAAAAAAAAA"
    assert plain(bytes(16), "metadata") == "AAAAAAAAAAAAAAAAAAAAAA=="
    assert plain([bytes(16)], "log_dirs") == ["AAAAAAAAAAAAAAAAAAAAAA"]
    assert plain(memoryview(b"a"), "subscription") == "YQ=="
