"""The sources of a job's records: a cluster that runs, or folders that a broker has left.

Owns the option `--from-folder`, and what a job asks of both sources: which cluster wrote the topic
(so a table of one source goes on from the other), which offsets each partition has, and the records
between two offsets.
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
"""The cluster id of folders without the `meta.properties` of their broker."""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic at one moment."""

    cluster_id: str
    """The id of the cluster that wrote the topic."""
    topic_id: str | None
    """None if the cluster gives no id, or the folders have none."""
    offsets: Mapping[int, Offsets]
    """The offsets between which each partition can be read."""
    has_all_partitions: bool = True
    """Whether `offsets` has all partitions of the topic; folders may hold a few of them."""


class Source(Protocol):
    """A topic's records. Each method raises PipelineError, or Spark's errors."""

    def state(self) -> TopicState:
        """Return the present state of the topic."""
        ...

    def topic_id(self) -> str | None:
        """Return the present id of the topic; of folders, which do not change, the last one."""
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
        """Return records from `starts` to before `ends`, the same partitions in both.

        `any_time`: as in `kafka_source.batch`.
        """
        ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a job that reads a topic of a cluster or of folders."""
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
    """Check what can be known before Spark starts. Raises PipelineError if the topic is missing."""
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
    """Return the source that the options name."""
    if options.from_folder is None:
        return _OfCluster(spark, reading(options), options.topic)
    return _OfFolder(spark, options.from_folder, options.topic, _folder_options(options))


def reading(options: argparse.Namespace) -> Connection:
    """Return the connection with `read_committed`, unless the options have another level."""
    there = connection.connection_of(options)
    return Connection(there.servers, {connection.ISOLATION: "read_committed", **there.options})


def _folder_options(options: argparse.Namespace) -> dict[str, str]:
    """Return the options of the Data Source; each may begin with `kafka.`, as for a cluster."""
    given = connection.connection_of(options).options
    return {key.removeprefix(connection.KAFKA): text for key, text in given.items()}


class _OfCluster:
    def __init__(self, spark: SparkSession, connection: Connection, topic: str) -> None:
        self._spark, self._connection, self._topic = spark, connection, topic
        self._cluster = Cluster(connection)

    def state(self) -> TopicState:
        # The id before the offsets: a topic that is made again in between has another id at the
        # next look, so its records are not taken for those of the old topic.
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
        self._said: list[str] = []

    def state(self) -> TopicState:
        partitions = folder_source.partitions(self._spark, self._path, self._topic, self._options)
        self._topic_id = next((there.topic_id for there in partitions if there.topic_id), None)
        for there in partitions:
            for note in there.notes:
                self._say_once(note)
            if there.end < there.log_end:
                self._say_once(
                    f"{there.topic}-{there.partition}: offsets from {there.end} to "
                    f"{there.log_end - 1} are not read: a transaction is open there, or the high "
                    "watermark lies before"
                )
        self._offsets = {there.partition: Offsets(there.start, there.end) for there in partitions}
        cluster_id = partitions[0].cluster_id or UNKNOWN_CLUSTER
        return TopicState(cluster_id, self._topic_id, self._offsets, has_all_partitions=False)

    def topic_id(self) -> str | None:
        return self._topic_id

    def first_from(self, time_ms: int) -> dict[int, int]:
        offsets = self._offsets
        starts = {index: there.start for index, there in offsets.items()}
        ends = {index: there.end for index, there in offsets.items()}
        later = self.batch(starts, ends, any_time=True).where(record_time_ms() >= time_ms)
        rows = later.groupBy("partition").agg(F.min("offset").alias("first")).collect()
        return {row["partition"]: row["first"] for row in rows}

    def cut_off(self, positions: Mapping[int, Position]) -> list[int]:
        return []  # folders give no leader epochs

    def batch(
        self, starts: Mapping[int, int], ends: Mapping[int, int], any_time: bool
    ) -> DataFrame:
        return folder_source.batch(  # this source can read every time
            self._spark, self._path, self._topic, starts, ends, self._options
        )

    def _say_once(self, note: str) -> None:
        """Print a note, unless this source has printed it before."""
        if note not in self._said:
            self._said.append(note)
            print(f"{self._path}: {note}", file=sys.stderr, flush=True)
