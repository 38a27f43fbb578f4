"""What a report says of the sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from pipeline.auditing import audit_sections
from tests.compat.pipeline.small_frames import events, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@on_spark
def test_sums_and_alerts(spark: SparkSession) -> None:
    from pipeline.tables import aggregates

    many = [{"dropped": n < 6, "cell": "bad"} for n in range(20)]
    sums = aggregates.summed(events(spark, *many, {"kind": "data"}), "1 hour", 0.15)
    section = audit_sections.of_sums(sums)
    assert section.lines == ["21 events, 20 calls, 6 dropped, 1 alert of cells"]
    assert section.tables[0].rows == [["bad", "2026-03-02 11:00", "20", "6", "30.0%"]]
    assert len(section.plots) == 2
