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

_SENT = re.compile(r"generate: ([\d,]+) of [\d,]+ \(\d+ %\), ([\d,]+)/s")
_ALL_SENT = re.compile(r"generate: done: ([\d,]+) records")
_BATCH = re.compile(
    r"stream: aggregates: batch (\d+), ([\d,]+) records in ([\d.]+) s, [\d,]+/s, ([\d,]+) behind"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """What the generator said. Times in seconds since the run began."""

    heard_s: float
    records: int
    """Of all that it sent until then."""
    rate: float
    """Records a second since the time before."""


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

    sent: list[Sent] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    behind: list[tuple[float, int]] = field(default_factory=list)
    """When a batch was heard of, and records of the topic that none had read then."""
    marks: list[tuple[float, str]] = field(default_factory=list)
    ui: str = ""
    """Where Spark's own pages were, while the stream ran."""

    def hear(self, at_s: float, line: str) -> None:
        """One line of a job."""
        if found := _SENT.search(line):
            self.sent.append(Sent(at_s, int(_number(found[1])), _number(found[2])))
        elif found := _ALL_SENT.search(line):
            self.sent.append(Sent(at_s, int(_number(found[1])), 0.0))
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
            sent=[Sent(**one) for one in found["sent"]],
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
    first = min((one.heard_s for one in run.sent), default=0.0)
    took = sum(one.records for one in run.batches)
    found.lines.append(
        f"{len(run.batches):,} batches of the stream took {took:,} records{_untold(run.batches)}. "
        "Times are seconds since the demo began; a dashed line is a mark of the table."
    )
    if run.ui:
        found.lines.append(f"Spark's own pages, while the stream ran: {run.ui}")
    marks = [Mark(at, str(number)) for number, (at, _) in enumerate(run.marks, 1)]
    times = [one.heard_s for one in run.sent] + [at for at, _ in (*run.behind, *run.marks)]
    span = (max(0.0, first - 5), max(times, default=1.0))
    sent = [(one.heard_s, one.rate) for one in run.sent]
    for title, unit, series in (
        (
            "Records a second",
            "records/s",
            [Timed("sent", [sent] if sent else []), Timed("processed", _steps(run.batches))],
        ),
        ("Behind: sent, and in no batch yet", "records", [Timed("", _behind(run))]),
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


def _untold(batches: list[Batch]) -> str:
    """Of batches whose job was killed between their commit and its line: they are counted from 0,
    and the next job goes on behind them."""
    numbers = {one.number for one in batches}
    untold = max(numbers, default=-1) + 1 - len(numbers)
    if not untold:
        return ""
    return f"; {untold:,} more took the rest, and the job was killed before it could say so"


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


def _behind(run: Timeline) -> list[list[tuple[float, float]]]:
    """What a batch says, and between two of them that and what was sent since: also while no
    stream job is there to say it."""
    points: list[tuple[float, float]] = []
    said, sent_then, sent_now = 0.0, 0, 0
    # Of one instant what was sent goes first: a batch knows of it.
    events = [(one.heard_s, 0, one.records) for one in run.sent]
    events += [(at, 1, behind) for at, behind in run.behind]
    for at, is_batch, number in sorted(events):
        if is_batch:
            said, sent_then = number, sent_now
        else:
            sent_now = number
        points.append((at, said + sent_now - sent_then))
    return [points] if points else []


def _number(text: str) -> float:
    return float(text.replace(",", ""))
