"""A table that `table` or `load` filled, as an audit reads it: rows and dead letters together.

The table may have any format. Its commits say which offsets the table must hold. If the oldest
commits are gone, these are the offsets from its first row to the end of its newest commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.auditing.records_view import PARTS
from pipeline.columns.columns import KEY, field_names
from pipeline.errors import PipelineError
from pipeline.sources import UNKNOWN_CLUSTER
from pipeline.tables.progress import Gap, Progress, ranges, skipped_in
from pipeline.tables.table import open_table
from pipeline.tables.table_records import bytes_of, keeps_bytes, keeps_values, value_of
from pipeline.topics import Offsets

_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True, slots=True)
class AuditedTable:
    """The rows and dead letters of a table, and the offsets that its commits name."""

    records: DataFrame
    """The rows as records, and the dead letters as they were."""
    runs: int
    """The number of the newest run."""
    ranges: Mapping[int, tuple[int, int]]
    """The first offset that the table must hold of each partition, and the offset after the
    last."""
    holes: list[str]
    """A sentence for offsets that are missing between two commits."""
    progress: Progress
    """The newest commit, which names the topic."""
    keeps_values: bool
    """Whether the table keeps values as they were; if not, they are JSON of the columns."""
    keeps_keys: bool
    """Whether the table keeps keys as they were."""
    skipped: list[Gap] = field(default_factory=list)
    """The gaps in `ranges` that commits name: offsets that the topic had deleted."""

    def is_of(self, topic: str, cluster_id: str) -> bool:
        """Return whether the table was loaded from a topic of this name in this cluster."""
        return self.progress.topic == topic and self.progress.cluster_id in (
            cluster_id,
            UNKNOWN_CLUSTER,
        )

    def common_starts(self, offsets: Mapping[int, Offsets]) -> dict[int, int]:
        """Return the offset from which the table and the topic with these `offsets` can both have
        records, of each partition in which that is not the start of both.

        The topic may have deleted records that the table has. A table that was begun with
        `--from` may lack records before; other tables may not.
        """
        starts = {}
        for partition, there in offsets.items():
            began = self.progress.began.get(partition, 0)
            first, _ = self.ranges.get(partition, (began, began))
            if there.start > first or began > there.start:
                starts[partition] = max(there.start, began)
        return starts

    def parts(self, topic: str, cluster_id: str) -> list[str]:
        """Return the parts by which the table's records are compared with those of a topic.

        A record that was sent to another topic has another place there, and perhaps another time.
        """
        of_place = ("partition", "offset", "timestamp")
        return [
            part
            for part in PARTS
            if (part not in of_place or self.is_of(topic, cluster_id))
            and (part != "value" or self.keeps_values)
            and (part != "key" or self.keeps_keys)
        ]


def looked_at(
    spark: SparkSession,
    form: str,
    path: str,
    letters: str | None,
    version: str | None = None,
    time: str | None = None,
) -> AuditedTable:
    """Return the table at `path` with its dead letters. Raises PipelineError if there is no table.

    `letters`: the path of the dead letters, `PATH-dead-letters` if None. If a version or
    a time is given, the dead letters are those before the table's end then: a run commits its
    dead letters before its rows.
    """
    table = open_table(spark, form, path)
    reached = table.progress() if table.exists() else None
    if reached is None or reached.run == 0:
        raise PipelineError(f"{path} is no table that table or load wrote")
    rows, commits = table.read(version, time), table.commits(version, time)
    is_now = version is None and time is None
    if not is_now:
        if not commits:
            raise PipelineError(
                f"no run of table or load is known of {path} as it was then: take a later "
                "--as-of-version or --as-of-time"
            )
        reached = commits[-1]
    fields = field_names(table.properties().get(KEY))
    records = _records(rows, value_of(rows, fields))
    beside = open_table(spark, form, letters or f"{path.rstrip('/')}-dead-letters")
    if beside.exists():
        refused = _records(beside.read(), F.col("value"))
        if not is_now:
            refused = refused.where(_before(reached.ends))
        records = records.unionByName(refused)
    elif letters is not None:
        raise PipelineError(f"{letters} is no table of dead letters that table wrote")
    loaded, holes = loaded_ranges(commits, reached, _first(records))
    return AuditedTable(
        records,
        reached.run,
        loaded,
        holes,
        reached,
        keeps_values(rows, fields),
        keeps_bytes(rows, "key"),
        skipped_in(reached.gaps, loaded),
    )


def loaded_ranges(
    commits: list[Progress], reached: Progress, first: Mapping[int, int]
) -> tuple[dict[int, tuple[int, int]], list[str]]:
    """Return the first loaded offset of each partition and the offset after the last, and a
    sentence for offsets between two commits. If the oldest commits are gone, a partition begins at
    the offset in `first`."""
    # The numbers of a restored table go on, but they begin with 1 all the same.
    if commits and commits[0].run == 1:
        return ranges(commits)
    starts = {index: min(first.get(index, end), end) for index, end in reached.ends.items()}
    return ranges([replace(reached, starts=starts)])


def _first(records: DataFrame) -> dict[int, int]:
    rows = records.groupBy("partition").agg(F.min("offset").alias("first")).collect()
    return {row.partition: row.first for row in rows}


def _before(ends: Mapping[int, int]) -> Column:
    each = (f"(partition = {index} AND offset < {end})" for index, end in ends.items())
    return F.expr(" OR ".join(each) or "false")


def _records(rows: DataFrame, value: Column) -> DataFrame:
    return rows.withColumns({"key": bytes_of(rows, "key"), "value": value}).select(*_COLUMNS)
