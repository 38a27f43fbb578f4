"""What the headers of a segment say together, a piece at a time."""

from __future__ import annotations

from pathlib import Path

from console.segments.files.scans import CELLS, Cells, Scans
from log_format.files import Files
from protocol.compression import Codec
from protocol.records import Record
from tests.batches import build_batch
from tests.unit.console.segments.segments_fixture import batches

BASE = 100


def compacted() -> bytes:
    """Ten offsets of which five are left, two of them tombstones; then an empty batch."""
    some = [Record(BASE + one, 50 + one, b"k", None if one < 4 else b"v") for one in (2, 3, 7)]
    parts = [
        build_batch(some[:2], base_offset=BASE, delete_horizon_ms=9000, last_offset=BASE + 4),
        build_batch(some[2:], base_offset=BASE + 5, compression=Codec.ZSTD, leader_epoch=3),
        build_batch([], base_offset=BASE + 8, last_offset=BASE + 9, producer_id=5),
    ]
    return b"".join(parts)


def test_a_segment_that_was_compacted(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(compacted())
    scan = Scans(Files()).advance(str(path), BASE, with_records=True)
    assert scan is not None and scan.is_whole and scan.damage is None
    assert (scan.batches, scan.records, scan.tombstones, scan.empty_batches) == (3, 3, 2, 1)
    assert scan.next_offset == BASE + 10 and scan.largest_time == 57
    assert scan.horizons == (9000, 9000) and scan.batches_with_horizon == 1
    assert {name: count for name, (count, _) in scan.codecs.items()} == {"none": 2, "zstd": 1}
    assert scan.epochs == [(-1, BASE), (3, BASE + 5), (-1, BASE + 8)]
    assert sum(scan.cells.records) == 3 and scan.cells.width == 1


def test_it_goes_on_where_it_ended_and_with_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(batches(0, 5)))
    scans = Scans(Files())
    seen = []
    for _ in range(4):
        scan = scans.advance(str(path), 0, headers=2)
        assert scan is not None
        seen.append((scan.batches, scan.is_whole))
    assert seen == [(2, False), (4, False), (5, True), (5, True)]
    with path.open("ab") as file:
        file.write(b"".join(batches(15, 1)))
    scan = scans.advance(str(path), 0)
    assert scan is not None and (scan.batches, scan.next_offset) == (6, 18)


def test_a_segment_that_was_replaced_is_begun_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "a.log", tmp_path / "b.log"
    path.write_bytes(b"".join(batches(0, 5)))
    scans = Scans(Files())
    scans.advance(str(path), 0)
    other.write_bytes(b"".join(batches(0, 2)))
    other.replace(path)
    scan = scans.advance(str(path), 0)
    assert scan is not None and scan.batches == 2
    path.unlink()
    assert scans.advance(str(path), 0) is None and scans.last(str(path)) is None


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    good = b"".join(batches(0, 1))
    path.write_bytes(good + b"\1" * 100)
    scan = Scans(Files()).advance(str(path), 0)
    assert scan is not None and scan.is_whole and scan.batches == 1
    assert scan.damage is not None and scan.damage.startswith(f"byte {len(good)}: ")


def test_few_are_kept(tmp_path: Path) -> None:
    scans = Scans(Files(), kept=1)
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(b"".join(batches(0, 1)))
        scans.advance(str(tmp_path / name), 0)
    assert scans.last(str(tmp_path / "a.log")) is None
    assert scans.last(str(tmp_path / "b.log")) is not None


def test_cells_grow_with_the_span_and_lose_no_record() -> None:
    cells = Cells(50)
    for one in range(1000):
        cells.add(50 + one * 10, 50 + one * 10 + 9, 10)
    assert len(cells.records) <= CELLS and sum(cells.records) == 10_000
    assert cells.width == 128 and cells.records[:-1] == [128] * 78, "all are full"
