"""The small decisions of the audit: what manifests cover."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.jobs.audit import loaded_ranges
from pipeline.tables.loaded_table import Manifest


def manifest(run: int, starts: dict[str, int], ends: dict[str, int]) -> Manifest:
    return Manifest(run, "t", "id", starts, ends, "s", ["date=d/hour=1/part-a.parquet"])


def test_runs_one_behind_the_other() -> None:
    runs = [manifest(1, {"0": 3}, {"0": 9}), manifest(2, {"0": 9, "1": 0}, {"0": 12, "1": 4})]
    assert loaded_ranges(runs) == ({0: (3, 12), 1: (0, 4)}, [])


def test_a_hole_between_runs() -> None:
    runs = [manifest(1, {"0": 3}, {"0": 9}), manifest(2, {"0": 10}, {"0": 12})]
    assert loaded_ranges(runs)[1] == ["run 2 begins partition 0 at 10, not 9"]


def test_where_a_run_puts_its_files() -> None:
    assert manifest(7, {}, {}).placed() == ["date=d/hour=1/run-000007-00000.parquet"]
