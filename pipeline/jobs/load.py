"""The job `load`: what a topic holds since the last run, into a table of Parquet by date and hour.

A bounded batch: it ends at the offsets that the topic had when it began. The offsets live in the
table itself (`pipeline.tables.loaded_table`), so that rows and offsets are committed as one; no
consumer group takes part. It may be run twice, or killed at any moment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from pipeline.errors import PipelineError
from pipeline.jobs.generate import TOPIC
from pipeline.spark import connection, kafka_source
from pipeline.tables.loaded_table import LoadedTable, layout
from pipeline.topics import Cluster, Offsets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    connection.add_arguments(parser)
    parser.add_argument("--topic", default=TOPIC)
    parser.add_argument("--table", default="pipeline-data/events", help="a folder, or its URI")


def check(options: argparse.Namespace) -> None:
    """What can be known before Spark starts; PipelineError where the topic is missing."""
    Cluster(connection.connection_of(options)).partitions(options.topic)


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Load once; the exit code."""
    source = connection.connection_of(options)
    cluster = Cluster(source)
    offsets = cluster.offsets(options.topic)
    cluster_id = cluster.cluster_id()
    table = LoadedTable(spark, options.table)
    reached = table.ends(options.topic, cluster_id)
    finished = table.finish_last()
    if finished:
        _say(f"finished the last run, which had been stopped: {finished} files put in place")
    starts, ends = to_read(options.topic, offsets, reached)
    wanted = sum(ends.values()) - sum(starts.values())
    if wanted == 0:
        _say(f"nothing new in {options.topic}")
        return 0
    _say(f"{wanted:,} offsets of {options.topic} are new")
    records = kafka_source.batch(spark, source, options.topic, starts, ends)
    done = table.write(layout(records), options.topic, cluster_id, starts, ends)
    _say(
        f"run {done.run}: {wanted:,} offsets of {len(starts)} partitions of {options.topic} into "
        f"{len(done.files)} files of {options.table}"
    )
    return 0


def to_read(
    topic: str, offsets: Mapping[int, Offsets], reached: Mapping[int, int]
) -> tuple[dict[int, int], dict[int, int]]:
    """From where to where, by partition. PipelineError where records are gone, or a new topic is
    under the old name. A partition that is new is read from its start."""
    starts, ends = {}, {}
    for partition, there in offsets.items():
        start = reached.get(partition, there.start)
        if start < there.start:
            raise PipelineError(
                f"offsets {start} to {there.start - 1} of {topic}-{partition} were deleted before "
                "they were loaded: load into another --table to begin where the topic begins now"
            )
        if start > there.end:
            raise PipelineError(
                f"the table holds {topic}-{partition} up to offset {start}, the topic ends at "
                f"{there.end}: it was made anew; load it into another --table"
            )
        starts[partition], ends[partition] = start, there.end
    return starts, ends


def _say(text: str) -> None:
    print(f"load: {text}", file=sys.stderr, flush=True)
