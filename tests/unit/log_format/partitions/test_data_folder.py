from __future__ import annotations

from pathlib import Path

import pytest

from log_format.damage import LogError
from log_format.files import Files
from log_format.partitions.data_folder import DataFolder, PartitionFolder


def folder_with(tmp_path: Path, *names: str) -> str:
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    return str(tmp_path)


def test_a_brokers_data_folder(tmp_path: Path) -> None:
    path = folder_with(
        tmp_path, "a.b-c-1", "a.b-c-0", "z-10", "z-9", "no-partition", "x-0.1-delete"
    )
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\na.b-c 1 7\n")
    (tmp_path / "replication-offset-checkpoint").write_text("0\n2\na.b-c 1 9\nz 10 3\n")
    (tmp_path / "y-0").write_text("a file")
    (tmp_path / ".kafka_cleanshutdown").touch()
    found = DataFolder(Files(), path + "/")
    assert all(one.clean for one in found.partitions)
    assert found.partitions == [
        PartitionFolder(f"{path}/a.b-c-0", "a.b-c", 0, None, None, True),
        PartitionFolder(f"{path}/a.b-c-1", "a.b-c", 1, 7, 9, True),
        PartitionFolder(f"{path}/z-9", "z", 9, None, None, True),
        PartitionFolder(f"{path}/z-10", "z", 10, None, 3, True),
    ]
    assert found.cluster_id == "abc"
    assert found.notes == ["x-0.1-delete is set aside by its broker and not read"]


def test_what_is_named_like_a_partition_and_is_none(tmp_path: Path) -> None:
    """One folder of somebody's was a reason to read none. An empty one still is."""
    path = folder_with(tmp_path, "t-0", "broker-1", "project-1/src")
    (tmp_path / "broker-1" / "meta.properties").touch()
    found = DataFolder(Files(), path)
    assert [one.folder for one in found.partitions] == [f"{path}/t-0"]
    assert found.notes == [
        f"{path}/broker-1 is the data folder of a node: not read",
        f"{path}/project-1 has no file of a partition (it has src): not read",
    ]


def test_one_partitions_folder(tmp_path: Path) -> None:
    path = folder_with(tmp_path, "t-5")
    (tmp_path / "t-5" / f"{0:020d}.log").touch()
    (tmp_path / "log-start-offset-checkpoint").write_text("damaged")
    found = DataFolder(Files(), f"{path}/t-5")
    assert found.partitions == [PartitionFolder(f"{path}/t-5", "t", 5, None, None)]
    assert found.notes == ["log-start-offset-checkpoint is damaged: it is not used"]
    assert found.cluster_id is None


def test_what_is_none(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no such folder"):
        DataFolder(Files(), str(tmp_path / "a"))
    with pytest.raises(LogError, match="is no data folder of Kafka"):
        DataFolder(Files(), str(tmp_path))
    copied = folder_with(tmp_path, "copied")
    (tmp_path / "copied" / f"{0:020d}.log").touch()
    with pytest.raises(LogError, match="its name is not that of a partition's folder"):
        DataFolder(Files(), f"{copied}/copied")
