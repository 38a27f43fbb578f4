"""A program for spark-submit that makes Spark load the classes which most jobs need.

`tests.tools.class_archives` archives those classes for the JVMs that follow. The results are
dropped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def main(folder: Path) -> None:
    """Run batches and streams of typed rows, with the formats and plans that the pipeline uses."""
    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(100).select(
        F.col("id"), (F.col("id") % 7).alias("key"), F.col("id").cast("string").alias("text")
    )
    rows.withColumn("at", F.current_timestamp()).write.partitionBy("key").parquet(
        str(folder / "rows")
    )
    read = spark.read.parquet(str(folder / "rows"))
    read.groupBy("key").agg(F.sum("id"), F.countDistinct("text")).orderBy("key").collect()
    read.join(rows.select("id"), "id").where("text like '1%'").sort("text").limit(5).collect()
    parsed = F.from_json(F.concat(F.lit('{"a":'), "text", F.lit("}")), "a bigint")
    read.select(parsed.alias("json"), F.to_json(F.struct("id", "at"))).collect()
    spark.createDataFrame([(1, "a")], "a int, b string").write.json(str(folder / "json"))
    spark.read.json(str(folder / "json")).collect()
    spark.sql("select explode(sequence(1, 3)) as n").toPandas()

    def keep(batch: DataFrame, _: int) -> None:
        batch.persist()
        batch.count()
        batch.unpersist()

    stream = spark.readStream.schema(read.schema).parquet(str(folder / "rows"))
    counted = stream.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute")).count()
    for query in (
        stream.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder / "c1")),
        counted.writeStream.format("noop").option("checkpointLocation", str(folder / "c2")),
    ):
        query.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
