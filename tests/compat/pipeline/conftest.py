"""One SparkSession, as the jobs make it, for all files here; and what PySpark leaves behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """The session of this process: started by the first module, found by the next ones.

    It is left running: a start takes longer than the tests of a module. Whoever wants a session of
    other settings stops it first (`tests.compat.spark_session`).
    """
    from pipeline.columns.avro.avro_fields import PACKAGE
    from pipeline.command import parser_for
    from pipeline.jobs.table import needs_of
    from pipeline.spark.session import make_session
    from pipeline.tables.table import FORMATS
    from tests.tools.spark_jvm import end_jvm_of_others

    small = ["--conf", "spark.driver.memory=512m", "--conf", "spark.sql.shuffle.partitions=1"]
    options = parser_for("load").parse_args(["load", "--master", "local[1]", *small])
    needs = needs_of(FORMATS, options)
    end_jvm_of_others("ottla-frames")
    yield make_session("frames", options, replace(needs, packages=(*needs.packages, PACKAGE)))
    gc.collect()  # sockets that PySpark left open: here, where the module expects the warning
