"""The batches that a leader of the quorum writes: its LeaderChange record, voters, and proposed
records.

Owns the form of these batches. Never: appends them (`controller.raft.raft_client`). Follows Kafka's
`BatchAccumulator`, without its linger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from controller.metadata.control_records import control_batch, leader_change
from controller.metadata.loader import CommittedBatch
from controller.metadata.records import MetadataRecord, encode_record
from controller.metadata.version import record_version
from controller.raft import raft_messages as m
from ground.sliced_work import Pace, Steps
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import KRaftVersionRecord
from protocol.records import RecordBatchBuilder

RECORDS_A_SLICE = 500
"""The number of records that are encoded or replayed before other work has its turn."""


class ProposedRecords(NamedTuple):
    """Records that a leader proposes, with their encoded values and their time."""

    records: tuple[MetadataRecord, ...]
    values: tuple[bytes, ...]
    now_ms: int


def proposal(records: Sequence[MetadataRecord], level: int, now_ms: int) -> Steps[ProposedRecords]:
    """Return `records` encoded in the versions of the metadata level `level`, as values that
    `leader_batch` puts into a batch. Raises StringTooLong before anything is proposed."""
    values: list[bytes] = []
    pace = Pace(RECORDS_A_SLICE)
    for record in records:
        if pace.is_full():
            yield None
        values.append(encode_record(record, record_version(record, level)))
    return ProposedRecords(tuple(records), tuple(values), now_ms)


def leader_batch(append: m.Append, now_ms: int) -> tuple[bytearray, CommittedBatch]:
    """Return the encoded batch for the log, and the same batch as the listener gets it after the
    commit. `now_ms` is the time of control records; proposed records have their own."""
    base, payload = append.base_offset, append.payload
    records: tuple[MetadataRecord, ...] = ()
    data: bytearray
    if isinstance(payload, m.LeaderChange):
        change = leader_change(payload.leader_id, payload.voters, payload.granting)
        control = [(ControlRecordType.LEADER_CHANGE, change)]
        if payload.change is not None:
            control += _voters_change(payload.change)
        data = control_batch(control, base, append.epoch, now_ms)
    elif isinstance(payload, m.VotersChange):
        data = control_batch(_voters_change(payload), base, append.epoch, now_ms)
    else:
        assert isinstance(payload, ProposedRecords)
        now_ms, records = payload.now_ms, payload.records
        data = _data_batch(payload, base, append.epoch)
    return data, CommittedBatch(base, append.next_offset - 1, append.epoch, now_ms, records)


def _voters_change(change: m.VotersChange) -> list[tuple[ControlRecordType, Any]]:
    """Return the control records of a change of the voters."""
    records: list[tuple[ControlRecordType, Any]] = []
    if change.level is not None:
        records.append((ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, change.level)))
    records.append((ControlRecordType.KRAFT_VOTERS, change.voters.record()))
    return records


def _data_batch(proposed: ProposedRecords, base_offset: int, epoch: int) -> bytearray:
    """Return the encoded batch of proposed records, the first of which has `base_offset`."""
    builder = RecordBatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for value in proposed.values:
        builder.append(None, value, proposed.now_ms)
    return builder.build()
