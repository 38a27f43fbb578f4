"""The job `audit`: checks whether a topic, a table and the stream's results are complete.

Reads everything once more, in batches. Compares records with offsets, the table with the topic,
and rows with the files from which they came. With a generator's seed, compares also every record
and every sum with those of the seed. Prints the result, and writes a report in HTML; the exit code
is 1 if a check does not hold. Never changes a topic, a table or a file that it checks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.auditing import audit_checks, audit_sections, timeline
from pipeline.auditing.audit_checks import Check
from pipeline.auditing.audited_table import AuditedTable, looked_at
from pipeline.auditing.expected import AggregateKey, Expected, Sums, expect
from pipeline.auditing.records_view import (
    PARTS,
    Content,
    RecordsView,
    content_of,
    from_starts,
    last_per_key,
    last_values,
    view,
)
from pipeline.auditing.report import Section, html, terminal
from pipeline.errors import PipelineError
from pipeline.generator import generated
from pipeline.jobs import replay
from pipeline.jobs.generate import add_spec_arguments, spec_of
from pipeline.jobs.table import needs_of
from pipeline.options import check_file, check_there, span, span_ms, table_place, topic, word
from pipeline.record_times.bounded import time_ms
from pipeline.spark import connection, kafka_source
from pipeline.spark.kafka_source import with_any_time
from pipeline.spark.session import Needs
from pipeline.tables.aggregates import AggregateTable, from_records
from pipeline.tables.table import FORMATS, form_of
from pipeline.topics import Cluster, Offsets

EXIT_NOT_WHOLE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
    add = parser.add_argument
    connection.add_arguments(parser)
    add("--topic", type=topic, metavar="TOPIC", help="Check this topic.")
    add(
        "--compacted",
        action="store_true",
        help="Accept missing offsets, and compare the last value of each key of --topic.",
    )
    add(
        "--table",
        type=table_place,
        metavar="PATH",
        help="Check this table of the job table or load, and compare it with --topic.",
    )
    add(
        "--table-format",
        choices=FORMATS,
        help="Read --table in this format. [default: by the files of a local table]",
    )
    add(
        "--table-dead-letters",
        type=table_place,
        metavar="PATH",
        help="Read the dead letters of --table from this folder. [default: TABLE-dead-letters]",
    )
    replay.add_version_arguments(parser.add_argument_group("of --table, Delta or Iceberg"))
    add(
        "--aggregates",
        type=table_place,
        metavar="PATH",
        help="Check this table of sums, which the job stream wrote.",
    )
    add(
        "--results-topic",
        type=topic,
        metavar="TOPIC",
        help="Check this topic of sums, and compare it with --aggregates.",
    )
    add(
        "--dead-letters",
        type=topic,
        metavar="TOPIC",
        help="Read the rejected records of the job stream from this topic.",
    )
    _add_comparison_arguments(parser)
    replay.add_file_arguments(parser)
    add_spec_arguments(parser)


def _add_comparison_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the comparison with the seed, and of the report."""
    add = parser.add_argument
    add("--against-seed", action="store_true", help="Compare with the records of --seed.")
    add(
        "--window",
        type=span,
        default="1 hour",
        metavar="TIME",
        help="Sum the records of --seed over windows of this length. [default: %(default)s]",
    )
    add(
        "--id-field",
        type=word,
        default="event_id",
        metavar="NAME",
        help="Report values of this field that repeat. [default: %(default)s]",
    )
    add(
        "--time-field",
        type=word,
        default="event_time",
        metavar="NAME",
        help="Take the time of an event from this field. [default: %(default)s]",
    )
    add(
        "--note",
        action="append",
        default=[],
        metavar="SENTENCE",
        help="Add this sentence to the report; may be repeated.",
    )
    add(
        "--report",
        type=word,
        default="pipeline-data/report.html",
        metavar="FILE",
        help="Write the report to this file. [default: %(default)s]",
    )
    add(
        "--run",
        type=word,
        metavar="FILE",
        help="Add the times of FILE, which make demo wrote, to the report.",
    )


def check(options: argparse.Namespace) -> None:
    """Check what can be known before Spark starts. Raises PipelineError if an option does not fit,
    or if a topic, table or file is missing.

    An audit without topics asks no cluster.
    """
    topics = [name for name in (options.topic, options.results_topic, options.dead_letters) if name]
    if not topics and not options.table and not options.aggregates:
        raise PipelineError("audit: name something with --topic, --table or --aggregates")
    if options.files:
        if not options.topic and not options.table:
            raise PipelineError("audit: --files are compared with a --topic or a --table")
        replay.check_files(options)
    for option in ("table", "table_dead_letters", "aggregates"):
        if getattr(options, option):
            check_there(f"--{option.replace('_', '-')}", getattr(options, option))
    _check_version(options)
    check_file("--report", options.report)
    if options.run:
        timeline.read(options.run)
    if options.against_seed:
        spec_of(options)
    there = connection.connection_of(options)
    if topics:
        cluster = Cluster(there)
        for topic in topics:
            cluster.partitions(topic)


def _check_version(options: argparse.Namespace) -> None:
    """Raise PipelineError if the options of a version do not fit.

    A version of a table is compared with its own commits, and with files. A topic has no versions.
    """
    if not replay.is_as_of(options):
        return
    if not options.table:
        raise PipelineError("--as-of-version and --as-of-time are of a --table: name it")
    if options.topic:
        raise PipelineError(
            "--as-of-version and --as-of-time: leave --topic out, which is read as it is now"
        )
    replay.check_version(options, table_form(options), options.table)


def needs(options: argparse.Namespace) -> Needs:
    """Return the jars, extensions and catalogs of the tables' formats."""
    forms = [table_form(options)] if options.table else []
    if options.files and options.format in replay.TABLES:
        forms.append(replay.table_form(options))
    return needs_of(forms, options)


def table_form(options: argparse.Namespace) -> str:
    """Return the format of `--table`: as its option says, or else by its files, or else Parquet."""
    return options.table_format or form_of(options.table) or "parquet"


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Audit what the options name, and return the exit code."""
    audit = Audit(spark, options)
    if options.run:
        audit.sections.append(timeline.section(timeline.read(options.run)))
    for wanted, what, look in (
        (options.topic, f"topic {options.topic}", audit.topic),
        (options.table, f"table {options.table}", audit.table),
        (options.files, f"files {options.files}", audit.files),
        (options.dead_letters, f"topic {options.dead_letters}", audit.dead_letters),
        (options.aggregates or options.results_topic, "the stream's sums", audit.sums),
    ):
        if wanted:
            _say(f"looking at {what}")
            audit.look(look)
    print(terminal(audit.sections, audit.checks), flush=True)
    report = Path(options.report)
    report.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    about = [f"{now}, {audit.asked()}", *options.note]
    report.write_text(html("Audit", about, audit.sections, audit.checks), "utf-8")
    _say(f"report: {report.resolve()}")
    return 0 if all(check.holds for check in audit.checks) else EXIT_NOT_WHOLE


class Audit:
    """The sections and checks of an audit, and the parts that a later check needs again."""

    def __init__(self, spark: SparkSession, options: argparse.Namespace) -> None:
        self._spark = spark
        self._options = options
        self._there = connection.connection_of(options)
        self._cluster = Cluster(self._there)
        self._expected: Expected | None = None
        self._topic: Content | None = None
        self._looked_at: AuditedTable | None = None
        self._plotted: RecordsView | None = None
        self._starts: dict[int, int] = {}
        self._any_time = False
        self.sections: list[Section] = []
        self.checks: list[Check] = []
        if options.against_seed:
            _say(f"computing from seed {options.seed} what there must be")
            window_ms = span_ms(options.window)
            self._expected = expect(generated(spec_of(options)), window_ms)

    def look(self, at: Callable[[], None]) -> None:
        """Run a part of the audit, and once more if Spark's source cannot read a record's time."""
        sections, checks = len(self.sections), len(self.checks)

        def looked(any_time: bool) -> None:
            self._any_time = any_time
            del self.sections[sections:], self.checks[checks:]
            at()

        with_any_time(looked, lambda: _say("once more by confluent-kafka, for a record's time"))

    def asked(self) -> str:
        """Return the words for what was audited: topics, cluster and seed."""
        named = [self._options.topic, self._options.results_topic, self._options.dead_letters]
        topics = ", ".join(name for name in named if name)
        where = f"topics {topics} at {self._cluster.servers}" if topics else "files alone"
        return f"{where}, against seed {self._options.seed}" if self._expected else where

    def topic(self) -> None:
        """Check the topic's records against its offsets, and against the seed."""
        options, topic = self._options, self._options.topic
        offsets = self._cluster.offsets(topic)
        records = self._records(topic).persist()
        parts = self._parts()
        seen = view(records, options.id_field, options.time_field, parts)
        self._starts = self._common_starts(offsets)
        self._topic = self._content(records, seen, parts)
        section = audit_sections.of_records(f"topic {topic}", seen, offsets)
        self._plotted = seen
        if options.compacted:
            keys, kept = last_per_key(records).count(), self._topic.records
            section.lines.append(
                f"{keys:,} keys, {kept:,} with a last value, {keys - kept:,} with a tombstone, "
                f"{seen.records - keys:,} records that a later one replaces"
            )
            self.checks.append(audit_checks.compacted_is_sound(topic, seen, offsets))
        else:
            self.checks.append(audit_checks.topic_is_whole(topic, seen, offsets))
        self.sections.append(section)
        if self._expected is not None:
            self.checks.append(audit_checks.as_generated(topic, seen, self._expected))
            self.checks.append(audit_checks.repeated_as_generated(topic, seen, self._expected))
        records.unpersist()

    def table(self) -> None:
        """Check the table against its commits, and against the topic."""
        options = self._options
        there, parts = self._look_at_table(), self._parts()
        seen = view(there.records, options.id_field, options.time_field, parts)
        self.sections.append(
            audit_sections.of_records(
                f"table {self._table()}, {audit_sections.counted(there.runs, 'run')}",
                seen,
                None,
                self._plotted,
            )
        )
        self.sections[-1].lines += audit_sections.of_gaps(there.progress.topic, there.skipped)
        self.checks.append(
            audit_checks.table_is_whole(
                seen, there.ranges, there.holes, options.compacted, there.skipped
            )
        )
        if self._topic is None:
            return
        self.sections[-1].lines += audit_sections.of_starts(options.topic, self._starts)
        loaded_id, topic_id = there.progress.topic_id, self._cluster.topic_id(options.topic)
        if there.is_of(options.topic, self._cluster.cluster_id()) and loaded_id and topic_id:
            self.checks.append(audit_checks.same_topic(options.topic, loaded_id, topic_id))
        what = "last values" if options.compacted else "records"
        content = self._content(there.records, seen, parts)
        name = f"table: the same {what} as {options.topic}"
        if not there.keeps_values:
            name += ", values aside"
        self.checks.append(audit_checks.same_records(name, content, self._topic, parts))

    def _common_starts(self, offsets: Mapping[int, Offsets]) -> dict[int, int]:
        """Return the offset from which topic and table are compared, of each partition in which
        that is not the start of both. Empty without `--table`, or if another topic was loaded."""
        if not self._options.table:
            return {}
        there = self._look_at_table()
        if not there.is_of(self._options.topic, self._cluster.cluster_id()):
            return {}
        return there.common_starts(offsets)

    def _content(self, records: DataFrame, seen: RecordsView, parts: Sequence[str]) -> Content:
        """Return the content by which topic and table are compared; `seen` is the records' view."""
        if self._options.compacted:
            return last_values(from_starts(records, self._starts), parts)
        if not self._starts:
            return seen.content
        return content_of(from_starts(records, self._starts), parts)

    def _parts(self) -> list[str]:
        """Return the parts of a record by which topic and table are compared."""
        if not self._options.table or not self._options.topic:
            return list(PARTS)
        return self._look_at_table().parts(self._options.topic, self._cluster.cluster_id())

    def _look_at_table(self) -> AuditedTable:
        if self._looked_at is None:
            options = self._options
            form = table_form(options)
            letters, version = options.table_dead_letters, replay.version_of(options)
            self._looked_at = looked_at(self._spark, form, options.table, letters, *version)
        return self._looked_at

    def _table(self) -> str:
        """Return the table's path, with the version or time as of which the table is read."""
        version, time = replay.version_of(self._options)
        when = f"version {version}" if version is not None else f"{time} UTC"
        return f"{self._options.table}{f' as of {when}' if version or time else ''}"

    def files(self) -> None:
        """Check the records against the rows of the files from which they came."""
        options = self._options
        # The version is that of --table.
        of_files = argparse.Namespace(
            **{**vars(options), "as_of_version": None, "as_of_time": None}
        )
        rows = _comparable(replay.read_records(self._spark, of_files), F.col("timestamp_ms"))
        if options.table:
            there, where = self._look_at_table().records, "table"
        else:
            there, where = self._records(options.topic), options.topic
        stored = _comparable(there, time_ms())
        if not options.timestamp and options.format not in replay.TABLES:
            rows, stored = rows.drop("at_ms"), stored.drop("at_ms")
        missing, extra = rows.exceptAll(stored).count(), stored.exceptAll(rows).count()
        name = f"{where}: {options.files} row for row"
        # Counted by their values: Spark rejects a query of files for the column of misfits alone.
        number = rows.agg(F.count("value"), F.max(F.length("value"))).collect()[0][0]
        self.checks.append(audit_checks.same_rows(name, missing, extra, number))
        if not self.sections:
            self.sections.append(Section(f"files {options.files}"))

    def dead_letters(self) -> None:
        """Count the dead letters by reason, each rejected record once; check the counts against the
        seed."""
        topic = self._options.dead_letters
        letters = last_per_key(self._records(topic))
        reason = "filter(headers, h -> h.key = 'reason')[0].value AS reason"
        rows = letters.selectExpr(reason).where("reason IS NOT NULL").collect()
        counts = audit_checks.reasons([bytes(row.reason) for row in rows])
        self.sections.append(audit_sections.of_reasons(topic, counts))
        if self._expected is not None:
            self.checks.append(audit_checks.refused_as_generated(topic, counts, self._expected))

    def sums(self) -> None:
        """Check the stream's sums: table against topic, and the first of both against the seed."""
        places: dict[str, dict[AggregateKey, Sums]] = {}
        if self._options.aggregates:
            table = AggregateTable(self._spark, self._options.aggregates)
            if not table.batches():
                raise PipelineError(f"{self._options.aggregates} is no table that stream wrote")
            rows = table.read().persist()
            places["sums in Parquet"] = sums_of(rows)
            self.sections.append(audit_sections.of_sums(rows))
        if self._options.results_topic:
            topic = self._options.results_topic
            last = last_per_key(self._records(topic).drop("headers"))
            places[f"sums in {topic}"] = sums_of(from_records(last))
            if not self._options.aggregates:
                self.sections.append(audit_sections.of_sums(from_records(last)))
        if len(places) == 2:
            (name, first), (other, second) = places.items()
            self.checks.append(audit_checks.same_sums(f"{other}: the {name}", second, first))
        if self._expected is not None:
            name, actual = next(iter(places.items()))
            wanted = self._expected.aggregates
            self.checks.append(audit_checks.sums_as_generated(name, actual, wanted))

    def _records(self, topic: str) -> DataFrame:
        offsets = self._cluster.offsets(topic)
        starts = {index: there.start for index, there in offsets.items()}
        ends = {index: there.end for index, there in offsets.items()}
        return kafka_source.batch(
            self._spark, self._there, topic, starts, ends, any_time=self._any_time
        )


def sums_of(rows: DataFrame) -> dict[AggregateKey, Sums]:
    """Return rows of sums as a mapping."""
    chosen = rows.selectExpr(
        "of",
        "id",
        "unix_millis(window_start) AS at",
        "events",
        "calls",
        "drops",
        "duration_s",
        "bytes",
    )
    return {
        (row.of, row.id, row["at"]): (
            row.events,
            row.calls,
            row.drops,
            row.duration_s,
            row.bytes,
        )
        for row in chosen.collect()
    }


def _comparable(records: DataFrame, at_ms: Column) -> DataFrame:
    """Return key, value and timestamp: the parts that a record keeps when it is replayed."""
    return records.select("key", "value", at_ms.alias("at_ms"))


def _say(text: str) -> None:
    print(f"audit: {text}", file=sys.stderr, flush=True)
