"""The rows of a small frame; `tests/compat/spark/test_topics_to_table.py` has the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import on_spark, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@on_spark
def test_a_row_for_each_record_and_its_text(spark: SparkSession) -> None:
    from pipeline.topics_to_table import rows

    found = rows(records(spark, b"one", b"\xff2", None)).orderBy("offset").collect()
    assert [(row.offset, row.key, row.value) for row in found] == [
        (0, "S1", "one"),
        (1, "S1", "\ufffd2"),
        (2, "S1", None),
    ]
    assert (found[0].topic, found[0].partition) == ("t", 0)
