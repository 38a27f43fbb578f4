"""The job `load`: writes the new records of a topic to a table of Parquet, by date and hour.

Runs the job `table` once, with `--to parquet`, and keeps records as they are.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from pipeline import sources
from pipeline.jobs import table
from pipeline.jobs.generate import TOPIC
from pipeline.options import table_place, topic, whole

_OWN_VALUES = {"to": "parquet", "merge_above": 0}
"""The options of the job `table` that have another value here; all others have their defaults."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
    of_table = argparse.ArgumentParser()
    table.add_arguments(of_table)
    parser.set_defaults(**{**vars(of_table.parse_args(["--topic", TOPIC])), **_OWN_VALUES})
    sources.add_arguments(parser)
    parser.add_argument(
        "--topic",
        type=topic,
        default=TOPIC,
        metavar="TOPIC",
        help="Read this topic. [default: %(default)s]",
    )
    parser.add_argument(
        "--table",
        type=table_place,
        default="pipeline-data/events",
        metavar="PATH",
        help="Write the table to this folder or URI. [default: %(default)s]",
    )
    parser.add_argument(
        "--batch-max",
        type=whole(1),
        default=table.BATCH_MAX,
        metavar="OFFSETS",
        help="Read at most about so many offsets in a run. [default: %(default)s]",
    )
    table.add_offset_arguments(parser)


def check(options: argparse.Namespace) -> None:
    """Check what can be known before Spark starts. Raises PipelineError if the topic is missing."""
    table.check(options)


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Fill the table once, and return the exit code."""
    return table.run(spark, options)
