"""A table that SQL knows by a name: what Delta and Iceberg have in common for the job `table`.

Owns its creation, its properties, and how far it is by these and its rows if no commit tells; and
how its columns follow the rows before a commit: types grow, a renamed column is refused.
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
    """The table `name` in the folder `path`, which Spark has as `place`. A format adds what
    differs."""

    def __init__(
        self, spark: SparkSession, path: str, place: str, name: str, say: Callable[[str], None]
    ) -> None:
        self._spark = spark
        self.path = path
        self._place = place
        self._name = name
        self._say = say
        self._columns: StructType | None = None
        """Those that the job has written; None before it wrote or expected some."""
        self._known: StructType | None = None
        """Those that the table had at the last look."""

    def properties(self) -> dict[str, str]:
        """Return the properties that SHOW TBLPROPERTIES has."""
        rows = self._sql(f"SHOW TBLPROPERTIES {self._name}").collect()
        return {row.key: row.value for row in rows}

    def remember(self, properties: Mapping[str, str]) -> None:
        """Set these properties of the table."""
        self._sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({pairs(properties)})")

    def expect(self, columns: StructType) -> None:
        """See `Table`."""
        there = self.read().schema
        refuse_renamed(self.path, columns, there)
        self._columns, self._known = columns, there

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """See `Table`."""
        raise NotImplementedError

    def _create(
        self, schema: StructType, form: str, properties: Mapping[str, str], conflict: Sequence[str]
    ) -> None:
        """Create the table. `form`: what follows USING. `conflict`: words of errors that say that
        another writer made the table in the same moment."""
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
        """Let the types of the table grow to those of rows that `run` is to add; return the rows
        with types as wide as the table's.

        Each growth is a commit of its own. If the job is killed between them, or before the rows
        are added, the next run finds what is left to do. `conflict`: words of errors by which
        another writer changed the table in the same moment.
        """
        there = self.read().schema
        if self._columns is not None:
            refuse_renamed(self.path, self._columns, there, self._known)
        try:
            self._grow(list(growths(there, rows.schema)))
        except Exception as error:
            if says(error, conflict):
                raise another_writer(self.path, run) from error
            raise
        self._columns, self._known = rows.schema, there
        wide = fitted(rows.schema, there)
        assert isinstance(wide, StructType), "it is one of rows"
        casts = {
            field.name: F.col(quoted(field.name)).cast(field.dataType)
            for field in wide
            if field.dataType != rows.schema[field.name].dataType
        }
        return rows.withColumns(casts) if casts else rows

    def _grow(self, found: Sequence[Growth]) -> None:
        if found:
            self._before_growth()
        for growth in found:
            path = ".".join(quoted(name) for name in growth.path)
            kind = type_text(growth.wider)
            self._sql(f"ALTER TABLE {self._name} ALTER COLUMN {path} TYPE {kind}")
            self._say_of_growth(growth)

    def _before_growth(self) -> None:
        """Prepare the table for types that grow."""

    def _say_of_growth(self, growth: Growth) -> None:
        self._say(f"{self.path}: {growth}")

    def _of_rows(self) -> Progress:
        """Return the progress that properties and rows show after the commits are gone."""
        known = parsed(self.properties().get(KEY))
        if known is None:
            raise not_ours(self.path)
        last = self.read().groupBy("partition").agg(F.max("offset").alias("last"))
        offsets = {row.partition: row.last for row in last.collect()}
        return farthest(known, offsets, self._last_run(known))

    def _last_run(self, known: Progress) -> int:
        """Return the greatest run that the table still shows, 0 if there is none."""
        raise NotImplementedError

    def _sql(self, statement: str) -> DataFrame:
        return self._spark.sql(statement)
