"""A run in time: what was sent and processed a second, how far behind, how long each batch took.

From the lines that `generate` and `stream` say, and when they were heard, to a section of the
report; what was killed meanwhile stands in each plot as a mark. Pure but for one file of JSON, by
which the demo gives it to the audit.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pipeline.auditing.charts import Mark, Timed, over_time
from pipeline.auditing.report import Plot, Section, Table
from pipeline.errors import PipelineError

_SENT = re.compile(r"generate: [\d,]+ of [\d,]+ \(\d+ %\), ([\d,]+)/s")
_ALL_SENT = re.compile(r"generate: done: ")
_BATCH = re.compile(
    r"stream: aggregates: batch (\d+), ([\d,]+) records in ([\d.]+) s, [\d,]+/s, ([\d,]+) behind"
)


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of the sums, as it was heard of. Times in seconds since the run began."""

    heard_s: float
    number: int
    records: int
    seconds: float
    behind: int


@dataclass(slots=True)
class Timeline:
    """What was heard."""

    sent: list[tuple[float, float]] = field(default_factory=list)
    """When, and records a second since the time before."""
    batches: list[Batch] = field(default_factory=list)
    behind: list[tuple[float, int]] = field(default_factory=list)
    """When, and records of the topic that no batch had read."""
    marks: list[tuple[float, str]] = field(default_factory=list)
    ui: str = ""
    """Where Spark's own pages were, while the stream ran."""

    def hear(self, at_s: float, line: str) -> None:
        """One line of a job."""
        if found := _SENT.search(line):
            self.sent.append((at_s, _number(found[1])))
        elif _ALL_SENT.search(line):
            self.sent.append((at_s, 0))
        elif found := _BATCH.search(line):
            records = int(_number(found[2]))
            batch = Batch(at_s, int(found[1]), records, float(found[3]), int(_number(found[4])))
            self.behind.append((at_s, batch.behind))
            last = self.batches[-1] if self.batches else None
            # Said again where only the distance to the topic's end is new.
            if last is None or (last.number, last.records) != (batch.number, records):
                self.batches.append(batch)

    def mark(self, at_s: float, what: str) -> None:
        """Something was done to the run."""
        self.marks.append((at_s, what))

    def write(self, file: Path) -> None:
        """For `read`."""
        file.write_text(json.dumps(asdict(self)) + "\n", "utf-8")


def read(path: str) -> Timeline:
    """PipelineError where the file is none that `Timeline.write` wrote."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        return Timeline(
            sent=[(at, rate) for at, rate in found["sent"]],
            batches=[Batch(**one) for one in found["batches"]],
            marks=[(at, what) for at, what in found["marks"]],
            behind=[(at, number) for at, number in found["behind"]],
            ui=found["ui"],
        )
    except OSError as error:
        raise PipelineError(f"--run {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise PipelineError(f"--run {path} is no file that the demo wrote") from error


def section(run: Timeline) -> Section:
    """The run for the report."""
    found = Section("the run in time")
    first = min((at for at, _ in run.sent), default=0.0)
    took = sum(one.records for one in run.batches)
    found.lines.append(
        f"{len(run.batches):,} batches of the stream took {took:,} records. Times are seconds "
        "since the demo began; a dashed line is a mark of the table."
    )
    if run.ui:
        found.lines.append(f"Spark's own pages, while the stream ran: {run.ui}")
    marks = [Mark(at, str(number)) for number, (at, _) in enumerate(run.marks, 1)]
    times = [at for at, *_ in (*run.sent, *run.behind, *run.marks)]
    span = (max(0.0, first - 5), max(times, default=1.0))
    breaks = [at for at, what in run.marks if "stream" in what]
    processed = _steps(run.batches)
    for title, unit, series in (
        (
            "Records a second",
            "records/s",
            [Timed("sent", _split(run.sent, [])), Timed("processed", processed)],
        ),
        ("Behind: sent, and in no batch yet", "records", [Timed("", _split(run.behind, breaks))]),
        (
            "Duration of each batch",
            "s",
            [Timed("", [[(one.heard_s, 0), (one.heard_s, one.seconds)] for one in run.batches])],
        ),
    ):
        found.plots.append(Plot(title, over_time(series, unit, span, marks)))
    if run.marks:
        rows = [[str(n), f"{at:.0f} s", what] for n, (at, what) in enumerate(run.marks, 1)]
        found.tables.append(Table(["mark", "after", "what was done"], rows, words=True))
    return found


def _steps(batches: list[Batch]) -> list[list[tuple[float, float]]]:
    """Each batch as a level line from its begin to its end, as high as its records a second."""
    runs = []
    end = 0.0
    for one in batches:
        begin = max(end, one.heard_s - one.seconds)
        end = one.heard_s
        if one.records and one.seconds:
            rate = one.records / one.seconds
            runs.append([(begin, rate), (end, rate)])
    return runs


def _split(
    points: list[tuple[float, float]] | list[tuple[float, int]], breaks: list[float]
) -> list[list[tuple[float, float]]]:
    """The points as lines, cut where the process that said them was another one."""
    runs: list[list[tuple[float, float]]] = [[]]
    left = sorted(breaks)
    for at, value in points:
        while left and at > left[0]:
            left.pop(0)
            runs.append([])
        runs[-1].append((at, value))
    return [run for run in runs if run]


def _number(text: str) -> float:
    return float(text.replace(",", ""))
