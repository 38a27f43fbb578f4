"""The snapshots of Iceberg that count, and what they say."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import Row

from pipeline.tables.iceberg_table import last_run, lineage, said
from pipeline.tables.progress import KEY, Progress


def snapshot(number: int, parent: int | None, **summary: str) -> Row:
    named = {name.replace("_", "-"): text for name, text in summary.items()}
    return Row(snapshot_id=number, parent_id=parent, summary=named)


def test_a_snapshot_says_what_the_staged_one_said_that_it_published() -> None:
    one = Progress("t", "id", 2, {}, {0: 9})
    staged = Row(snapshot_id=3, parent_id=1, summary={KEY: one.text(), "wap.id": "x:2"})
    published = snapshot(4, 2, source_snapshot_id="3", published_wap_id="x:2")
    there = {1: snapshot(1, None), 2: snapshot(2, 1), 3: staged, 4: published}
    assert [row.snapshot_id for row in lineage(there, 4)] == [4, 2, 1]
    assert said(there[4], there) == one and said(there[2], there) is None
    assert lineage(there, None) == []
    del there[3]
    assert said(there[4], there) is None
    assert last_run(lineage(there, 4)) == 2 and last_run([]) == 0
