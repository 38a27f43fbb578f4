"""What Delta and Iceberg have in common for the job `table`: a table that SQL knows by a name.

Owns its creation, its properties, and how far it is by these and its rows, where no commit tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.tables.progress import KEY, Progress, farthest, parsed
from pipeline.tables.table import another_writer, columns_of, not_ours, pairs, refuse_files, says


class SqlTable:
    """The table `name` in the folder `path`, which Spark has as `place`. A format adds what
    differs."""

    def __init__(self, spark: SparkSession, path: str, place: str, name: str) -> None:
        self._spark = spark
        self.path = path
        self._place = place
        self._name = name

    def properties(self) -> dict[str, str]:
        """As SHOW TBLPROPERTIES has them."""
        rows = self._sql(f"SHOW TBLPROPERTIES {self._name}").collect()
        return {row.key: row.value for row in rows}

    def remember(self, properties: Mapping[str, str]) -> None:
        """In the properties."""
        self._sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({pairs(properties)})")

    def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
        """See `Table`."""
        raise NotImplementedError

    def _create(
        self, schema: StructType, form: str, properties: Mapping[str, str], conflict: Sequence[str]
    ) -> None:
        """`form`: what follows USING. `conflict`: words of errors by which somebody else made it
        in the same moment."""
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

    def _of_rows(self) -> Progress:
        """What is left where the commits are gone."""
        known = parsed(self.properties().get(KEY))
        if known is None:
            raise not_ours(self.path)
        last = self.read().groupBy("partition").agg(F.max("offset").alias("last"))
        offsets = {row.partition: row.last for row in last.collect()}
        return farthest(known, offsets, self._last_run(known))

    def _last_run(self, known: Progress) -> int:
        """The greatest run that the table still shows; 0 where there is none."""
        raise NotImplementedError

    def _sql(self, statement: str) -> DataFrame:
        return self._spark.sql(statement)
