"""The sections of an audit's report: about a topic, a table, the dead letters and the sums.

Makes tables and plots from views and small frames. Never judges
(`pipeline.auditing.audit_checks` does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from pipeline.auditing.charts import Series, bars, lines, times
from pipeline.auditing.records_view import RecordsView
from pipeline.auditing.report import Plot, Section, Table
from pipeline.tables.aggregates import alerts
from pipeline.tables.progress import Gap
from pipeline.topics import Offsets

_ALERTS_MAX = 20
_GAPS_MAX = 20
_TIME = "time (UTC)"


def of_records(
    title: str,
    view: RecordsView,
    offsets: Mapping[int, Offsets] | None,
    plotted: RecordsView | None = None,
) -> Section:
    """Return the section of a topic, or of a table, for which `offsets` is None.

    The section has no plots if those of `plotted`, which the report has above, show the same.
    """
    section = Section(title)
    section.lines.append(f"{view.records:,} records")
    if view.ids:
        section.lines.append(
            f"{view.ids:,} different ids, repeated by {counted(view.repeated, 'record')}"
        )
    if view.lags_ms is not None:
        p50, p95, most = view.lags_ms
        section.lines.append(
            f"from event to record: p50 {p50 / 1000:.1f} s, p95 {p95 / 1000:.1f} s, "
            f"greatest {most / 1000:,.0f} s"
        )
    section.tables.append(_partitions(view, offsets))
    if plotted is not None and _same_plots(view, plotted):
        section.lines.append("Its plots are those above.")
        return section
    if view.buckets:
        starts = [bucket.start_ms for bucket in view.buckets]
        labels = times(starts, view.width_ms)
        seconds = view.width_ms / 1000
        rates = Series("records", [bucket.records / seconds for bucket in view.buckets])
        section.plots.append(
            Plot("Records a second, by their timestamps", bars(labels, rates, "records/s", _TIME))
        )
        if view.lags_ms is not None:
            lags = [
                Series("p50", [_seconds(bucket.lag_p50_ms) for bucket in view.buckets]),
                Series("p95", [_seconds(bucket.lag_p95_ms) for bucket in view.buckets]),
            ]
            section.plots.append(
                Plot("From event to record: p50 and p95", lines(labels, lags, "s", _TIME))
            )
    names = [str(part.partition) for part in view.partitions]
    counts = Series("records", [part.records for part in view.partitions])
    section.plots.append(Plot("Records by partition", bars(names, counts, "records", "partition")))
    return section


def _same_plots(view: RecordsView, other: RecordsView) -> bool:
    """Return whether both views hold the same records at the same times.

    The lags are not compared: Spark's percentiles are approximate and depend on the order of rows.
    """
    return _plotted(view) == _plotted(other)


def _plotted(view: RecordsView) -> tuple[object, ...]:
    return (
        view.content,
        view.width_ms,
        [(bucket.start_ms, bucket.records) for bucket in view.buckets],
        [(part.partition, part.records) for part in view.partitions],
    )


def counted(number: int, name: str) -> str:
    """Return a number with its noun: `1 run`, `1,000 runs`."""
    return f"{number:,} {name}" if number == 1 else f"{number:,} {name}s"


def of_gaps(topic: str, gaps: Sequence[Gap]) -> list[str]:
    """Return a line for each of the first `_GAPS_MAX` gaps that the table's commits name."""
    lines = [
        f"{gap.text(topic)} were skipped at {gap.at}: the topic had deleted them before they were "
        "loaded"
        for gap in gaps[:_GAPS_MAX]
    ]
    more = len(gaps) - _GAPS_MAX
    return [*lines, f"and {more:,} more gaps"] if more > 0 else lines


def of_starts(topic: str, starts: Mapping[int, int]) -> list[str]:
    """Return the line that says from which offsets topic and table are compared."""
    if not starts:
        return []
    places = ", ".join(
        f"{topic}-{index} from {offset:,}" for index, offset in sorted(starts.items())
    )
    return [f"compared with the topic where both have records: {places}"]


def of_reasons(topic: str, counts: Mapping[str, int]) -> Section:
    """Return the section of the dead letters in a topic, given their number by reason."""
    rows = [[reason, f"{number:,}"] for reason, number in sorted(counts.items())]
    section = Section(f"topic {topic}: {sum(counts.values()):,} refused records")
    section.tables.append(Table(["reason", "records"], rows))
    return section


def of_sums(rows: DataFrame) -> Section:
    """Return the section of the stream's sums, added up over all cells, and of its alerts."""
    cells = rows.where("of = 'cell'")
    by_window = (
        cells.groupBy("window_start")
        .agg({"calls": "sum", "drops": "sum", "events": "sum"})
        .selectExpr(
            "unix_millis(window_start) AS at",
            "`sum(calls)` AS calls",
            "`sum(drops)` AS drops",
            "`sum(events)` AS events",
        )
        .orderBy("at")
        .collect()
    )
    alerting = alerts(rows).orderBy("since", "id")
    number = alerting.count()
    section = Section("sums of the stream")
    events = sum(row.events for row in by_window)
    calls, drops = sum(row.calls for row in by_window), sum(row.drops for row in by_window)
    section.lines.append(
        f"{events:,} events, {calls:,} calls, {drops:,} dropped, "
        f"{counted(number, 'alert')} of cells"
    )
    if number > _ALERTS_MAX:
        section.lines.append(f"The first {_ALERTS_MAX} of {number:,} alerts are in the table.")
    starts = [row["at"] for row in by_window]
    width = starts[1] - starts[0] if len(starts) > 1 else 3_600_000
    labels = times(starts, width)
    calls_of = Series("calls", [row.calls for row in by_window])
    section.plots.append(Plot("Calls in each window", bars(labels, calls_of, "calls", _TIME)))
    rates = [100 * row.drops / row.calls if row.calls else None for row in by_window]
    section.plots.append(
        Plot("Dropped calls", lines(labels, [Series("dropped", rates)], "% of calls", _TIME))
    )
    first = alerting.limit(_ALERTS_MAX).collect()
    if first:
        shown = [
            [
                row.id,
                row.since,
                f"{row.calls:,}",
                f"{row.drops:,}",
                f"{row.drop_rate:.1%}",
            ]
            for row in first
        ]
        section.tables.append(Table(["cell", "from", "calls", "dropped", "share"], shown))
    return section


def _partitions(view: RecordsView, offsets: Mapping[int, Offsets] | None) -> Table:
    by_partition = {part.partition: part for part in view.partitions}
    head = ["partition", "records", "first", "last", "gaps", "twice"]
    if offsets is not None:
        head[1:1] = ["start", "end"]
    rows = []
    for partition in sorted({*by_partition, *(offsets or {})}):
        counts = by_partition.get(partition)
        there = (offsets or {}).get(partition)
        start = there.start if there else counts.first if counts else 0
        end = there.end if there else counts.last + 1 if counts else 0
        row = [str(partition), f"{counts.records:,}" if counts else "0"]
        if there is not None:
            row[1:1] = [f"{there.start:,}", f"{there.end:,}"]
        row += [f"{counts.first:,}", f"{counts.last:,}"] if counts else ["", ""]
        row += [f"{end - start - (counts.offsets if counts else 0):,}"]
        row += [f"{counts.records - counts.offsets:,}" if counts else "0"]
        rows.append(row)
    return Table(head, rows)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else max(0.0, ms / 1000)
