"""Which files belong to which segment."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.segments.files.partition_files import log_size, partition_files
from log_format.damage import LogError
from log_format.files import Files


def test_segments_snapshots_and_what_leaves(tmp_path: Path) -> None:
    zero, ten = f"{0:020d}", f"{10:020d}"
    names = [f"{zero}.log", f"{zero}.index", f"{ten}.log", f"{ten}.timeindex", f"{ten}.snapshot"]
    names += [f"{zero}.log.deleted", f"{zero}-0000000003.checkpoint", "leader-epoch-checkpoint"]
    names += [f"{7:020d}.index"]
    for size, name in enumerate(names, 1):
        (tmp_path / name).write_bytes(bytes(size))
    found = partition_files(Files(), str(tmp_path))
    assert [one.base_offset for one in found.segments] == [0, 10]
    assert sorted(found.segments[0].stamps) == [".index", ".log"]
    assert found.snapshots == [(10, 5)]
    assert found.leaving == [(f"{zero}.log.deleted", 6)]
    assert found.metadata_snapshots == [(f"{zero}-0000000003.checkpoint", 7)]
    assert found.size == 4 and log_size(Files(), str(tmp_path)) == (2, 4)
    assert found.end_of(found.segments[0]) == 10 and found.end_of(found.segments[1]) is None
    assert found.segment(10) is found.segments[1] and found.segment(3) is None


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="No such file"):
        partition_files(Files(), str(tmp_path / "t-0"))
