"""The job `load`: writes the new records of a topic to a table of Parquet, by date and hour.

Runs the job `table` once, with `--to parquet`, and keeps records as they are.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

from pipeline import sources
from pipeline.columns import options as column_options
from pipeline.jobs import table
from pipeline.jobs.generate import TOPIC
from pipeline.options import table_place, topic, whole

# The values of options that only the job `table` has.
_FIXED = {
    "to": "parquet",
    "dead_letters": None,
    "every": None,
    "for_ever": False,
    "file_size": table.FILE_MIB,
    "merge_above": 0,
    "sort_all": False,
    "keep_days": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
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
    columns = argparse.ArgumentParser()
    column_options.add_arguments(columns)
    parser.set_defaults(**vars(columns.parse_args([])), **_FIXED)


def check(options: argparse.Namespace) -> None:
    """Check what can be known before Spark starts. Raises PipelineError if the topic is missing."""
    table.check(options)


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Fill the table once, and return the exit code."""
    return table.run(spark, options)
