from __future__ import annotations

from log_format.batch_headers import batch_positions, column, headers_at, last_offsets
from protocol.record_batch import read_header
from protocol.records import Record
from tests.batches import build_batch

ONE = bytes(build_batch([Record(7, 1_000, b"k", b"v"), Record(9, 1_005, None, b"")], base_offset=7))
TWO = bytes(build_batch([Record(10, 900, b"k", None)], base_offset=10, producer_id=5))


def test_every_field_is_where_the_server_reads_it() -> None:
    data = ONE + TWO
    positions, end = batch_positions(data)
    assert positions.tolist() == [0, len(ONE)] and end == len(data)
    found = headers_at(data, positions)
    wanted = [read_header(data, at) for at in positions.tolist()]
    for ours, theirs in (
        ("base_offset", "base_offset"),
        ("length", "batch_length"),
        ("leader_epoch", "partition_leader_epoch"),
        ("magic", "magic"),
        ("crc", "crc"),
        ("attributes", "attributes"),
        ("last_offset_delta", "last_offset_delta"),
        ("base_timestamp", "base_timestamp"),
        ("max_timestamp", "max_timestamp"),
        ("producer_id", "producer_id"),
        ("producer_epoch", "producer_epoch"),
        ("base_sequence", "base_sequence"),
        ("count", "record_count"),
    ):
        assert column(found, ours).tolist() == [getattr(one, theirs) for one in wanted]
    assert last_offsets(found).tolist() == [9, 10]


def test_the_walk_ends_before_what_is_cut_or_no_length() -> None:
    for cut in range(1, len(TWO)):
        positions, end = batch_positions(ONE + TWO[:-cut])
        assert positions.tolist() == [0] and end == len(ONE)
    for rest in (bytes(200), b"\xff" * 200):
        assert batch_positions(ONE + rest)[1] == len(ONE)
    assert batch_positions(b"")[0].tolist() == []


def test_it_starts_where_it_is_told() -> None:
    assert batch_positions(ONE + TWO, len(ONE))[0].tolist() == [len(ONE)]
