"""The course of a run: records sent and processed per second, records behind, length of batches.

Makes a section of the report from the lines that `generate` and `stream` print, and from the times
of these lines. Each plot shows as marks what was killed meanwhile. Pure, except for the file of
JSON by which the demo passes the run to the audit.
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
    """A line of the generator. Times are in seconds since the run began."""

    heard_s: float
    records: int
    """The records that the generator had sent until then, in all."""
    rate: float
    """The records per second since the line before."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the sums, from its line. Times are in seconds since the run began."""

    heard_s: float
    number: int
    records: int
    seconds: float
    """The time that the batch took."""
    behind: int
    """The records of the topic that no batch had read then."""


@dataclass(slots=True)
class Timeline:
    """The lines of a run that its plots need."""

    sent: list[Sent] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    behind: list[tuple[float, int]] = field(default_factory=list)
    """The time of a batch's line, and the records of the topic that no batch had read then."""
    marks: list[tuple[float, str]] = field(default_factory=list)
    """The time of each event, and its sentence."""
    ui: str = ""
    """The address of Spark's own pages while the stream ran."""

    def hear(self, at_s: float, line: str) -> None:
        """Take a line that a job printed. Lines without figures are ignored."""
        if figures := _SENT.search(line):
            self.sent.append(Sent(at_s, int(_number(figures[1])), _number(figures[2])))
        elif figures := _ALL_SENT.search(line):
            self.sent.append(Sent(at_s, int(_number(figures[1])), 0.0))
        elif figures := _BATCH.search(line):
            records = int(_number(figures[2]))
            batch = Batch(
                at_s, int(figures[1]), records, float(figures[3]), int(_number(figures[4]))
            )
            self.behind.append((at_s, batch.behind))
            last = self.batches[-1] if self.batches else None
            # The job repeats a line if only the distance to the topic's end is new.
            if last is None or (last.number, last.records) != (batch.number, records):
                self.batches.append(batch)

    def mark(self, at_s: float, what: str) -> None:
        """Add an event, such as a kill, to the marks of the plots."""
        self.marks.append((at_s, what))

    def write(self, file: Path) -> None:
        """Write the run to a file of JSON, for `read`."""
        file.write_text(json.dumps(asdict(self)) + "\n", "utf-8")


def read(path: str) -> Timeline:
    """Return the run that `Timeline.write` wrote. Raises PipelineError if it cannot be read."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        return Timeline(
            sent=[Sent(**fields) for fields in content["sent"]],
            batches=[Batch(**fields) for fields in content["batches"]],
            marks=[(at, what) for at, what in content["marks"]],
            behind=[(at, number) for at, number in content["behind"]],
            ui=content["ui"],
        )
    except OSError as error:
        raise PipelineError(f"--run {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise PipelineError(f"--run {path} is no file that the demo wrote") from error


def section(run: Timeline) -> Section:
    """Return the section of the report about a run."""
    part = Section("the run in time")
    first = min((sent.heard_s for sent in run.sent), default=0.0)
    took = sum(batch.records for batch in run.batches)
    part.lines.append(
        f"{len(run.batches):,} batches of the stream took {took:,} records"
        f"{_batches_without_line(run.batches)}. "
        "Times are seconds since the demo began; a dashed line is a mark of the table."
    )
    if run.ui:
        part.lines.append(f"Spark's own pages, while the stream ran: {run.ui}")
    marks = [Mark(at, str(number)) for number, (at, _) in enumerate(run.marks, 1)]
    times = [sent.heard_s for sent in run.sent] + [at for at, _ in (*run.behind, *run.marks)]
    span = (max(0.0, first - 5), max(times, default=1.0))
    rates = [(sent.heard_s, sent.rate) for sent in run.sent]
    for title, unit, series in (
        (
            "Records a second",
            "records/s",
            [Timed("sent", [rates] if rates else []), Timed("processed", _steps(run.batches))],
        ),
        ("Behind: sent, and in no batch yet", "records", [Timed("", _behind(run))]),
        (
            "Duration of each batch",
            "s",
            [
                Timed(
                    "",
                    [[(batch.heard_s, 0), (batch.heard_s, batch.seconds)] for batch in run.batches],
                )
            ],
        ),
    ):
        part.plots.append(Plot(title, over_time(series, unit, span, marks)))
    if run.marks:
        rows = [[str(n), f"{at:.0f} s", what] for n, (at, what) in enumerate(run.marks, 1)]
        part.tables.append(Table(["mark", "after", "what was done"], rows, words=True))
    return part


def _batches_without_line(batches: list[Batch]) -> str:
    """Return the words about batches without a line, empty if there are none: the job was killed
    between their commit and their line. Batches are numbered from 0, and the next job goes on
    after them."""
    numbers = {batch.number for batch in batches}
    missing = max(numbers, default=-1) + 1 - len(numbers)
    if not missing:
        return ""
    return f"; {missing:,} more took the rest, and the job was killed before it could say so"


def _steps(batches: list[Batch]) -> list[list[tuple[float, float]]]:
    """Return each batch as a level line from its begin to its end, at its records per second."""
    runs = []
    end = 0.0
    for batch in batches:
        begin = max(end, batch.heard_s - batch.seconds)
        end = batch.heard_s
        if batch.records and batch.seconds:
            rate = batch.records / batch.seconds
            runs.append([(begin, rate), (end, rate)])
    return runs


def _behind(run: Timeline) -> list[list[tuple[float, float]]]:
    """Return how many records are behind, by time: as the last batch says, and the records sent
    since then. The line goes on while no stream job runs."""
    points: list[tuple[float, float]] = []
    said, sent_then, sent_now = 0.0, 0, 0
    # At the same time, the generator's line goes first: the batch's figure includes its records.
    events = [(sent.heard_s, 0, sent.records) for sent in run.sent]
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
