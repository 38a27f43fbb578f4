"""A run in time, from the lines that its jobs say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.auditing import timeline
from pipeline.auditing.report import html
from pipeline.auditing.timeline import Batch, Sent, Timeline
from pipeline.errors import PipelineError
from pipeline.jobs.generate import Progress
from pipeline.tables.stream_progress import QueryView


def batch(number: int, rows: int, behind: int, name: str = "aggregates") -> str:
    view = QueryView(name, number, rows, 500.0, behind, 0, "2026-03-02T10:11", seconds=4.0)
    return f"stream: {view.line()}"


def heard() -> Timeline:
    run = Timeline(ui="http://127.0.0.1:4040")
    clock = iter([0.0, 2.0])
    sent = Progress(1_000, clock.__next__).at(500, 1_772_409_600_000)
    run.hear(3, f"generate: {sent}")
    run.hear(9, batch(0, 2_000, 300))
    run.hear(10, batch(0, 2_000, 900))
    run.mark(12, "kill -9 7: the stream job is gone")
    run.hear(19, batch(1, 4_000, 0))
    run.hear(20, batch(1, 10, 0, "dead-letters"))
    run.hear(21, "generate: done: 1,000 records acknowledged in 2.0 s, 500/s (seed 1)")
    return run


def test_what_the_jobs_say_is_understood() -> None:
    run = heard()
    assert run.sent == [Sent(3, 500, 250), Sent(21, 1_000, 0)]
    assert run.batches == [Batch(9, 0, 2_000, 4.0, 300), Batch(19, 1, 4_000, 4.0, 0)]
    assert run.behind == [(9, 300), (10, 900), (19, 0)], "the first batch was said twice"


def test_it_goes_through_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    heard().write(file)
    assert timeline.read(str(file)) == heard()
    file.write_text("{}")
    with pytest.raises(PipelineError, match="--run .* is no file that the demo wrote"):
        timeline.read(str(file))
    with pytest.raises(PipelineError, match="--run .*No such file"):
        timeline.read(str(tmp_path / "none"))


def test_the_section_has_each_plot_once_with_its_marks() -> None:
    found = timeline.section(heard())
    assert [plot.title for plot in found.plots] == [
        "Records a second",
        "Behind: sent, and in no batch yet",
        "Duration of each batch",
    ]
    assert all(plot.svg.count('class="mark"') == 1 for plot in found.plots)
    # A batch is level for as long as it took.
    assert [plot.svg.count("<polyline") for plot in found.plots] == [3, 1, 2]
    assert found.tables[0].rows == [["1", "12 s", "kill -9 7: the stream job is gone"]]
    page = html("Audit", [], [found], [])
    assert "http://127.0.0.1:4040" in page and 'class="words"' in page


def test_a_batch_whose_job_was_killed_before_it_said_so_is_missed() -> None:
    run = heard()
    assert "2 batches of the stream took 6,000 records. Times" in timeline.section(run).lines[0]
    run.hear(30, batch(4, 1_000, 0))
    (said, *_) = timeline.section(run).lines
    assert said.startswith("3 batches of the stream took 7,000 records; 2 more took the rest, and")


def test_it_falls_behind_also_while_no_stream_job_says_so() -> None:
    run = Timeline()
    run.sent = [Sent(2, 1_000, 500), Sent(4, 2_000, 500), Sent(8, 4_000, 500), Sent(9, 4_000, 0)]
    run.behind = [(4, 700), (9, 1_500), (12, 0)]
    assert timeline._behind(run) == [
        [(2, 1_000), (4, 2_000), (4, 700), (8, 2_700), (9, 2_700), (9, 1_500), (12, 0)]
    ]


def test_a_run_of_nothing_is_a_section_too() -> None:
    found = timeline.section(Timeline())
    assert "0 batches" in found.lines[0] and found.tables == [] and len(found.plots) == 3
