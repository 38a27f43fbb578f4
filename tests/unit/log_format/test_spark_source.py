"""The Data Source's halves as Spark calls them; with Spark itself in tests/compat."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from log_format.damage import LogError
from log_format.records.arrow_batches import SCHEMA
from log_format.spark_source import RECORDS, DataFolderSource
from tests.unit.log_format.folders import copied, several_segments


@pytest.fixture
def data(tmp_path: Path) -> Path:
    log = several_segments()
    log.close()
    return copied(log, tmp_path)


def test_the_records(data: Path) -> None:
    source = DataFolderSource({"path": str(data), "maxPartitionBytes": "500"})
    assert source.name() == "kafka-folder" and source.schema() == RECORDS
    reader = source.reader(StructType())
    parts = reader.partitions()
    assert len(parts) > 2
    offsets = []
    for part in pickle.loads(pickle.dumps(parts)):
        for batch in pickle.loads(pickle.dumps(reader)).read(part):
            assert batch.schema == SCHEMA
            offsets += batch.column("offset").to_pylist()
    assert offsets == list(range(24))
    assert list(reader.read(None)) == [], "what Spark asks where there are no parts"


def test_the_partitions(data: Path) -> None:
    source = DataFolderSource({"path": str(data), "VIEW": "partitions"})
    assert source.schema().startswith("topic STRING, partition INT")
    reader = source.reader(StructType())
    [part] = reader.partitions()
    [batch] = reader.read(part)
    [row] = batch.to_pylist()
    assert {key: row[key] for key in ("topic", "logStartOffset", "endOffset", "notes")} == {
        "topic": "topic",
        "logStartOffset": 0,
        "endOffset": 24,
        "notes": [],
    }
    assert ", ".join(one.partition(" ")[0] for one in source.schema().split(", ")) == ", ".join(
        batch.schema.names
    )


def test_options_are_checked_before_anything_is_read() -> None:
    with pytest.raises(LogError, match="view is x"):
        DataFolderSource({"path": "/nowhere", "view": "x"}).schema()
    with pytest.raises(LogError, match="no folder is named"):
        DataFolderSource({}).schema()
