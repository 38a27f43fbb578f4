"""The job `stream`: Structured Streaming from the topic of call detail records to its results.

Two queries over the topic. `aggregates`: good records, each event once, added up per window,
cell and subscriber, into a table of Parquet and a compacted topic. `dead-letters`: the others
into a topic of their own, with the reason in a header. Owns the running queries and what is said
of them; what is exactly once, and by what, stands in `docs/pipeline.md`.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import cdr
from pipeline.errors import PipelineError, told
from pipeline.jobs.generate import TOPIC
from pipeline.spark import connection, kafka_source
from pipeline.tables import aggregates
from pipeline.tables.files import Files
from pipeline.tables.stream_identity import StreamIdentity, claim
from pipeline.tables.stream_progress import QueryView, Teller, look
from pipeline.topics import Cluster

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

RESULTS = "cdr-aggregates"
DEAD_LETTERS = "cdr-dead-letters"
WINDOW = "1 hour"
WATERMARK = "1 hour"
LATENESS = "15 minutes"
ALERT_ABOVE = 0.15
BATCH_MAX = 100_000
TRIGGER_S = 5.0
LOOK_S = 2.0
# How Spark puts the files of a checkpoint in place. On a local disk its usual way forks `readlink`
# twice a file, thirty times a batch, and is no safer.
_CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
_RESULT_PARTITIONS = 3
_SAMPLE = 1_000
_ALERTS_MAX = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    add = parser.add_argument
    connection.add_arguments(parser)
    add("--topic", default=TOPIC)
    add("--results-topic", default=RESULTS, help="compacted: the last value of a key counts")
    add("--dead-letters", default=DEAD_LETTERS, help="the topic for records that do not fit")
    add("--table", default="pipeline-data/aggregates", help="a folder of Parquet, or its URI")
    add("--checkpoint", default="pipeline-data/checkpoint", help="what the job remembers")
    add("--window", default=WINDOW, help="of the sums")
    add("--watermark", default=WATERMARK, help="how long an event may come after later ones")
    add("--lateness", default=LATENESS, help="how long an event may be on its way")
    add("--alert-above", type=float, default=ALERT_ABOVE, help="this share of dropped calls")
    add("--batch-max", type=int, default=BATCH_MAX, help="records of one micro-batch")
    add("--trigger", type=float, default=TRIGGER_S, help="seconds from batch to batch")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--once", action="store_true", help="end when all that is there is done")
    end.add_argument("--until-idle", type=float, metavar="SECONDS", help="… and nothing came since")


def check(options: argparse.Namespace) -> None:
    """What can be known before Spark starts; PipelineError where the topic is missing."""
    Cluster(connection.connection_of(options)).partitions(options.topic)


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Run until it is stopped, or as the options say; the exit code."""
    there = connection.connection_of(options)
    job = StreamJob(spark, there, Cluster(there), options)
    job.claim()
    job.start()
    ended = job.watch(_stopped_by_signal())
    _say(ended)
    return 0


class StreamJob:
    """Both queries of one job."""

    def __init__(
        self,
        spark: SparkSession,
        there: connection.Connection,
        cluster: Cluster,
        options: argparse.Namespace,
    ) -> None:
        self._spark = spark
        self._there = there
        self._cluster = cluster
        self._options = options
        self._table = aggregates.AggregateTable(spark, options.table)
        self._queries: list[StreamingQuery] = []
        self._alerted: set[tuple[str, str]] = set()
        self._teller = Teller()

    def claim(self) -> None:
        """PipelineError where checkpoint, table or topic belong to something else."""
        options = self._options
        wanted = StreamIdentity(
            topic=options.topic,
            cluster_id=self._cluster.cluster_id(),
            window=options.window,
            watermark=options.watermark,
            lateness=options.lateness,
            results_topic=options.results_topic,
            dead_letters=options.dead_letters,
        )
        is_new = claim(self._spark, options.checkpoint, options.table, wanted, self._check_schema)
        self._cluster.ensure(
            options.results_topic, _RESULT_PARTITIONS, {"cleanup.policy": "compact"}
        )
        self._cluster.ensure(options.dead_letters, _RESULT_PARTITIONS)
        _say(f"{'begins with' if is_new else 'goes on with'} topic {options.topic}")

    def start(self) -> None:
        """Start both queries."""
        options = self._options
        if Files(self._spark, options.checkpoint).is_local:
            self._spark.conf.set(_CHECKPOINT_FILES, _BY_RENAME)
        sums = aggregates.summed(
            aggregates.once(cdr.events(self._source(), options.lateness), options.watermark),
            options.window,
            options.alert_above,
        )
        refused = cdr.dead_letters(self._source(), options.lateness)
        trigger: dict[str, Any] = (
            {"availableNow": True}
            if options.once
            else {"processingTime": f"{options.trigger} seconds"}
        )
        self._queries = [
            sums.writeStream.queryName("aggregates")
            .outputMode("update")
            .option("checkpointLocation", f"{options.checkpoint}/aggregates")
            .foreachBatch(self._write)
            .trigger(**trigger)
            .start(),
            refused.writeStream.queryName("dead-letters")
            .format("kafka")
            .options(**self._there.writing())
            .option("topic", options.dead_letters)
            .option("checkpointLocation", f"{options.checkpoint}/dead-letters")
            .trigger(**trigger)
            .start(),
        ]

    def watch(self, stopped: Callable[[], bool]) -> str:
        """Say how it goes until it ends; why it did. PipelineError where a query failed."""
        idle_since: float | None = None
        while True:
            self._raise_failure()
            if self._options.once and not any(query.isActive for query in self._queries):
                return "done: all that was there is in the results"
            if stopped():
                self._stop()
                return "stopped; the same command goes on from here"
            views = self._look()
            idle = bool(views) and all(one.behind == 0 for one in views)
            idle_since = (idle_since or time.monotonic()) if idle else None
            wait = self._options.until_idle
            if wait is not None and idle_since and time.monotonic() - idle_since >= wait:
                self._stop()
                return f"done: nothing new for {wait:g} s"
            _sleep(LOOK_S, stopped)

    def _source(self) -> DataFrame:
        return kafka_source.stream(
            self._spark, self._there, self._options.topic, self._options.batch_max
        )

    def _write(self, rows: DataFrame, batch: int) -> None:
        """One batch of sums, to both places. May run again with the same rows."""
        rows = rows.persist()  # computing it twice would change the state twice
        try:
            if rows.isEmpty():
                return
            self._table.write(rows, batch)
            (
                aggregates.as_records(rows)
                .write.format("kafka")
                .options(**self._there.writing())
                .option("topic", self._options.results_topic)
                .save()
            )
            self._say_alerts(rows)
        finally:
            rows.unpersist()

    def _say_alerts(self, rows: DataFrame) -> None:
        alerts = aggregates.alerts(rows).orderBy("since", "id")
        for row in alerts.limit(_ALERTS_MAX).collect():
            place = (row.id, row.since)
            if place not in self._alerted:
                self._alerted.add(place)
                _say(
                    f"alert: cell {row.id} dropped {row.drops} of {row.calls} calls "
                    f"({row.drop_rate:.0%}) in the window from {row.since}"
                )

    def _check_schema(self) -> None:
        """PipelineError where not one of the first records is what the job reads."""
        options = self._options
        offsets = self._cluster.offsets(options.topic)
        share = max(1, _SAMPLE // len(offsets))
        ends = {one: min(found.end, found.start + share) for one, found in offsets.items()}
        starts = {one: found.start for one, found in offsets.items()}
        if starts == ends:
            return  # nothing is there yet
        sample = kafka_source.batch(self._spark, self._there, options.topic, starts, ends)
        by_reason = cdr.checked(sample, options.lateness).groupBy("reason").count()
        found = by_reason.orderBy(F.desc("count")).collect()
        if found and all(row.reason is not None for row in found):
            number = sum(row["count"] for row in found)
            raise PipelineError(
                f"none of the first {number} records of {options.topic} is a call detail record "
                f"({found[0].reason}): is it the right --topic?"
            )

    def _look(self) -> list[QueryView]:
        ends = self._cluster.ends(self._options.topic)
        progress = [(query.name or "", query.lastProgress) for query in self._queries]
        views = [look(name, one, self._options.topic, ends) for name, one in progress if one]
        for view in views:
            line = self._teller.line(view)
            if line is not None:
                _say(line)
        return views if len(views) == len(self._queries) else []

    def _raise_failure(self) -> None:
        for query in self._queries:
            failed = query.exception()
            if failed is not None:
                self._stop()
                raise PipelineError(f"stream: {told(failed)}") from failed

    def _stop(self) -> None:
        for query in self._queries:
            query.stop()


def _stopped_by_signal() -> Callable[[], bool]:
    """Whether SIGINT or SIGTERM has come since."""
    came: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: came.append(1))
    return lambda: bool(came)


def _sleep(seconds: float, stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stopped():
        time.sleep(0.1)


def _say(text: str) -> None:
    print(f"stream: {text}", file=sys.stderr, flush=True)
