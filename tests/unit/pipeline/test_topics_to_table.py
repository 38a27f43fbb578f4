"""Rows of a small frame, and what is said of a query; the program is in tests/compat."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from tests.unit.pipeline.small_frames import on_spark, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")


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


def test_each_batch_with_records_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    from pipeline.topics_to_table import follow

    seen = [None, (0, 7), (0, 7), (1, 0), (2, 1_200)]

    class Query:
        def awaitTermination(self, timeout: int) -> bool:
            one = seen.pop(0)
            self.lastProgress = one and SimpleNamespace(batchId=one[0], numInputRows=one[1])
            return not seen

    follow(Query(), "/t")  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines() == [
        "batch 0: 7 records into /t",
        "batch 2: 1,200 records into /t",
    ]
