"""A folder of a broker as Spark reads it: its partitions, and a batch of records."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.log_format.folders import copied, several_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_folders_partitions_and_records(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.spark import folder_source

    log = several_segments()
    log.close()
    copied(log, tmp_path)
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    metadata = "version: 0\ntopic_id: 1hmEKRB-SnOHcsCzOyL1Gg\n"
    (tmp_path / "topic-0" / "partition.metadata").write_text(metadata)
    shutil.copytree(tmp_path / "topic-0", tmp_path / "topic-1")
    found, other = folder_source.partitions(spark, str(tmp_path), "topic", {})
    topic_id = "1hmEKRB-SnOHcsCzOyL1Gg"
    assert found == folder_source.FolderPartition("topic", 0, topic_id, "abc", 0, 24, 24, ())
    assert other.partition == 1
    rows = folder_source.batch(spark, str(tmp_path), "topic", {0: 3}, {0: 20}, {})
    # Of the other partition nothing was asked for.
    assert [row.offset for row in rows.orderBy("offset").collect()] == list(range(3, 20))
