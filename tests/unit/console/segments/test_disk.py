"""Folders by topic, partition and directory, as far as the login may see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.refusals import Refused
from console.segments.disk import Disk, NoSuchFolder
from console.segments.rights import SegmentRights
from ground.topic_partition import TopicPartition
from storage.log.checkpoints import encode_offsets, encode_partition_metadata
from tests.unit.console.segments.segments_fixture import (
    DESCRIBE,
    EVERYTHING,
    SayingCluster,
    log_directory,
)


def disk(cluster: SayingCluster, *paths: Path) -> Disk:
    return Disk([str(one) for one in paths], SegmentRights(cluster.taken))


def test_only_what_may_be_described_is_listed(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    for name in ("secret-0", "__cluster_metadata-0"):
        (path / name).mkdir()
    found = disk(SayingCluster({"t": DESCRIBE, "secret": 0}), path).partitions()
    assert [one.folder.topic for one, _ in found] == ["t"]
    assert found[0][0].segments == 2 and found[0][0].bytes > 500
    found = disk(SayingCluster({"t": DESCRIBE}, on_cluster=DESCRIBE), path).partitions()
    assert [one.folder.topic for one, _ in found] == ["__cluster_metadata", "t"]


def test_a_folder_is_found_by_names_that_are_there_and_no_others(tmp_path: Path) -> None:
    one = log_directory(tmp_path / "1", node_id=1)
    two = log_directory(tmp_path / "2", node_id=2)
    (tmp_path / "outside-0").mkdir()
    names = {"t": EVERYTHING, "../outside": EVERYTHING, "1/t": EVERYTHING, "none": EVERYTHING}
    both = disk(SayingCluster(names), tmp_path)
    folder, allowed, having = both.find("t", 0, None, to_read=True)
    assert folder.path == str(one / "t-0") and allowed.read
    assert [each.node_id for each in having] == [1, 2]
    folder, _, _ = both.find("t", 0, having[1].key, to_read=False)
    assert folder.path == str(two / "t-0")
    for topic, number, key in (
        ("../outside", 0, None),
        ("1/t", 0, None),
        ("t", 1, None),
        ("t", 0, "../x"),
        ("none", 0, ""),
    ):
        with pytest.raises(NoSuchFolder, match="no folder in the folders of --data"):
            both.find(topic, number, key, to_read=False)


def test_batches_take_the_right_to_read(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    one = disk(SayingCluster({"t": DESCRIBE}), path)
    assert one.find("t", 0, None, to_read=False)[0].topic == "t"
    with pytest.raises(Refused, match="needs Read"):
        one.find("t", 0, None, to_read=True)
    with pytest.raises(Refused, match="no topic other"):
        one.find("other", 0, None, to_read=False)


def test_another_clusters_folder_is_not_shown(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data", cluster_id="another")
    one = disk(SayingCluster({"t": EVERYTHING}), path)
    assert one.partitions() == []
    assert "belongs to cluster another, but the console is connected to cluster" in one.why_none()
    with pytest.raises(NoSuchFolder):
        one.find("t", 0, None, to_read=False)


def test_what_was_left_of_an_earlier_topic_of_that_name_is_not_shown(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data")
    (path / "t-0" / "partition.metadata").write_bytes(encode_partition_metadata(bytes(15) + b"\1"))
    one = disk(SayingCluster({"t": EVERYTHING}), path)
    assert one.partitions() == []
    with pytest.raises(NoSuchFolder):
        one.find("t", 0, None, to_read=False)


def test_without_folders_the_reason_is_told(tmp_path: Path) -> None:
    cluster = SayingCluster({})
    assert "--data PATH" in disk(cluster).why_none()
    assert "has no log directory" in disk(cluster, tmp_path).why_none()
    assert disk(cluster).directories() == disk(cluster, tmp_path).directories() == []
    assert cluster.asked == ["MetadataRequest"]


def test_marks_are_those_of_the_checkpoints_and_follow_them(tmp_path: Path) -> None:
    path = log_directory(tmp_path / "data", high_watermark=20)
    one = disk(SayingCluster({"t": EVERYTHING}), path)
    folder, _, _ = one.find("t", 0, None, to_read=False)
    marks = one.marks(folder)
    assert (marks.high_watermark, marks.log_start, marks.cleaned_to) == (20, None, None)
    data = encode_offsets({TopicPartition("t", 0): 12, TopicPartition("u", 0): 3})
    (path / "cleaner-offset-checkpoint").write_bytes(data)
    (path / "replication-offset-checkpoint").write_bytes(b"damaged")
    marks = one.marks(folder)
    assert (marks.high_watermark, marks.cleaned_to) == (None, 12)
