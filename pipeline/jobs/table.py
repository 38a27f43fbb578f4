"""The job `table`: writes a topic to a table of Delta, Iceberg or Parquet, each offset once.

Runs once, every N seconds, or for ever: a loop of bounded batches, each from the table's end. Rows
and offsets are one transaction of the table (`pipeline.tables`), so no checkpoint and no consumer
group takes part, and the job may be killed at any moment. A job that repeats waits for servers that
do not answer, and then reads the table's end again. Small files are merged on the way.
Owns the loop and its lines; `pipeline.filling` decides what a run reads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from pipeline import sources
from pipeline.columns import options as column_options
from pipeline.columns.columns import KEY as COLUMNS
from pipeline.columns.columns import Columns
from pipeline.columns.held_names import check_names
from pipeline.columns.kept_columns import kept_columns
from pipeline.columns.options import columns_of
from pipeline.columns.plain import Raw
from pipeline.columns.schema_text import told
from pipeline.errors import PipelineError, Unreachable
from pipeline.filling.first_offsets import FORMS as FIRST_FORMS
from pipeline.filling.first_offsets import FirstOffsets, first_offsets
from pipeline.filling.held_back import HeldBack
from pipeline.filling.open_transactions import open_transactions
from pipeline.filling.outages import Outages, outage_of
from pipeline.filling.run_plan import (
    RunPlan,
    led_by_others,
    next_batch,
    plan_run,
    refuse_cut_off,
)
from pipeline.filling.target import Target
from pipeline.options import check_folder, number, place, table_place, topic, whole
from pipeline.sources import TopicState
from pipeline.spark.kafka_source import with_any_time
from pipeline.spark.memory import with_memory
from pipeline.spark.session import Needs
from pipeline.spark.waiting import Say, busy, teller
from pipeline.tables.dead_letter_limit import DeadLetterLimit, counted, limit
from pipeline.tables.progress import DEAD_LETTERS, ROWS, is_another
from pipeline.tables.table import FORMATS, open_table, wants
from pipeline.topics import Offsets

BATCH_MAX = 1_000_000
FILE_MIB = 128
MERGE_ABOVE = 50
IDLE_S = 1.0
SAMPLE = 10_000
_KEPT = StorageLevel.DISK_ONLY
"""The place of a batch's records between the passes: a batch has a bounded number of records, but
may have more bytes than Spark has memory."""
T = TypeVar("T")
_TRIES_OF_LOST = 5
"""The number of tries of a run whose records the topic deletes while they are read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job."""
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
    parser.add_argument(
        "--max-dead-letters",
        type=limit,
        metavar="N|N%",
        help="End with exit code 3 after a run with which more than N records, or more than N "
        "percent of them, are dead letters. What is committed stays. [default: no limit]",
    )
    add_offset_arguments(parser)
    add_loop_arguments(parser)
    column_options.add_arguments(parser)


def add_offset_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for where the table begins, and for offsets that are lost."""
    parser.add_argument(
        "--from",
        dest="first",
        type=first_offsets,
        metavar="PLACE",
        help=f"Begin a new table at this place in each partition: {FIRST_FORMS}. "
        "[default: earliest]",
    )
    parser.add_argument(
        "--skip-lost",
        action="store_true",
        help="Go on if the topic has deleted offsets before they were loaded. The commit names "
        "them, and audit reports them. [default: end with a line]",
    )


def add_loop_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for when the job runs, and how large batches and files are."""
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
    when.add_argument(
        "--dry-run",
        action="store_true",
        help="Print the columns that the table would have, and write nothing.",
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
    """Check what can be known before Spark starts. Raises PipelineError for what is missing. A job
    that repeats waits here for servers that do not answer."""
    for option, path in (("--table", options.table), ("--dead-letters", options.dead_letters)):
        if path is not None:
            check_folder(option, path)
    try:
        _ask_servers(options)
    except Unreachable as error:
        if not _repeats(options):
            raise
        Outages(teller(options.job)).wait(error, partial(_ask_servers, options))


def _ask_servers(options: argparse.Namespace) -> None:
    """Raise Unreachable if the registry or the cluster does not answer, PipelineError for what the
    job cannot be run with."""
    column_options.check(options)
    sources.check(options)


def _repeats(options: argparse.Namespace) -> bool:
    return options.every is not None or options.for_ever


def _table_path(options: argparse.Namespace) -> str:
    return options.table or place(f"pipeline-data/{options.topic}")


def _dead_letters_path(options: argparse.Namespace) -> str:
    return options.dead_letters or f"{_table_path(options).rstrip('/')}-dead-letters"


def needs(options: argparse.Namespace) -> Needs:
    """Return the jars, extensions and catalogs of the table's and the columns' formats."""
    needed = needs_of([options.to], options)
    return replace(needed, packages=(*needed.packages, *column_options.packages(options)))


def needs_of(forms: Sequence[str], options: argparse.Namespace) -> Needs:
    """Return what these formats need of Spark."""
    local = not options.remote and (options.master or "local").startswith("local")
    return Needs(*wants(forms, local))


def run(spark: SparkSession, options: argparse.Namespace) -> int:
    """Fill the table, and return the exit code."""
    say = teller(options.job)
    held_back = HeldBack(
        options.topic,
        say,
        lambda partitions: open_transactions(sources.reading(options), options.topic, partitions),
        repeats=_repeats(options),
    )
    letter_limit = DeadLetterLimit(
        options.max_dead_letters, _repeats(options), _dead_letters_path(options)
    )
    if not _repeats(options):
        job = Filling(spark, options, say, held_back, letter_limit)
        if options.dry_run:
            job.show()
        else:
            job.catch_up()
        return 0
    outages, ask = Outages(say), partial(_ask_servers, options)
    opened: Filling | None = None
    while True:
        began = time.monotonic()
        try:
            if opened is None:
                opened = Filling(spark, options, say, held_back, letter_limit)
            loaded = opened.catch_up()
        except Exception as error:
            outage = outage_of(error, ask)
            if outage is None:
                raise
            outages.wait(outage, ask)
            # The outage may have come before or after a commit, so read the table's end again.
            opened = None
            continue
        outages.worked()
        wanted = options.every if options.every is not None else 0.0 if loaded else IDLE_S
        time.sleep(max(0.0, began + wanted - time.monotonic()))


class Filling:
    """A topic, its table and its dead letters, and how far both hold the topic."""

    def __init__(
        self,
        spark: SparkSession,
        options: argparse.Namespace,
        say: Say,
        held_back: HeldBack,
        letter_limit: DeadLetterLimit,
    ) -> None:
        self._spark = spark
        self._options = options
        self._say = say
        self._held_back = held_back
        self._limit = letter_limit
        self._source = sources.source_of(spark, options)
        self._topic: str = options.topic
        self._first: FirstOffsets | None = options.first
        rows, letters = (
            open_table(spark, options.to, path, say)
            for path in (_table_path(options), _dead_letters_path(options))
        )
        self._table = Target(rows, options, ROWS, say)
        self._letters = Target(letters, options, DEAD_LETTERS, say)
        self._columns: Columns | None = None
        self._starts: Mapping[int, int] = {}
        """The offsets from which the present or the last run has still to read."""
        self._epochs: dict[int, int] = {}
        """The leader epochs, since the last commit, in which the log held the table's end."""

    def show(self) -> None:
        """Print a line for each column that the table would have, and say how much is to be
        read."""
        state = self._source.state()
        with busy(self._say, f"looking at {self._table.path} and its columns"):
            self._open(state)
        self._check_not_cut_off(state)
        plan = self._plan(state)
        assert self._columns is not None, "it is open"
        for column in self._columns.schema:
            print(f"{column.name} {told(column.dataType)}")
        self._say(f"{plan.offsets:,} offsets of {self._topic} are new; nothing was written")

    def catch_up(self) -> int:
        """Load up to where the topic ends now, and return the number of offsets.

        With `--skip-lost`, offsets that the topic deletes meanwhile are skipped.
        """
        for left in reversed(range(_TRIES_OF_LOST)):
            try:
                return self._catch_up()
            except PipelineError:
                raise
            except Exception:
                # Spark has several errors for deleted offsets, so look at the topic instead.
                if not left or not self._has_lost():
                    raise
        raise AssertionError("the last try raises")

    def _catch_up(self) -> int:
        state = self._source.state()
        if self._columns is None:
            with busy(self._say, f"looking at {self._table.path} and its columns"):
                self._open(state)
        else:
            for target in (self._table, self._letters):
                target.check(self._topic, state)
        self._check_not_cut_off(state)
        self._held_back.look(state.offsets)
        plan = self._plan(state)
        begins = self._first is not None and not self._table.has_begun
        # A commit without rows saves where the table begins, or which offsets it has skipped.
        kept = set(plan.starts) if begins else {gap.partition for gap in plan.gaps}
        if plan.offsets == 0 and not kept:
            if not self._options.for_ever:
                self._say(f"nothing new in {self._topic}")
            return 0
        if plan.offsets:
            self._say(f"{plan.offsets:,} offsets of {self._topic} are new")
        starts, gaps, done = dict(plan.starts), plan.gaps, 0
        self._starts = starts
        while starts != plan.ends or kept:
            ends = next_batch(starts, plan.ends, self._options.batch_max)
            ends |= {index: starts[index] for index in kept if index not in ends}
            batch = RunPlan({index: starts[index] for index in ends}, ends, gaps)
            done += self._load(batch, state)
            starts |= ends
            kept, gaps = set(), ()
            if done < plan.offsets:
                self._say(f"{done:,} of {plan.offsets:,}")
        return done

    def _plan(self, state: TopicState) -> RunPlan:
        return plan_run(
            self._topic,
            state,
            self._table.reached.ends,
            skips_lost=self._options.skip_lost,
            now_s=time.time(),
        )

    def _has_lost(self) -> bool:
        """Return whether the topic has deleted offsets that a run was to read, and `--skip-lost`
        is given."""
        if not self._options.skip_lost or not self._starts:
            return False
        offsets = self._source.state().offsets
        return any(
            index in offsets and offsets[index].start > start
            for index, start in self._starts.items()
        )

    def _check_not_cut_off(self, state: TopicState) -> None:
        """Raise PipelineError if the topic has lost records that the table holds, and may have
        others at their offsets."""
        reached = self._table.reached
        positions = led_by_others(state, reached.ends, {**reached.epochs, **self._epochs})
        if positions:
            refuse_cut_off(self._topic, reached.ends, self._source.cut_off(positions))
            for partition in positions:
                epoch = state.offsets[partition].leader_epoch
                assert epoch is not None, "it differs from a known one"
                self._epochs[partition] = epoch

    def _open(self, state: TopicState) -> None:
        for target in (self._table, self._letters):
            target.open(self._topic, state)
        if self._first is not None:
            # After an outage, the table may exist because this job's own run made it.
            if self._first.found is None:
                self._table.refuse_beginning(self._first)
            first = self._first.find(self._topic, state.offsets, self._source.first_from)
            if not self._table.has_begun:
                self._table.begin(first)
        kept = self._table.properties().get(COLUMNS)
        self._columns = self._read_with(
            lambda any_time: columns_of(
                self._options, kept, lambda: self._sample(state.offsets, any_time)
            )
        )
        if kept is not None:
            self._table.expect(kept_columns(kept))
        self._table.keep(COLUMNS, self._columns.to_text())

    def _sample(self, offsets: Mapping[int, Offsets], any_time: bool) -> DataFrame:
        """Return the newest records, in which a schema is found."""
        ends = {index: there.end for index, there in offsets.items()}
        each = -(-SAMPLE // len(ends))
        starts = {index: max(there.start, there.end - each) for index, there in offsets.items()}
        return self._source.batch(starts, ends, any_time)

    def _tell_of_time(self) -> None:
        self._say(
            "a record has a time that Spark's Kafka source cannot read: confluent-kafka reads these"
        )

    def _load(self, batch: RunPlan, state: TopicState) -> int:
        """Commit the rows of a batch, after its dead letters if there are any; return the number of
        offsets."""
        return self._read_with(lambda any_time: self._load_by(batch, state, any_time))

    def _read_with(self, look: Callable[[bool], T]) -> T:
        """Return the result of `look(any_time)`, and look again, in another way, at records that
        Spark cannot read in the usual one."""
        return with_memory(
            self._spark, lambda: with_any_time(look, self._tell_of_time), self._tell_of_memory
        )

    def _tell_of_memory(self) -> None:
        self._say("Spark had too little memory for these records: reading fewer at a time")

    def _load_by(self, batch: RunPlan, state: TopicState, any_time: bool) -> int:
        began = time.monotonic()
        assert self._columns is not None, "it is open"
        starts, ends, count = batch.starts, batch.ends, batch.offsets
        epochs = {index: state.offsets[index].leader_epoch for index in ends}
        records = self._source.batch(starts, ends, any_time)
        checked = self._columns.checked(records)
        refused = dead_letters = 0
        formats = (self._columns.key, self._columns.value)
        if not all(isinstance(form, Raw) for form in formats):
            # Read and parse records once for three passes: new columns, dead letters and rows.
            checked = checked.persist(_KEPT)
        try:
            with busy(self._say, f"reading {count:,} offsets"):
                # A pass may add an object in which the next pass finds more, such as a rare field.
                while (wider := self._columns.grown(checked)) is not self._columns:
                    check_names(self._options.to, wider.schema)
                    self._columns = wider
                    self._table.keep(COLUMNS, wider.to_text())
                    checked.unpersist()
                    checked = wider.checked(records).persist(_KEPT)
                rows, misfits = self._columns.split(checked)
                if checked.is_cached:
                    new = not_yet(misfits, self._letters.reached.ends, starts)
                    refused = new.count()
                    dead_letters = refused if new is misfits else misfits.count()
            self._check_not_made_again(state.topic_id)
            with busy(self._say, f"committing rows of {count:,} offsets"):
                if refused:
                    self._letters.append(new, starts, ends)
                added = self._table.append(rows, starts, ends, batch.gaps, known(epochs))
        finally:
            if checked.is_cached:
                checked.unpersist()
        self._epochs.clear()
        # Raw records are read only while they are committed, so check again.
        self._check_not_made_again(state.topic_id)
        bad = f", {counted(refused, 'dead letter')} into {self._letters.path}" if refused else ""
        self._say(
            f"run {self._table.reached.run}: {count:,} offsets of {len(ends)} partitions into "
            f"{self._table.path}: {counted(added, 'row')}{bad}{self._skipped(batch)} in "
            f"{time.monotonic() - began:.1f} s"
        )
        self._table.look_after()
        self._limit.check(added, dead_letters)
        return count

    def _skipped(self, batch: RunPlan) -> str:
        """Return the part of a run's line that names its gaps."""
        places = ", ".join(gap.text(self._topic) for gap in batch.gaps)
        return f", without {places}, which were deleted before," if places else ""

    def _check_not_made_again(self, topic_id: str | None) -> None:
        """Raise PipelineError if the topic was made again since its offsets were asked for."""
        if is_another(topic_id, self._source.topic_id()):
            raise PipelineError(
                f"topic {self._topic} was deleted and made again while it was read: name another "
                "--table to begin again"
            )


def not_yet(misfits: DataFrame, reached: Mapping[int, int], starts: Mapping[int, int]) -> DataFrame:
    """Return the misfits without those that a run has committed before it died without its rows."""
    for partition, end in reached.items():
        if end > starts.get(partition, end):
            misfits = misfits.where(f"partition <> {partition} OR offset >= {end}")
    return misfits


def known(epochs: Mapping[int, int | None]) -> dict[int, int]:
    """Return the epochs without partitions whose epoch no broker has given."""
    return {partition: epoch for partition, epoch in epochs.items() if epoch is not None}
