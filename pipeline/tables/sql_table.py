"""A table with a name in SQL: the common part of Delta and Iceberg for the job `table`.

Owns the table's creation and properties, and its progress from these and the rows if no commit has
any. Owns also the changes of columns before a commit: types grow, a renamed column is rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.tables.column_changes import Growth, fitted, growths, refuse_renamed
from pipeline.tables.progress import KEY, Progress, farthest, parsed
from pipeline.tables.table import (
    another_writer,
    columns_of,
    not_ours,
    pairs,
    quoted,
    refuse_files,
    says,
    type_text,
)


class SqlTable:
    """The table `name` in the folder `path`, which is `place` in Spark's notation. A subclass adds
    the calls of its format."""

    def __init__(
        self, spark: SparkSession, path: str, place: str, name: str, say: Callable[[str], None]
    ) -> None:
        self._spark = spark
        self.path = path
        self._place = place
        self._name = name
        self._say = say
        self._columns: StructType | None = None
        """The columns that the job has written; None before it wrote or expected columns."""
        self._checked: StructType | None = None
        """The columns that the table had at the last check."""

    def properties(self) -> dict[str, str]:
        """Return the properties from SHOW TBLPROPERTIES."""
        rows = self._sql(f"SHOW TBLPROPERTIES {self._name}").collect()
        return {row.key: row.value for row in rows}

    def remember(self, properties: Mapping[str, str]) -> None:
        """Set these properties of the table."""
        self._sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({pairs(properties)})")

    def expect(self, columns: StructType) -> None:
        """Take these as the columns that the job has written by now, as `Table.expect` says."""
        there = self.read().schema
        refuse_renamed(self.path, columns, there)
        self._columns, self._checked = columns, there

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """Return the rows, as of a version or a time, as `Table.read` says."""
        raise NotImplementedError

    def _create(
        self, schema: StructType, form: str, properties: Mapping[str, str], conflict: Sequence[str]
    ) -> None:
        """Create the table. `form` follows USING. `conflict` has words of the errors that report
        that another writer made the table in the same moment; then PipelineError is raised."""
        refuse_files(self._spark, self.path)
        try:
            self._sql(
                f"CREATE TABLE IF NOT EXISTS {self._name} ({columns_of(schema)}) USING {form} "
                f"TBLPROPERTIES ({pairs(properties)})"
            )
        except Exception as error:
            if says(error, conflict):
                raise another_writer(self.path, 0) from error
            raise

    def _adapt(self, rows: DataFrame, run: int, conflict: Sequence[str]) -> DataFrame:
        """Let the types of the table grow to those of `rows`, and return `rows` with types as wide.

        Each growth is a commit of its own. If the job is killed between them, or before it adds the
        rows, the next run makes the growths that are missing. `conflict` has words of the errors by
        which another writer changed the table in the same moment; then PipelineError is raised,
        which names `run`.
        """
        there = self.read().schema
        if self._columns is not None:
            refuse_renamed(self.path, self._columns, there, self._checked)
        try:
            self._grow(list(growths(there, rows.schema)))
        except Exception as error:
            if says(error, conflict):
                raise another_writer(self.path, run) from error
            raise
        self._columns, self._checked = rows.schema, there
        wide = fitted(rows.schema, there)
        assert isinstance(wide, StructType), "it is one of rows"
        casts = {
            field.name: F.col(quoted(field.name)).cast(field.dataType)
            for field in wide
            if field.dataType != rows.schema[field.name].dataType
        }
        return rows.withColumns(casts) if casts else rows

    def _grow(self, wanted: Sequence[Growth]) -> None:
        if wanted:
            self._before_growth()
        for growth in wanted:
            path = ".".join(quoted(name) for name in growth.path)
            kind = type_text(growth.wider)
            self._sql(f"ALTER TABLE {self._name} ALTER COLUMN {path} TYPE {kind}")
            self._say_of_growth(growth)

    def _before_growth(self) -> None:
        """Prepare the table for types that grow."""

    def _say_of_growth(self, growth: Growth) -> None:
        self._say(f"{self.path}: {growth}")

    def _of_rows(self) -> Progress:
        """Return the progress that properties and rows show after the commits are no longer kept.
        Raises PipelineError if the properties have none."""
        kept = parsed(self.properties().get(KEY))
        if kept is None:
            raise not_ours(self.path)
        last = self.read().groupBy("partition").agg(F.max("offset").alias("last"))
        offsets = {row.partition: row.last for row in last.collect()}
        return farthest(kept, offsets, self._last_run(kept))

    def _last_run(self, kept: Progress) -> int:
        """Return the greatest run that the table still shows, 0 if there is none."""
        raise NotImplementedError

    def _sql(self, statement: str) -> DataFrame:
        return self._spark.sql(statement)
