"""What a stream does with one batch of its sums: into the table, and into the compacted topic.

Behind Spark Connect this runs in a Python beside the server, to which it is sent by value; so it
holds text alone, and takes its session from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipeline.tables import aggregates


@dataclass(frozen=True, slots=True)
class SumsWriter:
    """Called with the rows of one batch and its number; may be called again with the same."""

    table: str
    results_topic: str
    sink: Mapping[str, str]
    """Options of Spark's Kafka sink, `Connection.writing()`."""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write one batch to both places."""
        kept = rows.persist()  # computing it twice would change the state twice
        try:
            if kept.isEmpty():
                return
            aggregates.AggregateTable(kept.sparkSession, self.table).write(kept, batch)
            writer = aggregates.as_records(kept).write.format("kafka").options(**self.sink)
            writer.option("topic", self.results_topic).save()
        finally:
            kept.unpersist()
