"""`controller.raft.leader_batches`: what is in the log is what the listener gets."""

from __future__ import annotations

from controller.metadata.records import decode_record
from controller.raft import raft_messages as m
from controller.raft.leader_batches import leader_batch, proposal
from ground.sliced_work import in_one_go
from protocol.messages.metadata_records import ConfigRecord, NoOpRecord
from protocol.record_batch import read_header
from protocol.records import iterate_records


def test_a_proposal_is_one_batch_with_the_time_it_was_made_at() -> None:
    records = (ConfigRecord(4, "", "key", "value"), NoOpRecord())
    proposed = in_one_go(proposal(records, 30, 77))
    data, batch = leader_batch(m.Append(3, 10, 12, proposed), 99)
    header = read_header(data)
    assert (header.base_offset, header.next_offset, header.partition_leader_epoch) == (10, 12, 3)
    assert [decode_record(one.value or b"") for one in iterate_records(data)] == list(records)
    assert tuple(batch) == (10, 11, 3, 77, records)
    assert header.max_timestamp == 77


def test_a_leader_change_is_for_the_quorum_alone() -> None:
    data, batch = leader_batch(m.Append(4, 0, 1, m.LeaderChange(1, (1, 2, 3), (1, 2))), 99)
    assert read_header(data).is_control
    assert tuple(batch) == (0, 0, 4, 99, ())
