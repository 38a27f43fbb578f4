"""Which log directories and partitions there are."""

from __future__ import annotations

from pathlib import Path

from console.segments.files.folders import (
    log_directories,
    partition_folders,
)
from log_format.files import Files
from tests.unit.console.segments.segments_fixture import log_directory


def test_a_log_directory_a_node_and_a_cluster_are_known(tmp_path: Path) -> None:
    one = log_directory(tmp_path / "broker-1" / "data", node_id=1)
    two = log_directory(tmp_path / "broker-2" / "data", node_id=2)
    (tmp_path / "broker-1.properties").touch()
    files = Files()
    for paths in ([tmp_path], [one, two], [two, tmp_path], [tmp_path / "broker-1", two]):
        found = log_directories(files, [f"{path}/" for path in paths])
        assert [(each.node_id, each.path) for each in found] == [(1, str(one)), (2, str(two))]
    assert found[0].cluster_id == "a-cluster" and found[0].key != found[1].key
    assert log_directories(files, [str(tmp_path / "none")]) == []


def test_only_live_partitions_have_folders(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    for name in ("t-1", "t-1.0f-delete", "a-b-10", "a-b-9", "x", "t-01"):
        (path / name).mkdir()
    (path / "file-3").touch()
    directory = log_directories(Files(), [str(path)])[0]
    found = [(one.topic, one.partition) for one in partition_folders(Files(), directory)]
    assert found == [("a-b", 9), ("a-b", 10), ("t", 0), ("t", 1)]


def test_a_directory_that_vanished_has_none(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    directory = log_directories(Files(), [str(path)])[0]
    path.rename(tmp_path / "gone")
    assert partition_folders(Files(), directory) == []
