"""A table that the job `table` fills, of rows or dead letters, and how far it holds a topic.

Owns the work on a table beside its commits: properties, merges, the deletion of old versions.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from pipeline.filling.first_offsets import FirstOffsets
from pipeline.sources import TopicState
from pipeline.spark.waiting import Say, busy
from pipeline.tables.progress import KEY, Gap, Progress
from pipeline.tables.table import Table

_MIB = 1024 * 1024
_REMEMBERED_EVERY = 20


class Target:
    """A table, and how far it holds the topic."""

    def __init__(self, table: Table, options: argparse.Namespace, of: str, say: Say) -> None:
        self._options = options
        self._say = say
        self._table = table
        self.path = table.path
        self.reached = Progress("", "", 0, {}, {}, of)
        self._there = False
        self._is_without_id = False
        self._has_new_gaps = False
        self._kept: dict[str, str] = {}

    def open(self, topic: str, state: TopicState) -> None:
        """Read how far the table holds the topic. Raises PipelineError for a table of another
        topic, or one that this job did not make."""
        progress = self._table.progress()
        if progress is None:
            self.reached = replace(
                self.reached, topic=topic, cluster_id=state.cluster_id, topic_id=state.topic_id
            )
            return
        progress.check(topic, state.cluster_id, state.topic_id, self.path)
        # An older version wrote it: the next commit has the id.
        self._is_without_id = progress.topic_id is None and state.topic_id is not None
        self.reached = replace(progress, topic_id=progress.topic_id or state.topic_id)
        self._there = True

    @property
    def has_begun(self) -> bool:
        """Whether the table has the commit of a run."""
        return self.reached.run > 0

    def begin(self, offsets: Mapping[int, int]) -> None:
        """Make a table without a commit begin at these offsets, by partition."""
        self.reached = replace(self.reached, began=dict(offsets), ends=dict(offsets))

    def refuse_beginning(self, first: FirstOffsets) -> None:
        """Raise PipelineError for `--from` if the table has begun."""
        if self.has_begun:
            first.refuse_table(self.path, self.reached)

    def check(self, topic: str, state: TopicState) -> None:
        """Raise PipelineError if the topic is another one than at `open`."""
        self.reached.check(topic, state.cluster_id, state.topic_id, self.path)

    def properties(self) -> dict[str, str]:
        """Return the table's properties, an empty mapping if the table does not exist yet."""
        return self._table.properties() if self._there else {}

    def expect(self, columns: StructType) -> None:
        """Raise PipelineError if a user renamed one of these columns, which earlier runs wrote."""
        self._table.expect(columns)

    def keep(self, key: str, text: str) -> None:
        """Keep a property with the table; the next commit writes it."""
        self._kept.pop(key, None)
        if self.properties().get(key) != text:
            self._kept[key] = text

    def append(
        self,
        rows: DataFrame,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        gaps: Sequence[Gap] = (),
        epochs: Mapping[int, int] | None = None,
    ) -> int:
        """Commit rows, and return their number. The other arguments are those of
        `Progress.following`."""
        if not self._there:
            kept = {**self._kept, KEY: self.reached.text()}
            self._table.create(rows.schema, kept)
            self._there = True
        elif self._kept:
            self._table.remember(self._kept)
        self._kept = {}
        following = self.reached.following(starts, ends, gaps, epochs)
        added = self._table.append(arranged(rows), following)
        self.reached = following
        self._has_new_gaps |= bool(gaps)
        return added

    def look_after(self) -> None:
        """Save the progress and merge files after some runs, by the run's number, so that a job of
        one run does so, too."""
        options = self._options
        is_due = self.reached.run % _REMEMBERED_EVERY == 0
        if is_due or self._is_without_id or self._has_new_gaps:
            self._remember()
            self._is_without_id = self._has_new_gaps = False
        if options.merge_above and self.reached.run % max(1, options.merge_above // 5) == 0:
            self._merge(options.file_size * _MIB)

    def _remember(self) -> None:
        """Keep the progress among the table's properties, which do not expire as commits do."""
        self._table.remember({KEY: self.reached.text()})

    def _merge(self, target_bytes: int) -> None:
        """Merge small files if the table has over `--merge-above` more files than it requires; with
        `--keep-days`, delete old versions after that."""
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


def arranged(rows: DataFrame) -> DataFrame:
    """Return rows so that Spark writes few files, each sorted by time."""
    return rows.hint("rebalance").sortWithinPartitions("timestamp", "partition", "offset")


def too_many(files: int, size_bytes: int, target_bytes: int) -> int:
    """Return the number of files beyond those that `target_bytes` requires."""
    return files - -(-size_bytes // target_bytes)
