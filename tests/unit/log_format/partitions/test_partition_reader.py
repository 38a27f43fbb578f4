from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from log_format.damage import DamagedLog
from log_format.files import Files
from log_format.partitions.partition_reader import parts_of, read_part
from log_format.records.segment_pieces import crc32c_function
from tests.unit.log_format.folders import copied, opened, several_segments
from tests.unit.storage.transactional_fixture import BOTH, commit_all, two_aborted


def test_a_part_goes_to_another_process(tmp_path: Path) -> None:
    server = several_segments()
    server.close()
    log = opened(copied(server, tmp_path))
    [part] = parts_of(log, 3, 20, committed=True, step_bytes=1 << 20)
    again = pickle.loads(pickle.dumps(part))
    assert again == part
    rows = [
        row for found in read_part(Files(), again, crc32c_function()) for row in found.to_pylist()
    ]
    assert [row["offset"] for row in rows] == list(range(3, 20))


def test_a_part_knows_the_aborted_transactions_that_it_meets(tmp_path: Path) -> None:
    server = two_aborted()
    commit_all(server)
    server.close()
    log = opened(copied(server, tmp_path))
    parts = list(parts_of(log, 0, 100, committed=True, step_bytes=1))
    assert parts[0].aborted == tuple(BOTH) and parts[-1].aborted == (BOTH[1],)
    assert {(one.start, one.end) for one in parts} == {(0, 9)}
    assert {one.aborted for one in parts_of(log, 0, 100, committed=False, step_bytes=1)} == {()}
    assert list(parts_of(log, 9, 100, committed=True, step_bytes=1)) == []


def test_damage_that_came_later_is_told(tmp_path: Path) -> None:
    server = several_segments()
    server.close()
    folder = copied(server, tmp_path)
    [part] = parts_of(opened(folder), 0, 100, committed=True, step_bytes=1 << 20)
    first = min(folder.glob("*.log"))
    data = bytearray(first.read_bytes())
    data[17] ^= 1  # of the checksum itself
    first.write_bytes(data)
    with pytest.raises(DamagedLog, match="CRC-32C"):
        list(read_part(Files(), part, crc32c_function()))
    assert sum(one.num_rows for one in read_part(Files(), part, None)) == 24, "unchecked, if asked"
