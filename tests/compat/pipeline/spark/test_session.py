"""A session that the jobs have made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@on_spark
def test_executors_use_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == sys.executable
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
