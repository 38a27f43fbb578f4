"""Where a job's records come from: a cluster that runs, or folders that a broker has left.

Owns the option `--from-folder` and what a job asks of either: which cluster it is (a table goes on
from a folder with what it has of the cluster itself, and the other way round), from where to where
each partition can be read, and a batch between two offsets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.errors import PipelineError
from pipeline.options import check_there
from pipeline.record_times.bounded import time_ms as record_time_ms
from pipeline.spark import connection, folder_source, kafka_source
from pipeline.spark.connection import Connection
from pipeline.topics import Cluster, Offsets, Position

UNKNOWN_CLUSTER = "unknown"
"""Of folders without the `meta.properties` of their broker."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic at one moment."""

    cluster_id: str
    """Of the cluster that wrote it."""
    topic_id: str | None
    """None where the cluster gives none, or the folders keep none."""
    offsets: Mapping[int, Offsets]
    """From where to where each partition can be read."""
    has_all_partitions: bool = True
    """Whether these are all that the topic has; a folder may hold a few of them."""


class Source(Protocol):
    """A topic's records, whoever has them. Each method raises PipelineError, or Spark's errors."""

    def state(self) -> TopicState:
        """The topic now."""
        ...

    def topic_id(self) -> str | None:
        """The id of the topic now; of folders, which nobody writes, at the last `state`."""
        ...

    def first_from(self, time_ms: int) -> dict[int, int]:
        """Return the first offset with this time (ms since the epoch) or a later one, of each
        partition that has one."""
        ...

    def cut_off(self, positions: Mapping[int, Position]) -> list[int]:
        """Return the partitions whose log ended before its position at some time since then."""
        ...

    def batch(
        self, starts: Mapping[int, int], ends: Mapping[int, int], any_time: bool
    ) -> DataFrame:
        """Records from `starts` to before `ends`, the same partitions in both; `any_time` as in
        `kafka_source.batch`."""
        ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a job that reads a topic of a cluster or of folders."""
    connection.add_arguments(parser)
    group = parser.add_argument_group("without a cluster")
    group.add_argument(
        "--from-folder",
        metavar="PATH",
        help="Read a copied data folder of Ottla or Apache Kafka, or the folder of a partition; "
        "separate several with commas. --option then sets isolation.level, bound, damage or "
        "check.crcs.",
    )


def check(options: argparse.Namespace) -> None:
    """What can be known before Spark starts; PipelineError where the topic is missing."""
    if options.from_folder is None:
        Cluster(reading(options)).partitions(options.topic)
        return
    from log_format.damage import LogError
    from log_format.survey import read_options

    try:
        read_options({"path": options.from_folder, **_folder_options(options)})
    except LogError as error:
        raise PipelineError(f"--from-folder: {error}") from error
    for path in options.from_folder.split(","):
        check_there("--from-folder", path)


def source_of(spark: SparkSession, options: argparse.Namespace) -> Source:
    """The one that the options name."""
    if options.from_folder is None:
        return _OfCluster(spark, reading(options), options.topic)
    return _OfFolder(spark, options.from_folder, options.topic, _folder_options(options))


def reading(options: argparse.Namespace) -> Connection:
    """The cluster as these jobs read it: what transactions took back is in no table."""
    there = connection.connection_of(options)
    return Connection(there.servers, {connection.ISOLATION: "read_committed", **there.options})


def _folder_options(options: argparse.Namespace) -> dict[str, str]:
    """As the Data Source takes them; `kafka.` may stand in front, as it does for a cluster."""
    given = connection.connection_of(options).options
    return {key.removeprefix(connection.KAFKA): text for key, text in given.items()}


class _OfCluster:
    def __init__(self, spark: SparkSession, connection: Connection, topic: str) -> None:
        self._spark, self._connection, self._topic = spark, connection, topic
        self._cluster = Cluster(connection)

    def state(self) -> TopicState:
        # The id before the offsets: a topic that is made again in between has another id at the
        # next look, so what was read of it is not taken for the old one's.
        cluster_id, topic_id = self._cluster.cluster_id(), self.topic_id()
        return TopicState(cluster_id, topic_id, self._cluster.offsets(self._topic))

    def topic_id(self) -> str | None:
        return self._cluster.topic_id(self._topic)

    def first_from(self, time_ms: int) -> dict[int, int]:
        return self._cluster.first_from(self._topic, time_ms)

    def cut_off(self, positions: Mapping[int, Position]) -> list[int]:
        return self._cluster.cut_off(self._topic, positions)

    def batch(
        self, starts: Mapping[int, int], ends: Mapping[int, int], any_time: bool
    ) -> DataFrame:
        return kafka_source.batch(
            self._spark, self._connection, self._topic, starts, ends, any_time=any_time
        )


class _OfFolder:
    def __init__(
        self, spark: SparkSession, path: str, topic: str, options: Mapping[str, str]
    ) -> None:
        self._spark, self._path, self._topic, self._options = spark, path, topic, options
        self._topic_id: str | None = None
        self._offsets: dict[int, Offsets] = {}
        self._told: list[str] = []

    def state(self) -> TopicState:
        found = folder_source.partitions(self._spark, self._path, self._topic, self._options)
        self._topic_id = next((one.topic_id for one in found if one.topic_id), None)
        for one in found:
            for note in one.notes:
                self._tell(note)
            if one.end < one.log_end:
                self._tell(
                    f"{one.topic}-{one.partition}: offsets from {one.end} to {one.log_end - 1} are "
                    "not read: a transaction is open there, or the high watermark lies before"
                )
        self._offsets = {one.partition: Offsets(one.start, one.end) for one in found}
        cluster_id = found[0].cluster_id or UNKNOWN_CLUSTER
        return TopicState(cluster_id, self._topic_id, self._offsets, has_all_partitions=False)

    def topic_id(self) -> str | None:
        return self._topic_id

    def first_from(self, time_ms: int) -> dict[int, int]:
        offsets = self._offsets
        starts = {one: there.start for one, there in offsets.items()}
        ends = {one: there.end for one, there in offsets.items()}
        later = self.batch(starts, ends, any_time=True).where(record_time_ms() >= time_ms)
        rows = later.groupBy("partition").agg(F.min("offset").alias("first")).collect()
        return {row["partition"]: row["first"] for row in rows}

    def cut_off(self, positions: Mapping[int, Position]) -> list[int]:
        return []  # no leader has written these folders: their epochs are not known here

    def batch(
        self, starts: Mapping[int, int], ends: Mapping[int, int], any_time: bool
    ) -> DataFrame:
        return folder_source.batch(  # it has every time
            self._spark, self._path, self._topic, starts, ends, self._options
        )

    def _tell(self, note: str) -> None:
        """Once."""
        if note not in self._told:
            self._told.append(note)
            print(f"{self._path}: {note}", file=sys.stderr, flush=True)
