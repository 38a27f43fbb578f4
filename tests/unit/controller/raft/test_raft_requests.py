"""`controller.raft.raft_requests`: which fetched batches a follower takes."""

from __future__ import annotations

import pytest

from controller.raft import raft_messages as m
from controller.raft.raft_requests import followers_batches
from protocol.record_batch import CorruptBatch
from protocol.records import RecordBatchBuilder


def batch(base_offset: int, count: int = 2, epoch: int = 3) -> bytes:
    builder = RecordBatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for number in range(count):
        builder.append(None, b"value-%d" % number, 1_000)
    return bytes(builder.build())


def test_whole_batches_and_their_size() -> None:
    records = batch(10, 2, 2) + batch(12, 1)
    whole = (m.AppendedBatch(2, 10, 12), m.AppendedBatch(3, 12, 13))
    assert followers_batches(memoryview(records), 10, 2, 3) == (whole, len(records))
    cut = records + batch(13)[:-5]
    assert followers_batches(memoryview(cut), 10, 2, 3) == (whole, len(records))
    assert followers_batches(memoryview(b""), 10, 2, 3) == ((), 0)


@pytest.mark.parametrize(
    "records",
    [
        batch(11),
        batch(9),
        batch(10) + batch(13),
        batch(10, epoch=1),
        batch(10, epoch=4),
        batch(10, epoch=3) + batch(12, epoch=2),
        batch(10)[:-1] + b"\xff",
        bytes(100),
    ],
    ids=[
        "a gap",
        "an overlap",
        "a gap inside",
        "an earlier epoch",
        "a later epoch than the leader's",
        "epochs that go back",
        "a wrong CRC",
        "zeros",
    ],
)
def test_what_does_not_follow_is_refused(records: bytes) -> None:
    with pytest.raises(CorruptBatch):
        followers_batches(memoryview(records), 10, 2, 3)
