"""What Spark says of a query, as one line when something changed."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.tables.stream_progress import Teller, look


def progress(
    batch: int,
    offsets: Any,
    late: int = 0,
    rows: int = 1_500,
    written: int | None = None,
    watermark: str = "2026-03-02T10:11:12.000Z",
) -> Any:
    said = {
        "batchId": batch,
        "timestamp": f"2026-03-02T10:0{batch}:00.000Z",
        "durationMs": {"triggerExecution": 2_000},
        "numInputRows": rows,
        "processedRowsPerSecond": 750.4,
        "sources": [{"endOffset": offsets}],
        "stateOperators": [{"numRowsDroppedByWatermark": late}, {}],
        "sink": {} if written is None else {"numOutputRows": written},
        "eventTime": {"watermark": watermark},
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
    assert line == (
        "once: batch 3, 1,500 records in 2.0 s, 750/s, 0 behind, watermark 2026-03-02 10:11"
    )
    assert teller.line(view) is None
    moved = look("once", progress(3, {"t": {"0": 5}}), "t", {0: 6})
    assert teller.line(moved) is not None and Teller().line(view) == line
    older = look("once", progress(2, {"t": {"0": 4}}), "t", {0: 6})
    assert teller.line(older) is None


def test_no_watermark_is_said_before_there_is_one() -> None:
    first = progress(0, {"t": {"0": 5}}, watermark="1970-01-01T00:00:00.000Z")
    assert "watermark" not in look("q", first, "t", {0: 5}).line()


def test_a_trigger_that_found_nothing_is_no_news() -> None:
    teller = Teller()
    assert teller.line(look("q", progress(3, {"t": {"0": 5}}), "t", {0: 5}))
    idle = look("q", progress(4, {"t": {"0": 5}}, rows=0), "t", {0: 5})
    assert teller.line(idle) is None
    assert teller.line(look("q", progress(4, {"t": {"0": 5}}, rows=0), "t", {0: 9}))


def test_what_was_refused_is_not_what_was_read() -> None:
    said = progress(3, {"t": {"0": 5}}, written=12)
    line = look("dead-letters", said, "t", {0: 5}).line()
    assert line.startswith("dead-letters: batch 3, 1,500 records read, 12 refused in 2.0 s")
    unknown = look("aggregates", progress(3, {"t": {"0": 5}}, written=-1), "t", {0: 5})
    assert "refused" not in unknown.line()


def test_rows_that_came_too_late_are_said_aloud() -> None:
    view = look("late", progress(1, None, late=7), "t", {0: 5})
    assert view.behind == 5
    assert "7 TOO LATE FOR THE WATERMARK" in str(view.line())
