"""What Spark says of a query, as one line when something changed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.tables.stream_progress import Teller, look


def progress(batch: int, offsets: Any, late: int = 0) -> Any:
    said = {
        "batchId": batch,
        "numInputRows": 1_500,
        "processedRowsPerSecond": 750.4,
        "sources": [{"endOffset": offsets}],
        "stateOperators": [{"numRowsDroppedByWatermark": late}, {}],
        "eventTime": {"watermark": "2026-03-02T10:11:12.000Z"},
    }
    return SimpleNamespace(json=json.dumps(said))


@pytest.mark.parametrize("form", [lambda o: o, json.dumps])
def test_how_far_behind_it_is(form: Any) -> None:
    view = look("q", progress(3, form({"t": {"0": 5, "1": 10}})), "t", {0: 9, 1: 10, 2: 1})
    assert (view.behind, view.rows, view.batch) == (5, 1_500, 3)


def test_a_line_comes_once() -> None:
    view = look("once", progress(3, {"t": {"0": 5}}), "t", {0: 5})
    teller = Teller()
    line = teller.line(view)
    assert line == "once: batch 3, 1,500 records at 750/s, 0 behind, watermark 2026-03-02 10:11"
    assert teller.line(view) is None
    moved = look("once", progress(3, {"t": {"0": 5}}), "t", {0: 6})
    assert teller.line(moved) is not None and Teller().line(view) == line


def test_rows_that_came_too_late_are_said_aloud() -> None:
    view = look("late", progress(1, None, late=7), "t", {0: 5})
    assert view.behind == 5
    assert "7 TOO LATE FOR THE WATERMARK" in str(view.line())
