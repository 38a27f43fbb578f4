"""The job `table`: a topic becomes a table of Delta, Iceberg or Parquet, each offset once.

Once, every N seconds, or for ever: a loop of bounded batches, each from where the table ends. Rows
and offsets are one transaction of the table (`pipeline.tables`), so no checkpoint and no consumer
group takes part, and the job may be killed at any moment. Small files are merged on the way. Owns
the loop and what is said of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from pipeline import sources
from pipeline.columns import options as column_options
from pipeline.columns.columns import KEY as COLUMNS
from pipeline.columns.columns import Columns
from pipeline.columns.held_names import check_names
from pipeline.columns.options import columns_of
from pipeline.columns.plain import Raw
from pipeline.errors import PipelineError
from pipeline.options import check_folder, number, place, table_place, topic, whole
from pipeline.sources import TopicState
from pipeline.spark.kafka_source import with_any_time
from pipeline.spark.session import Needs
from pipeline.spark.waiting import Say, busy, teller
from pipeline.tables.progress import DEAD_LETTERS, KEY, ROWS, Progress, is_another
from pipeline.tables.table import FORMATS, Table, open_table, wants
from pipeline.topics import Offsets

BATCH_MAX = 1_000_000
FILE_MIB = 128
MERGE_ABOVE = 50
IDLE_S = 1.0
SAMPLE = 10_000
_MIB = 1024 * 1024
_REMEMBERED_EVERY = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    sources.add_arguments(parser)
    parser.add_argument(
        "--topic", type=topic, required=True, metavar="TOPIC", help="Read this topic."
    )
    parser.add_argument(
        "--to",
        choices=FORMATS,
        default="delta",
        help="Write the table in this format. [default: %(default)s]",
    )
    parser.add_argument(
        "--table",
        type=table_place,
        metavar="PATH",
        help="Write the table to this folder, or to this URI in an object store. [default: "
        "pipeline-data/TOPIC]",
    )
    parser.add_argument(
        "--dead-letters",
        type=table_place,
        metavar="PATH",
        help="Write records that do not fit the table to this folder. [default: "
        "TABLE-dead-letters]",
    )
    add_loop_arguments(parser)
    column_options.add_arguments(parser)


def add_loop_arguments(parser: argparse.ArgumentParser) -> None:
    """When it runs, and how large batches and files are."""
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--every",
        type=number(0.001),
        metavar="SECONDS",
        help="Begin a run so many seconds after the last one began.",
    )
    when.add_argument(
        "--for-ever",
        action="store_true",
        help="Begin a run as soon as the topic has new records.",
    )
    add = parser.add_argument
    add(
        "--batch-max",
        type=whole(1),
        default=BATCH_MAX,
        metavar="OFFSETS",
        help="Write at most about so many offsets in a commit. [default: %(default)s]",
    )
    add(
        "--file-size",
        type=whole(1),
        default=FILE_MIB,
        metavar="MiB",
        help="Write files of about so many MiB. [default: %(default)s]",
    )
    add(
        "--merge-above",
        type=whole(0),
        default=MERGE_ABOVE,
        metavar="FILES",
        help="Merge small files if there are more than so many beyond what --file-size requires; "
        "0: never. [default: %(default)s]",
    )
    add(
        "--sort-all",
        action="store_true",
        help="Sort the whole table by time when files are merged.",
    )
    add(
        "--keep-days",
        type=whole(1),
        metavar="DAYS",
        help="Delete versions of the table that are older than so many days when files are merged.",
    )


def check(options: argparse.Namespace) -> None:
    """What can be known before Spark starts; PipelineError for what is missing."""
    for option, path in (("--table", options.table), ("--dead-letters", options.dead_letters)):
        if path is not None:
            check_folder(option, path)
    column_options.check(options)
    sources.check(options)


def needs(options: argparse.Namespace) -> Needs:
    """The jars of the table's and the columns' formats, extensions and catalogs."""
    found = needs_of([options.to], options)
    return replace(found, packages=(*found.packages, *column_options.packages(options)))


def needs_of(forms: Sequence[str], options: argparse.Namespace) -> Needs:
    """What these formats want of Spark."""
    local = not options.remote and (options.master or "local").startswith("local")
    return Needs(*wants(forms, local))


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Fill the table; the exit code."""
    job = Filling(spark, options, teller(options.job))
    while True:
        began = time.monotonic()
        loaded = job.catch_up()
        if options.every is None and not options.for_ever:
            return 0
        wanted = options.every if options.every is not None else 0.0 if loaded else IDLE_S
        time.sleep(max(0.0, began + wanted - time.monotonic()))


class Filling:
    """A topic, its table and its dead letters, and how far the one is in the others."""

    def __init__(self, spark: SparkSession, options: argparse.Namespace, say: Say) -> None:
        self._spark = spark
        self._options = options
        self._say = say
        self._source = sources.source_of(spark, options)
        self._topic: str = options.topic
        path = options.table or place(f"pipeline-data/{options.topic}")
        letters = options.dead_letters or f"{path.rstrip('/')}-dead-letters"
        self._table = Target(open_table(spark, options.to, path), options, ROWS, say)
        self._letters = Target(open_table(spark, options.to, letters), options, DEAD_LETTERS, say)
        self._columns: Columns | None = None

    def catch_up(self) -> int:
        """Up to where the topic ends now; how many offsets that were."""
        state = self._source.state()
        if self._columns is None:
            with busy(self._say, f"looking at {self._table.path} and its columns"):
                self._open(state)
        else:
            for target in (self._table, self._letters):
                target.check(self._topic, state)
        starts, ends = to_read(self._topic, state, self._table.reached.ends)
        wanted = sum(ends.values()) - sum(starts.values())
        if wanted == 0:
            if not self._options.for_ever:
                self._say(f"nothing new in {self._topic}")
            return 0
        self._say(f"{wanted:,} offsets of {self._topic} are new")
        done = 0
        while starts != ends:
            batch = bounded(starts, ends, self._options.batch_max)
            done += self._load({one: starts[one] for one in batch}, batch, state.topic_id)
            starts |= batch
            if done < wanted:
                self._say(f"{done:,} of {wanted:,}")
        return done

    def _open(self, state: TopicState) -> None:
        for one in (self._table, self._letters):
            one.open(self._topic, state)
        kept = self._table.properties().get(COLUMNS)
        self._columns = with_any_time(
            lambda any_time: columns_of(
                self._options, kept, lambda: self._sample(state.offsets, any_time)
            ),
            self._tell_of_time,
        )
        self._table.keep(COLUMNS, self._columns.to_text())

    def _sample(self, offsets: Mapping[int, Offsets], any_time: bool) -> DataFrame:
        """The newest records: what a schema is found in."""
        ends = {one: there.end for one, there in offsets.items()}
        each = -(-SAMPLE // len(ends))
        starts = {one: max(there.start, there.end - each) for one, there in offsets.items()}
        return self._source.batch(starts, ends, any_time)

    def _tell_of_time(self) -> None:
        self._say(
            "a record has a time that Spark's Kafka source cannot read: confluent-kafka reads these"
        )

    def _load(
        self, starts: Mapping[int, int], ends: Mapping[int, int], topic_id: str | None
    ) -> int:
        """One commit of rows, behind one of dead letters if there are any; how many offsets."""
        return with_any_time(
            lambda any_time: self._load_by(starts, ends, topic_id, any_time), self._tell_of_time
        )

    def _load_by(
        self,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        topic_id: str | None,
        any_time: bool,
    ) -> int:
        began = time.monotonic()
        assert self._columns is not None, "it is open"
        count = sum(ends.values()) - sum(starts.values())
        records = self._source.batch(starts, ends, any_time)
        checked = self._columns.checked(records)
        refused = 0
        if not all(isinstance(one, Raw) for one in (self._columns.key, self._columns.value)):
            # Read and parsed once, for what is new, what is refused and what fits.
            checked = checked.persist()
        try:
            with busy(self._say, f"reading {count:,} offsets"):
                # What one look finds may hide more: a rare field inside an object that was new.
                while (wider := self._columns.grown(checked)) is not self._columns:
                    check_names(self._options.to, wider.schema)
                    self._columns = wider
                    self._table.keep(COLUMNS, wider.to_text())
                    checked.unpersist()
                    checked = wider.checked(records).persist()
                rows, misfits = self._columns.split(checked)
                if checked.is_cached:
                    new = not_yet(misfits, self._letters.reached.ends, starts)
                    refused = new.count()
            self._check_not_made_again(topic_id)
            with busy(self._say, f"committing rows of {count:,} offsets"):
                if refused:
                    self._letters.append(new, starts, ends)
                self._table.append(rows, starts, ends)
        finally:
            if checked.is_cached:
                checked.unpersist()
        # What is kept as it is has been read in the commit alone.
        self._check_not_made_again(topic_id)
        bad = f", {refused:,} records into {self._letters.path}" if refused else ""
        self._say(
            f"run {self._table.reached.run}: {count:,} offsets of {len(ends)} partitions into "
            f"{self._table.path}{bad} in {time.monotonic() - began:.1f} s"
        )
        self._table.look_after()
        return count

    def _check_not_made_again(self, topic_id: str | None) -> None:
        """PipelineError where the topic is not the one any more whose offsets were asked for."""
        if is_another(topic_id, self._source.topic_id()):
            raise PipelineError(
                f"topic {self._topic} was deleted and made again while it was read: name another "
                "--table to begin again"
            )


class Target:
    """One of both tables, and how far it holds the topic."""

    def __init__(self, table: Table, options: argparse.Namespace, of: str, say: Say) -> None:
        self._options = options
        self._say = say
        self._table = table
        self.path = table.path
        self.reached = Progress("", "", 0, {}, {}, of)
        self._there = False
        self._is_without_id = False
        self._kept: dict[str, str] = {}

    def open(self, topic: str, state: TopicState) -> None:
        """PipelineError where it is another topic's, or somebody else's."""
        found = self._table.progress()
        if found is None:
            self.reached = replace(
                self.reached, topic=topic, cluster_id=state.cluster_id, topic_id=state.topic_id
            )
            return
        found.check(topic, state.cluster_id, state.topic_id, self.path)
        # An older version wrote it: the next commit has the id.
        self._is_without_id = found.topic_id is None and state.topic_id is not None
        self.reached = replace(found, topic_id=found.topic_id or state.topic_id)
        self._there = True

    def check(self, topic: str, state: TopicState) -> None:
        """PipelineError where the topic is another one since it was opened."""
        self.reached.check(topic, state.cluster_id, state.topic_id, self.path)

    def properties(self) -> dict[str, str]:
        """What is kept with it; nothing where it is not there yet."""
        return self._table.properties() if self._there else {}

    def keep(self, key: str, text: str) -> None:
        """With the table, from before its next commit on."""
        if self._there and self._table.properties().get(key) != text:
            self._table.remember({key: text})
        self._kept[key] = text

    def append(self, rows: DataFrame, starts: Mapping[int, int], ends: Mapping[int, int]) -> None:
        """One commit."""
        if not self._there:
            kept = {**self._kept, KEY: self.reached.text()}
            self._table.create(rows.schema, kept)
            self._there = True
        following = self.reached.following(starts, ends)
        self._table.append(arranged(rows), following)
        self.reached = following

    def look_after(self) -> None:
        """What need not be done at each run, by its number: a job of one run does it, too."""
        options = self._options
        if self.reached.run % _REMEMBERED_EVERY == 0 or self._is_without_id:
            self._remember()
            self._is_without_id = False
        if options.merge_above and self.reached.run % max(1, options.merge_above // 5) == 0:
            self._merge(options.file_size * _MIB)

    def _remember(self) -> None:
        """How far it is, where no aging commit takes it away."""
        self._table.remember({KEY: self.reached.text()})

    def _merge(self, target_bytes: int) -> None:
        """Small files, where there are too many of them."""
        options, before = self._options, self._table.size()
        if before.size_bytes is None:
            return
        if too_many(before.files, before.size_bytes, target_bytes) <= options.merge_above:
            return
        with busy(self._say, f"merging {before.files:,} files"):
            self._table.merge(target_bytes, options.sort_all)
        self._say(f"merged small files: {before.files:,} before, {self._table.size().files:,} now")
        if options.keep_days is not None:
            self._remember()
            self._table.forget(options.keep_days)


def not_yet(misfits: DataFrame, reached: Mapping[int, int], starts: Mapping[int, int]) -> DataFrame:
    """Without those that were committed by a run that died before it came to the rows."""
    for partition, end in reached.items():
        if end > starts.get(partition, end):
            misfits = misfits.where(f"partition <> {partition} OR offset >= {end}")
    return misfits


def arranged(rows: DataFrame) -> DataFrame:
    """In as few files as their size asks for, each sorted by time."""
    return rows.hint("rebalance").sortWithinPartitions("timestamp", "partition", "offset")


def to_read(
    topic: str, state: TopicState, reached: Mapping[int, int]
) -> tuple[dict[int, int], dict[int, int]]:
    """From where to where, by partition. PipelineError where records or partitions are gone: of a
    cluster without topic ids that alone shows a new topic under the old name. A partition that is
    new is read from its start."""
    starts, ends = {}, {}
    gone = ", ".join(str(one) for one in sorted(reached) if one not in state.offsets)
    if gone and state.has_all_partitions:
        raise PipelineError(
            f"the table holds partitions of {topic} that the topic has not ({gone}): it was "
            "deleted and made again; name another --table to begin again"
        )
    for partition, there in state.offsets.items():
        start = reached.get(partition, there.start)
        if start < there.start:
            raise PipelineError(
                f"offsets {start} to {there.start - 1} of {topic}-{partition} were deleted before "
                "they were loaded: load into another --table to begin where the topic begins now"
            )
        if start > there.end:
            raise PipelineError(
                f"the table holds {topic}-{partition} up to offset {start}, the topic ends at "
                f"{there.end}: it was deleted and made again, or has lost its newest records; name "
                "another --table to begin again"
            )
        starts[partition], ends[partition] = start, there.end
    return starts, ends


def bounded(starts: Mapping[int, int], ends: Mapping[int, int], batch_max: int) -> dict[int, int]:
    """Where the next batch of about `batch_max` offsets ends: a share of each partition that has
    some, so that all of them come to their end together."""
    left = {one: end - starts[one] for one, end in ends.items() if end > starts[one]}
    total = sum(left.values())
    if total <= batch_max:
        return {one: ends[one] for one in left}
    return {one: starts[one] + max(1, count * batch_max // total) for one, count in left.items()}


def too_many(files: int, size_bytes: int, target_bytes: int) -> int:
    """How many files more there are than files of the wanted size would be."""
    return files - -(-size_bytes // target_bytes)
