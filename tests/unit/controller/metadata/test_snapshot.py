"""`controller.metadata.snapshot`: an image goes to bytes and back; damage is noticed."""

from __future__ import annotations

import pytest

from controller.metadata.image import MetadataImage
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import (
    RECORDS_PER_BATCH,
    SnapshotId,
    decode_snapshot,
    encode_image,
    encode_snapshot,
    feature_records,
    image_of,
    snapshot_id_of,
)
from protocol.control_records import ControlRecordType
from protocol.messages import metadata_records as m
from protocol.messages.consumer_protocol import KRaftVersionRecord
from protocol.record_batch import iterate_batches
from tests.unit.controller.controller_fixture import broker_record, topic_records
from tests.unit.controller.controller_fixture import image_of as image_from

A, B = b"a" * 16, b"b" * 16


def full_image() -> MetadataImage:
    elr = m.PartitionChangeRecord(0, A, isr=[1], eligible_leader_replicas=[2], last_known_elr=[2])
    return image_from(
        m.FeatureLevelRecord("metadata.version", 30),
        m.FeatureLevelRecord("eligible.leader.replicas.version", 1),
        broker_record(1, rack="r"),
        broker_record(2, fenced=True, directories=2),
        m.BrokerRegistrationChangeRecord(2, 20, cordoned_log_dirs=[b"x" * 16]),
        m.RegisterControllerRecord(
            3,
            B,
            end_points=[m.ControllerEndpoint("CONTROLLER", "h", 9093, 0)],
            features=[m.ControllerFeature("kraft.version", 0, 1)],
        ),
        *topic_records("a", A, [1, 2], [2, 1]),
        *topic_records("b", B, [1]),
        elr,
        m.ConfigRecord(2, "a", "retention.ms", "5"),
        m.ConfigRecord(4, "", "log.cleaner.threads", "2"),
        m.ProducerIdsRecord(1, 10, 7_000),
        m.UserScramCredentialRecord("u", 1, b"salt", b"stored", b"server", 4096),
        m.UserScramCredentialRecord("u", 2, b"s", b"t", b"r", 16384),
        m.AccessControlEntryRecord(id=B, principal="User:x"),
        m.DelegationTokenRecord("User:o", "User:a", ["User:r", "User:s"], 1, 9, 5, "id"),
        m.ClientQuotaRecord([m.EntityData("user", None)], "producer_byte_rate", 5.5),
    )


def test_an_image_comes_back() -> None:
    image = full_image()
    snapshot_id = SnapshotId(image.offset + 1, image.epoch)
    assert image_of(decode_snapshot(encode_image(image, 99)), snapshot_id) == image


def test_as_kafka_lays_it_out() -> None:
    """Header, records, footer, offsets from 0; the epoch of the snapshot in every batch."""
    image = full_image()
    data = encode_image(image, 99)
    headers = [header for _, header in iterate_batches(data)]
    assert [h.is_control for h in headers] == [True, False, True]
    assert [h.base_offset for h in headers] == [0, 1, headers[1].next_offset]
    assert {h.partition_leader_epoch for h in headers} == {image.epoch}
    assert decode_snapshot(data).last_contained_timestamp_ms == image.timestamp_ms


def test_many_records_are_several_batches() -> None:
    records = [m.NoOpRecord()] * (2 * RECORDS_PER_BATCH + 1)
    data = encode_snapshot(records, 30, 1, 0, 99)
    assert len(list(iterate_batches(data))) == 5
    assert len(decode_snapshot(data).records) == len(records)


def test_control_records_of_a_dynamic_quorum() -> None:
    version = (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, 1))
    content = decode_snapshot(encode_snapshot([], 30, 1, 0, 99, [version]))
    assert content.control == [version]


def test_names() -> None:
    name = "00000000000000000034-0000000001.checkpoint"
    assert SnapshotId(34, 1).file_name == name
    assert snapshot_id_of(name) == SnapshotId(34, 1)
    for other in (name + ".tmp", name + ".part", "bootstrap.checkpoint", "leader-epoch-checkpoint"):
        assert snapshot_id_of(other) is None


def test_a_snapshot_that_is_not_whole_is_refused() -> None:
    data = encode_image(full_image(), 99)
    whole = [position for position, _ in iterate_batches(data)]
    for size in (0, 10, whole[1], whole[2], len(data) - 1):
        with pytest.raises(MetadataRecordError):
            decode_snapshot(data[:size])
    with pytest.raises(MetadataRecordError, match="no header"):
        decode_snapshot(data[whole[1] :])


def test_a_flipped_bit_is_noticed() -> None:
    data = bytearray(encode_image(full_image(), 99))
    data[len(data) // 2] ^= 1
    with pytest.raises(MetadataRecordError, match="CRC"):
        decode_snapshot(bytes(data))


def test_the_metadata_version_comes_first_and_zero_is_not_written() -> None:
    levels = {"group.version": 1, "a": 0, "metadata.version": 30}
    assert [record.name for record in feature_records(levels)] == [
        "metadata.version",
        "group.version",
    ]
