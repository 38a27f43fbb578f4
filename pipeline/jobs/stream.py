"""The job `stream`: Structured Streaming from the topic of call detail records to its results.

Runs two queries over the topic. `aggregates` adds up good records, each event once, per window,
cell and subscriber, into a table of Parquet and a compacted topic. `dead-letters` sends the other
records to a topic of their own, with the reason in a header. Owns the running queries and the lines
about them. `docs/pipeline.md` says which results are exactly once, and why.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import pipeline
from pipeline import cdr
from pipeline.errors import PipelineError, told
from pipeline.jobs.generate import TOPIC
from pipeline.options import (
    as_spark_has_it,
    check_folder,
    delay,
    number,
    span,
    span_ms,
    table_place,
    topic,
    whole,
)
from pipeline.spark import connection, kafka_source
from pipeline.spark.session import is_remote
from pipeline.tables import aggregates
from pipeline.tables.files import Files
from pipeline.tables.progress import is_another
from pipeline.tables.stream_identity import StreamIdentity, claim
from pipeline.tables.stream_progress import QueryView, Teller, look
from pipeline.tables.sums_writer import SumsWriter
from pipeline.tables.writer_lock import hold
from pipeline.topics import Cluster

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

RESULTS = "cdr-aggregates"
DEAD_LETTERS = "cdr-dead-letters"
WINDOW = "1 hour"
WATERMARK = "1 hour"
LATENESS = "15 minutes"
ALERT_ABOVE = 0.15
BATCH_MAX = 100_000
TRIGGER_S = 5.0
LOOK_S, LOOK_TIMEOUT_S = 2.0, 5.0
AGGREGATES = "aggregates"
# How Spark writes the files of a checkpoint. On a local disk, its default forks `readlink` twice a
# file, thirty times a batch, and is no safer.
_CHECKPOINT_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
_END_THE_FIRST = "spark.sql.streaming.stopActiveRunOnRestart"
_RESULT_PARTITIONS = 3
_STARTS = 3
_NO_WORKER = "Python worker failed to connect back"
_SAMPLE = 1_000
_ALERTS_MAX = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
    add = parser.add_argument
    connection.add_arguments(parser)
    add(
        "--topic",
        type=topic,
        default=TOPIC,
        metavar="TOPIC",
        help="Read this topic. [default: %(default)s]",
    )
    add(
        "--results-topic",
        type=topic,
        default=RESULTS,
        metavar="TOPIC",
        help="Send the sums to this topic, which is compacted. [default: %(default)s]",
    )
    add(
        "--dead-letters",
        type=topic,
        default=DEAD_LETTERS,
        metavar="TOPIC",
        help="Send malformed and late records to this topic. [default: %(default)s]",
    )
    add(
        "--table",
        type=table_place,
        default="pipeline-data/aggregates",
        metavar="PATH",
        help="Write the sums as Parquet to this folder or URI. [default: %(default)s]",
    )
    add(
        "--checkpoint",
        type=table_place,
        default="pipeline-data/checkpoint",
        metavar="PATH",
        help="Save the offsets and the state of the sums in this folder or URI. [default: "
        "%(default)s]",
    )
    _add_window_arguments(parser)
    _add_batch_arguments(parser)


def _add_window_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the sums and of late events."""
    add = parser.add_argument
    add(
        "--window",
        type=span,
        default=WINDOW,
        metavar="TIME",
        help="Sum records over windows of this length. [default: %(default)s]",
    )
    add(
        "--watermark",
        type=delay,
        default=WATERMARK,
        metavar="TIME",
        help="Wait so long for events that arrive after later ones. [default: %(default)s]",
    )
    add(
        "--lateness",
        type=delay,
        default=LATENESS,
        metavar="TIME",
        help="Reject an event whose record is more than so much later. [default: %(default)s]",
    )
    add(
        "--alert-above",
        type=number(0, 1),
        default=ALERT_ABOVE,
        metavar="SHARE",
        help="Print an alert if a cell drops more than this share of calls. [default: %(default)s]",
    )


def _add_batch_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the micro-batches and of the job's end."""
    add = parser.add_argument
    add(
        "--batch-max",
        type=whole(1),
        default=BATCH_MAX,
        metavar="N",
        help="Read at most N records in a micro-batch. [default: %(default)s]",
    )
    add(
        "--trigger",
        type=number(0),
        default=TRIGGER_S,
        metavar="SECONDS",
        help="Begin a micro-batch so many seconds after the last. [default: %(default)s]",
    )
    add(
        "--take-over",
        action="store_true",
        help="End the run that a lost client of Spark Connect left on this checkpoint.",
    )
    end = parser.add_mutually_exclusive_group()
    end.add_argument(
        "--once",
        action="store_true",
        help="Stop after the records that the topic has at the start.",
    )
    end.add_argument(
        "--until-idle",
        type=number(0),
        metavar="SECONDS",
        help="Stop if no new record has come for so many seconds.",
    )


def check(options: argparse.Namespace) -> None:
    """Check what can be known before Spark starts. Raises PipelineError if an option does not fit,
    or if the topic is missing."""
    topics = (options.topic, options.results_topic, options.dead_letters)
    if len(set(topics)) < len(topics):
        raise PipelineError(
            "stream: --topic, --results-topic and --dead-letters are three topics: with one for "
            "two the job would read what it writes"
        )
    if span_ms(options.lateness) > span_ms(options.watermark):
        raise PipelineError(
            f"--lateness {options.lateness} is longer than --watermark {options.watermark}: such "
            "events would be in no sum; give a longer --watermark"
        )
    if as_spark_has_it(options.table) == as_spark_has_it(options.checkpoint):
        raise PipelineError("stream: --table and --checkpoint are two folders")
    check_folder("--table", options.table)
    check_folder("--checkpoint", options.checkpoint)
    Cluster(connection.connection_of(options)).partitions(options.topic)


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Run until a signal, or until the end that the options name, and return the exit code."""
    there = connection.connection_of(options)
    job = StreamJob(spark, there, Cluster(there), options)
    job.prepare()
    job.claim()
    try:
        job.start()
        ended = job.watch(_stopped_by_signal())
    finally:
        job.stop()
    _say(ended)
    return 0


class StreamJob:
    """The two queries of a job, with its checkpoint and its table."""

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
        self._watched = Cluster(there, LOOK_TIMEOUT_S)
        self._topic_id: str | None = None
        self._options = options
        self._checkpoint = as_spark_has_it(options.checkpoint)
        self._table = aggregates.AggregateTable(spark, options.table)
        self._frames: list[DataFrame] = []
        self._queries: list[StreamingQuery] = []
        self._alerts = Alerts()
        self._alerted = -1
        self._teller = Teller()
        self._lock: IO[str] | None = None
        self._unheard = False

    def prepare(self) -> None:
        """Make the frames of both queries. Raises Spark's error if Spark rejects a frame."""
        options = self._options
        sums = aggregates.summed(
            aggregates.once(cdr.events(self._source(), options.lateness), options.watermark),
            options.window,
            options.alert_above,
        )
        self._frames = [sums, cdr.dead_letters(self._source(), options.lateness)]
        for frame in self._frames:
            assert frame.schema.names, "asking for it has Spark look at all of it"

    def claim(self) -> None:
        """Bind checkpoint, table and topic to this stream, and create the topics of the results.

        Raises PipelineError if they belong to another stream, or if a job runs on the checkpoint.
        """
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
        self._topic_id = self._cluster.topic_id(options.topic)
        self._lock = hold(options.checkpoint)
        is_new = claim(
            self._spark,
            options.checkpoint,
            options.table,
            wanted,
            self._topic_id,
            self._check_new,
        )
        self._ensure_topics()
        _say(f"{'begins with' if is_new else 'goes on with'} topic {options.topic}")

    def start(self) -> None:
        """Start both queries."""
        options, set_to = self._options, self._spark.conf.set
        if Files(self._spark, options.checkpoint).is_local:
            set_to(_CHECKPOINT_FILES, _BY_RENAME)
        # Else a second job on the same server of Spark Connect would end the first job's queries.
        set_to(_END_THE_FIRST, str(options.take_over).lower())
        trigger: dict[str, Any] = (
            {"availableNow": True}
            if options.once
            else {"processingTime": f"{options.trigger} seconds"}
        )
        sums, refused = (frame.writeStream.trigger(**trigger) for frame in self._frames)
        if is_remote(self._spark):
            register_pickle_by_value(pipeline)  # type: ignore[no-untyped-call]
        write = SumsWriter(options.table, options.results_topic, self._there.writing())
        self._queries.append(
            _started(
                sums.queryName(AGGREGATES)
                .outputMode("update")
                .option("checkpointLocation", f"{self._checkpoint}/aggregates")
                .foreachBatch(write)
            )
        )
        self._queries.append(
            refused.queryName("dead-letters")
            .format("kafka")
            .options(**self._there.writing())
            .option("topic", options.dead_letters)
            .option("checkpointLocation", f"{self._checkpoint}/dead-letters")
            .start()
        )

    def watch(self, stopped: Callable[[], bool]) -> str:
        """Print progress until the job ends, and return the reason of the end.

        Raises PipelineError if a query failed, or if the topic was made again.
        """
        idle_since: float | None = None
        while True:
            self._raise_failure()
            if self._options.once and not any(query.isActive for query in self._queries):
                self._heard_ends()
                return "done: all that was there is in the results"
            if stopped():
                return "stopped; the same command goes on from here"
            views = self._look()
            idle = bool(views) and all(view.behind == 0 for view in views)
            idle_since = (idle_since or time.monotonic()) if idle else None
            wait = self._options.until_idle
            if wait is not None and idle_since and time.monotonic() - idle_since >= wait:
                return f"done: nothing new for {wait:g} s"
            _sleep(LOOK_S, stopped)

    def _source(self) -> DataFrame:
        return kafka_source.stream(
            self._spark, self._there, self._options.topic, self._options.batch_max
        )

    def _check_new(self) -> None:
        """Check the records of a new stream, and create its topics, before the stream writes."""
        self._check_schema()
        self._ensure_topics()

    def _ensure_topics(self) -> None:
        results = self._options.results_topic
        self._cluster.ensure(results, _RESULT_PARTITIONS, {"cleanup.policy": "compact"})
        self._cluster.ensure(self._options.dead_letters, _RESULT_PARTITIONS)

    def _check_schema(self) -> None:
        """Raise PipelineError if none of the first records is a call detail record."""
        options = self._options
        offsets = self._cluster.offsets(options.topic)
        share = max(1, _SAMPLE // len(offsets))
        ends = {index: min(there.end, there.start + share) for index, there in offsets.items()}
        starts = {index: there.start for index, there in offsets.items()}
        if starts == ends:
            return  # nothing is there yet

        def by_reason(any_time: bool) -> list[Row]:
            sample = kafka_source.batch(
                self._spark, self._there, options.topic, starts, ends, any_time=any_time
            )
            counted = cdr.checked(sample, options.lateness).groupBy("reason").count()
            return counted.orderBy(F.desc("count")).collect()

        counts = kafka_source.with_any_time(by_reason, lambda: None)
        if counts and all(row.reason is not None for row in counts):
            number = sum(row["count"] for row in counts)
            raise PipelineError(
                f"none of the first {number} records of {options.topic} is a call detail record "
                f"({counts[0].reason}): is it the right --topic?"
            )

    def _look(self) -> list[QueryView]:
        """Print what is new, and return the last batch of each query.

        Empty until both queries have a batch, and while no broker answers.
        """
        ends = self._heard_ends()
        if ends is None:
            return []
        last = []
        for query in self._queries:
            views = [
                look(query.name or "", progress, self._options.topic, ends)
                for progress in query.recentProgress
            ]
            for view in views:
                line = self._teller.line(view)
                if line is not None:
                    _say(line)
                if view.name == AGGREGATES and view.rows and view.batch > self._alerted:
                    self._alerted = view.batch
                    self._say_alerts(view.batch)
            last += views[-1:]
        return last if len(last) == len(self._queries) else []

    def _heard_ends(self) -> dict[int, int] | None:
        """Return the end of each partition, or None while no broker answers; Spark's queries go on.

        Raises PipelineError if the topic was made again under the queries, which would read on at
        the old offsets.
        """
        topic = self._options.topic
        try:
            ends, topic_id = self._watched.ends(topic), self._watched.topic_id(topic)
        except PipelineError as error:
            if not self._unheard:
                _say(f"waiting: {error}")
            self._unheard = True
            return None
        if self._unheard:
            _say("a broker answers again")
        self._unheard = False
        if is_another(self._topic_id, topic_id):
            raise PipelineError(
                f"stream: topic {topic} was deleted and made again while it was read: name another "
                "--checkpoint and --table to begin again"
            )
        return ends

    def _say_alerts(self, batch: int) -> None:
        rows = self._table.read_batch(batch)
        for line in self._alerts.new(rows) if rows is not None else ():
            _say(line)

    def _raise_failure(self) -> None:
        for query in self._queries:
            failed = query.exception()
            if failed is not None and kafka_source.fails_on_time(failed):
                raise PipelineError(self._time_refusal()) from failed
            if failed is not None:
                raise PipelineError(f"stream: {told(failed)}") from failed

    def _time_refusal(self) -> str:
        """Return the sentence about a record whose time Spark's source cannot read."""
        topic = self._options.topic
        late = self._cluster.first_from(topic, kafka_source.LAST_READ_MS + 1)
        places = [f"{topic}-{index} at offset {late[index]}" for index in sorted(late)]
        return (
            f"stream: {', '.join(places) or f'a record of {topic}'} has a time that Spark's Kafka "
            "source cannot read (nanoseconds?): copy the others into another topic (ottla consume "
            "--json, ottla produce --json), and name that --topic with another --checkpoint and "
            "--table"
        )

    def stop(self) -> None:
        """End both queries, and release the checkpoint."""
        for query in self._queries:
            with suppress(PySparkException):  # its Spark may be gone
                query.stop()
        if self._lock is not None:
            self._lock.close()


def _started(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query, and return it. Tries again if the server's Python was late.

    A busy server of Spark Connect waits ten seconds for the Python process that writes the
    batches, and often gets the process the next time.
    """
    for left in reversed(range(_STARTS)):
        try:
            return writer.start()
        except PySparkException as error:
            if not left or _NO_WORKER not in str(error):
                raise
            _say("the server's Python did not start in time: once more")
    raise AssertionError("the last try raises")


class Alerts:
    """The alerts of cells that lose calls; each cell and window is printed once."""

    def __init__(self) -> None:
        self._printed: set[tuple[str, str]] = set()

    def new(self, rows: DataFrame) -> list[str]:
        """Return a line for each new alert among the rows of a batch."""
        lines = []
        for row in aggregates.alerts(rows).orderBy("since", "id").limit(_ALERTS_MAX).collect():
            if (row.id, row.since) not in self._printed:
                self._printed.add((row.id, row.since))
                lines.append(
                    f"alert: cell {row.id} dropped {row.drops} of {row.calls} calls "
                    f"({row.drop_rate:.0%}) in the window from {row.since}"
                )
        return lines


def _stopped_by_signal() -> Callable[[], bool]:
    """Return a function that returns whether SIGINT or SIGTERM has come since."""
    came: list[int] = []
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: came.append(1))
    return lambda: bool(came)


def _sleep(seconds: float, stopped: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stopped():
        time.sleep(0.1)


def _say(text: str) -> None:
    print(f"stream: {text}", file=sys.stderr, flush=True)
