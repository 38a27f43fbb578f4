"""A second try, with smaller batches, of work for which Spark had too little memory.

Spark gives an executor's Python a number of records at a time (`pipeline.spark.session`), which
holds several copies of them in memory. A limit in bytes is exact, but costs 50 µs of CPU a record.
So a job has this limit only from the moment on in which its records were too large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from pipeline.errors import lacks_memory

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_SMALL = str(4 * 1024 * 1024)
T = TypeVar("T")


def with_memory(spark: SparkSession, work: Callable[[], T], again: Callable[[], None]) -> T:
    """Return the result of `work`. If Spark had too little memory for it, call `again`, limit the
    batches for the executors' Python in bytes, and call `work` a second time.

    The session keeps the limit. Raises the errors of `work`.
    """
    try:
        return work()
    except Exception as error:
        if not lacks_memory(error) or spark.conf.get(_BATCH_BYTES, None) == _SMALL:
            raise
    again()
    spark.conf.set(_BATCH_BYTES, _SMALL)
    return work()
