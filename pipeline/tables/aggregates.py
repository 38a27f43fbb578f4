"""Sums per window, cell and subscriber, and the table that keeps them.

The table has a folder for each batch, such as `batch=12/`, with the rows that the batch changed;
the value of a key is its row of the latest batch. A batch that runs again after a crash replaces
its own folder by the same rows, so nothing is counted twice. Every hundredth batch holds all keys.
After a later batch has begun, the folders before that batch are deleted; on an object store they
stay, and are not read. Owns the table's folder and its reader.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.options import exactly
from pipeline.tables.files import Files

KEY = ("of", "id", "window_start")
SUMS = ("events", "calls", "drops", "duration_s", "bytes")
SCHEMA = (
    "of STRING, id STRING, window_start TIMESTAMP, window_end TIMESTAMP, events BIGINT, "
    "calls BIGINT, drops BIGINT, duration_s BIGINT, bytes BIGINT, drop_rate DOUBLE, alert BOOLEAN"
)
WHOLE_EVERY = 100
ALERT_CALLS_MIN = 20
_FOLDER = "batch="
_DONE = "_SUCCESS"


def once(events: DataFrame, watermark: str) -> DataFrame:
    """Return the events without repetitions of an event id, as long as these come within the delay
    of the watermark."""
    return events.withWatermark("event_time", watermark).dropDuplicatesWithinWatermark(["event_id"])


def summed(events: DataFrame, window: str, alert_above: float) -> DataFrame:
    """Return a row for each window and each cell or subscriber, as in `SCHEMA`.

    `alert` is true if more than the share `alert_above` (0 to 1) of a window's calls was dropped,
    and the window has at least `ALERT_CALLS_MIN` calls.
    """
    per = F.explode(
        F.array(
            F.struct(F.lit("cell").alias("of"), F.col("cell").alias("id")),
            F.struct(F.lit("subscriber").alias("of"), F.col("subscriber").alias("id")),
        )
    )
    rows = events.withColumn("per", per)
    sums = rows.groupBy(F.window("event_time", window), "per.of", "per.id").agg(
        F.count(F.lit(1)).alias("events"),
        F.count_if(F.col("kind") == "call").alias("calls"),
        F.count_if(F.col("dropped")).alias("drops"),
        F.sum("duration_s").alias("duration_s"),
        F.sum("bytes").alias("bytes"),
    )
    rate = F.when(F.col("calls") > 0, F.col("drops") / F.col("calls")).otherwise(F.lit(0.0))
    enough = F.col("calls") >= ALERT_CALLS_MIN
    return sums.select(
        "of",
        "id",
        F.col("window.start").alias("window_start"),
        F.col("window.end").alias("window_end"),
        *SUMS,
        rate.alias("drop_rate"),
        (enough & (rate > alert_above)).alias("alert"),
    )


def as_records(rows: DataFrame) -> DataFrame:
    """Return the records for a compacted topic: the key names window and cell or subscriber, the
    value is JSON."""
    start = F.date_format("window_start", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return rows.select(
        F.concat_ws("|", "of", "id", start).alias("key"),
        F.to_json(F.struct(*rows.columns)).alias("value"),
    )


def from_records(records: DataFrame) -> DataFrame:
    """Return the rows of records that `as_records` made."""
    value = F.from_json(F.col("value").cast("string"), SCHEMA)
    return records.select(value.alias("row")).select("row.*")


def alerts(rows: DataFrame) -> DataFrame:
    """Return the cells that lose calls: `id`, `since` (text, UTC), `calls`, `drops`,
    `drop_rate`."""
    since = F.date_format("window_start", "yyyy-MM-dd HH:mm").alias("since")
    cells = rows.where("alert AND of = 'cell'")
    return cells.select("id", since, "calls", "drops", "drop_rate")


def latest(batches: DataFrame) -> DataFrame:
    """Return the last row of each key, without the column `batch` that `batches` has."""
    others = [name for name in batches.columns if name not in (*KEY, "batch")]
    last = F.max_by(F.struct(*others), "batch").alias("last")
    return batches.groupBy(*KEY).agg(last).select(*KEY, "last.*")


class AggregateTable:
    """The table of sums in a folder. A single stream job writes it; any program may read it."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self.path = path
        self.files = Files(spark, path)

    def batches(self) -> list[int]:
        """Return the numbers of the complete batches, in order."""
        names = (name for name in self.files.names() if name.startswith(_FOLDER))
        numbers = sorted(int(name.removeprefix(_FOLDER)) for name in names)
        if self.files.is_local:
            return [number for number in numbers if self._is_done(number)]
        # A look-up by Spark is slow, and a batch begins only after those before it are complete.
        return numbers if not numbers or self._is_done(numbers[-1]) else numbers[:-1]

    def read(self) -> DataFrame:
        """Return the last row of each key."""
        kept = self.batches()
        whole = max((number for number in kept if number % WHOLE_EVERY == 0), default=0)
        return latest(self._rows([number for number in kept if number >= whole]))

    def write(self, rows: DataFrame, batch: int) -> None:
        """Write the rows that a batch changed, in place of the rows of an earlier attempt."""
        kept = self.batches()
        whole = max(
            (number for number in kept if number % WHOLE_EVERY == 0 and number < batch), default=0
        )
        # A later batch has begun, so the last batch with all keys is committed for good.
        for old in (number for number in kept if number < whole):
            self.files.delete(f"{_FOLDER}{old}")
        if batch > 0 and batch % WHOLE_EVERY == 0:
            before = self._rows([number for number in kept if whole <= number < batch])
            rows = latest(before.unionByName(rows.withColumn("batch", F.lit(batch))))
        rows.coalesce(1).write.mode("overwrite").parquet(f"{self.files.root}/{_FOLDER}{batch}")

    def read_batch(self, batch: int) -> DataFrame | None:
        """Return the rows that a batch changed, None if it changed none, or if its folder was
        deleted."""
        if not self._is_done(batch):
            return None
        return self._spark.read.schema(SCHEMA).parquet(self._folder(batch))

    def _folder(self, batch: int) -> str:
        return exactly(f"{self.files.root}/{_FOLDER}{batch}")

    def _is_done(self, batch: int) -> bool:
        return self.files.exists(f"{_FOLDER}{batch}/{_DONE}")

    def _rows(self, batches: list[int]) -> DataFrame:
        if not batches:
            return self._spark.createDataFrame([], f"{SCHEMA}, batch INT")
        folders = [self._folder(batch) for batch in batches]
        reader = self._spark.read.schema(SCHEMA).option("basePath", self.files.root)
        return reader.parquet(*folders)
