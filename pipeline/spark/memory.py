"""A second try, with fewer records at a time, of work for which Spark had too little memory.

A task polls a number of records from Kafka (`pipeline.spark.kafka_source`), and gives a number of
records to the executor's Python (`pipeline.spark.session`), of which several copies are in memory.
A limit in bytes for Python is exact, but costs 50 µs of CPU a record. So a job has small polls and
this limit only after its records were too large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from pipeline.errors import lacks_memory

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_SMALL = str(4 * 1024 * 1024)
T = TypeVar("T")


def is_short(spark: SparkSession) -> bool:
    """Return whether the session was short of memory, and so has to read few records at a time."""
    return spark.conf.get(_BATCH_BYTES, None) == _SMALL


def with_memory(spark: SparkSession, work: Callable[[], T], again: Callable[[], None]) -> T:
    """Return the result of `work`. If Spark had too little memory for it, call `again`, make the
    session short of memory, and call `work` a second time. Raises the errors of `work`."""
    try:
        return work()
    except Exception as error:
        if not lacks_memory(error) or is_short(spark):
            raise
    again()
    spark.conf.set(_BATCH_BYTES, _SMALL)
    return work()
