"""Folders of a broker as Spark reads them without one: `log_format`'s Data Source in a session.

Owns how that package reaches Spark's workers, as an artifact of the session (which Spark Connect
takes, too), and the options that a job sets. Which folders there are, only Spark's machines know:
what this machine must not do is to look for them.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pipeline.spark.kafka_source import offsets_json

PACKAGE = "log_format"
_WRITTEN = (2000, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class FolderPartition:
    """One partition of a folder: offsets from `start` to before `end` are what a job may read."""

    topic: str
    partition: int
    topic_id: str | None
    cluster_id: str | None
    start: int
    end: int
    log_end: int
    """One past the last offset that is there: above `end` where a transaction is open."""
    notes: tuple[str, ...]


def partitions(
    spark: SparkSession, path: str, topic: str | None, options: Mapping[str, str]
) -> list[FolderPartition]:
    """What a folder, or several with commas, has of a topic; of all but Kafka's own without one."""
    rows = _reader(spark, path, topic, {**options, "view": "partitions"}).collect()
    return [
        FolderPartition(
            row["topic"],
            row["partition"],
            row["topicId"],
            row["clusterId"],
            row["startOffset"],
            row["endOffset"],
            row["logEndOffset"],
            tuple(row["notes"]),
        )
        for row in rows
    ]


def batch(
    spark: SparkSession,
    path: str,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    options: Mapping[str, str],
) -> DataFrame:
    """A topic from `starts` to before `ends`: as `pipeline.spark.kafka_source.batch` gives it."""
    of_these = {
        "assign": json.dumps({topic: sorted(starts)}),
        "startingOffsets": offsets_json(topic, starts),
        "endingOffsets": offsets_json(topic, ends),
    }
    return _reader(spark, path, None, {**options, **of_these})


def _reader(
    spark: SparkSession, path: str, topic: str | None, options: Mapping[str, str]
) -> DataFrame:
    from log_format.spark_source import FORMAT, DataFolderSource

    send_package(spark)
    spark.dataSource.register(DataFolderSource)
    reader = spark.read.format(FORMAT).options(**options)
    if topic is not None:
        reader = reader.option("subscribe", topic)
    return reader.load(path)


def send_package(spark: SparkSession) -> None:
    """Give the session's workers the package. The same again is no matter: it has the same name."""
    spark.addArtifacts(str(_artifact()), pyfile=True)


@cache
def _artifact() -> Path:
    """The file, for as long as this process lives: workers fetch it when they have a task."""
    content = packed()
    folder = tempfile.mkdtemp(prefix="ottla-artifact-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder) / f"{PACKAGE}-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    file.write_bytes(content)
    return file


def packed() -> bytes:
    """The package as a zip from which Python imports; the same bytes each time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(_sources(files(PACKAGE), PACKAGE)):
            archive.writestr(zipfile.ZipInfo(name, _WRITTEN), text)
    return out.getvalue()


def _sources(folder: Traversable, name: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for one in folder.iterdir():
        path = f"{name}/{one.name}"
        if one.is_dir() and one.name != "__pycache__":
            found += _sources(one, path)
        elif one.name.endswith(".py"):
            found.append((path, one.read_bytes()))
    return found
