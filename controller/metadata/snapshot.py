"""Snapshots: an image as a file `<end offset>-<epoch>.checkpoint`, and back.

A snapshot replaces the log before its end offset. It is a series of record batches: a control
batch with the header, the records that make the image, a control batch with the footer; without a
footer it is incomplete. `bootstrap.checkpoint` has the same format, with the records that an empty
log begins with.

Owns: names, format and order of the records. Never: decides when to write one
(`controller.raft.raft_client`).

Follows KIP-630, KIP-778 and Kafka's `RecordsSnapshotWriter`, `SnapshotPath`, `ImageWriter`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from controller.metadata.acl import Acl
from controller.metadata.client_quotas import quota_record
from controller.metadata.control_records import control_batch, decode_control_record
from controller.metadata.delegation_token import DelegationToken
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import Endpoint, MetadataImage, PartitionRegistration
from controller.metadata.records import (
    MetadataRecord,
    MetadataRecordError,
    decode_record,
    encode_record,
)
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from controller.metadata.version import METADATA_VERSION, record_version
from protocol.control_records import ControlRecordType
from protocol.messages import metadata_records as m
from protocol.messages.consumer_protocol import SnapshotFooterRecord, SnapshotHeaderRecord
from protocol.record_batch import CorruptBatch, crc_is_valid, iterate_batches
from protocol.records import RecordBatchBuilder, iterate_records

RECORDS_PER_BATCH = 1_000

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class SnapshotId(NamedTuple):
    """The offset after the last record in a snapshot, and that record's epoch."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """The file's name, such as `00000000000000000034-0000000001.checkpoint`."""
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


BOOTSTRAP_SNAPSHOT = SnapshotId(0, 0)
"""The snapshot that a format tool writes: the voters of a dynamic quorum, and the records that the
first leader writes to an empty log. So these records count only after their commit (KIP-1170)."""


def snapshot_id_of(file_name: str) -> SnapshotId | None:
    """Return the id in a file's name; None for other files."""
    match = _NAME.fullmatch(file_name)
    return SnapshotId(int(match[1]), int(match[2])) if match else None


@dataclass(slots=True)
class SnapshotContent:
    """The records of a snapshot file."""

    last_contained_timestamp_ms: int = 0
    records: list[MetadataRecord] = field(default_factory=list)
    control: list[tuple[ControlRecordType, Any]] = field(default_factory=list)
    """The KRaftVersion and Voters records, if the voters are in the log (KIP-853)."""


# --- writing -------------------------------------------------------------------------------------


def encode_snapshot(
    records: Iterable[MetadataRecord],
    level: int,
    epoch: int,
    last_contained_timestamp_ms: int,
    now_ms: int,
    control: Sequence[tuple[ControlRecordType, Any]] = (),
) -> bytes:
    """Return the content of a snapshot file: header, `control` records, `records`, footer. `level`
    is the finalized `metadata.version`, which decides the records' versions."""
    header = SnapshotHeaderRecord(0, last_contained_timestamp_ms)
    parts = [
        control_batch([(ControlRecordType.SNAPSHOT_HEADER, header), *control], 0, epoch, now_ms)
    ]
    offset = 1 + len(control)
    rest = iter(records)
    while chunk := list(islice(rest, RECORDS_PER_BATCH)):
        builder = RecordBatchBuilder(base_offset=offset, leader_epoch=epoch)
        for record in chunk:
            value = encode_record(record, record_version(record, level))
            builder.append(None, value, now_ms)
        parts.append(builder.build())
        offset += len(chunk)
    footer = (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord(0))
    parts.append(control_batch([footer], offset, epoch, now_ms))
    return b"".join(parts)


def encode_image(
    image: MetadataImage, now_ms: int, control: Sequence[tuple[ControlRecordType, Any]] = ()
) -> bytes:
    """Return the content of the snapshot file of `image`."""
    return encode_snapshot(
        image_records(image), image.metadata_level, image.epoch, image.timestamp_ms, now_ms, control
    )


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Yield records that recreate `image`, features first: the version of the others depends on
    them."""
    yield from feature_records(image.features)
    for broker in image.brokers.values():
        yield m.RegisterBrokerRecord(
            broker_id=broker.id,
            incarnation_id=broker.incarnation_id,
            broker_epoch=broker.epoch,
            end_points=[_endpoint(m.BrokerEndpoint, e) for e in broker.endpoints.values()],
            features=[m.BrokerFeature(n, *levels) for n, levels in broker.features.items()],
            rack=broker.rack,
            fenced=broker.fenced,
            in_controlled_shutdown=broker.in_controlled_shutdown,
            log_dirs=list(broker.log_dirs),
            cordoned_log_dirs=_optional_list(broker.cordoned_log_dirs),
        )
    for controller in image.controllers.values():
        yield m.RegisterControllerRecord(
            controller_id=controller.id,
            incarnation_id=controller.incarnation_id,
            zk_migration_ready=controller.zk_migration_ready,
            end_points=[_endpoint(m.ControllerEndpoint, e) for e in controller.endpoints.values()],
            features=[m.ControllerFeature(n, *levels) for n, levels in controller.features.items()],
        )
    for topic in image.topics.by_name.values():
        yield m.TopicRecord(topic.name, topic.id)
        for index, partition in topic.partitions.items():
            yield _partition_record(topic.id, index, partition)
    for (resource_type, name), configs in image.configs.items():
        for key, value in configs.items():
            yield m.ConfigRecord(resource_type, name, key, value)
    yield from _security_records(image)
    for entity, values in image.client_quotas.items():
        for key, quota in values.items():
            yield quota_record(entity, key, quota)
    if image.next_producer_id:
        yield m.ProducerIdsRecord(-1, -1, image.next_producer_id)


def _security_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Yield the records of all SCRAM credentials, ACLs and delegation tokens."""
    for user, credentials in image.scram.users.items():
        for mechanism, credential in credentials.items():
            yield credential_record(user, mechanism, credential)
    for acl_id, acl in image.acls.by_id.items():
        yield acl_record(acl_id, acl)
    for token in image.tokens.values():
        yield token_record(token)


def feature_records(levels: Mapping[str, int]) -> list[MetadataRecord]:
    """Return the records of all features with a level above 0, `metadata.version` first, because
    later records depend on it."""
    names = [METADATA_VERSION, *sorted(name for name in levels if name != METADATA_VERSION)]
    return [m.FeatureLevelRecord(name, levels[name]) for name in names if levels.get(name)]


def credential_record(
    user: str, mechanism: ScramMechanism, credential: ScramCredential
) -> m.UserScramCredentialRecord:
    """Return the record that stores a user's credential."""
    return m.UserScramCredentialRecord(
        name=user,
        mechanism=mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )


def acl_record(acl_id: bytes, acl: Acl) -> m.AccessControlEntryRecord:
    """Return the record that stores an ACL."""
    return m.AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource,
        resource_name=acl.name,
        pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def token_record(token: DelegationToken) -> m.DelegationTokenRecord:
    """Return the record that stores a token, without its HMAC."""
    return m.DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issue_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expiry_ms,
        token_id=token.token_id,
    )


def _endpoint(cls: Any, endpoint: Endpoint) -> Any:
    """Return `endpoint` as an endpoint of a record; `cls` is the message class."""
    return cls(endpoint.name, endpoint.host, endpoint.port, endpoint.security_protocol)


def _optional_list(values: tuple[bytes, ...] | None) -> list[bytes] | None:
    return None if values is None else list(values)


def _partition_record(
    topic_id: bytes, index: int, partition: PartitionRegistration
) -> m.PartitionRecord:
    """Return the record with the whole state of a partition."""
    return m.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


# --- reading -------------------------------------------------------------------------------------


def decode_snapshot(data: bytes) -> SnapshotContent:
    """Return the records of a snapshot file. Raises MetadataRecordError if the file is damaged or
    incomplete."""
    content = SnapshotContent()
    kinds: list[ControlRecordType] = []
    try:
        for position, header in iterate_batches(data):
            if not crc_is_valid(data, position, header):
                raise MetadataRecordError(f"snapshot batch at byte {position} has a wrong CRC")
            for record in iterate_records(data, position):
                if not header.is_control:
                    content.records.append(decode_record(record.value or b""))
                    continue
                kind, message = decode_control_record(record)
                kinds.append(kind)
                if kind is ControlRecordType.SNAPSHOT_HEADER:
                    content.last_contained_timestamp_ms = message.last_contained_log_timestamp
                elif kind is not ControlRecordType.SNAPSHOT_FOOTER:
                    content.control.append((kind, message))
    except CorruptBatch as error:
        raise MetadataRecordError(f"snapshot is damaged: {error}") from error
    if not kinds or kinds[0] is not ControlRecordType.SNAPSHOT_HEADER:
        raise MetadataRecordError("snapshot has no header")
    if kinds[-1] is not ControlRecordType.SNAPSHOT_FOOTER:
        raise MetadataRecordError("snapshot has no footer: it is not whole")
    return content


def image_of(content: SnapshotContent, snapshot_id: SnapshotId) -> MetadataImage:
    """Return the image that a snapshot's records make, at the snapshot's last offset. Raises
    MetadataRecordError if a record cannot be replayed."""
    delta = MetadataDelta(MetadataImage())
    for record in content.records:
        delta.replay(record)
    return delta.apply(
        snapshot_id.end_offset - 1, snapshot_id.epoch, content.last_contained_timestamp_ms
    )
