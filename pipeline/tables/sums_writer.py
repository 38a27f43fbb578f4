"""The writer of a batch of sums, into the table and into the compacted topic.

With Spark Connect, this runs in a Python process beside the server, to which it is sent by value;
so it holds text alone, and takes its session from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from pipeline.tables import aggregates


@dataclass(frozen=True, slots=True)
class SumsWriter:
    """The function that Spark calls with the rows of a batch and its number, maybe again with the
    same."""

    table: str
    results_topic: str
    sink: Mapping[str, str]
    """The options of Spark's Kafka sink, from `Connection.writing()`."""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to the table and to the topic. Do nothing for a batch without rows."""
        kept = rows.persist()  # a second evaluation would change the state twice
        try:
            if kept.isEmpty():
                return
            aggregates.AggregateTable(kept.sparkSession, self.table).write(kept, batch)
            writer = aggregates.as_records(kept).write.format("kafka").options(**self.sink)
            writer.option("topic", self.results_topic).save()
        finally:
            kept.unpersist()
