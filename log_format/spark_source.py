"""A PySpark Data Source (Spark 4.0): the records of data folders, without a broker.

    spark.dataSource.register(DataFolderSource)
    spark.read.format("kafka-folder").option("subscribe", "cdr").load("/copy/of/kafka-logs")

Columns are those of Spark's stock Kafka source with `includeHeaders`; options stand in
`log_format.survey`. Two views: `records`, and `partitions`, a row for each partition with its
offsets and what was noticed. Owns how the reader is put into Spark's terms: one task a part, and
batches of Arrow, which Spark takes as they are. Batch only: a folder that nobody writes has no
stream. What a task needs is this package, pyarrow and numpy; crc32c unless `check.crcs` is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from log_format.damage import LogError
from log_format.files import Files
from log_format.partitions.partition_reader import Part, read_part
from log_format.survey import Asked, Surveyed, asked, parts, survey

FORMAT = "kafka-folder"
RECORDS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
PARTITIONS = (
    "topic STRING, partition INT, topicId STRING, clusterId STRING, logStartOffset BIGINT, "
    "logEndOffset BIGINT, lastStableOffset BIGINT, startOffset BIGINT, endOffset BIGINT, "
    "segments INT, bytes BIGINT, notes ARRAY<STRING>"
)
_PARTITION_COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("topicId", pa.string()),
        ("clusterId", pa.string()),
        ("logStartOffset", pa.int64()),
        ("logEndOffset", pa.int64()),
        ("lastStableOffset", pa.int64()),
        ("startOffset", pa.int64()),
        ("endOffset", pa.int64()),
        ("segments", pa.int32()),
        ("bytes", pa.int64()),
        ("notes", pa.list_(pa.string())),
    ]
)
_VIEWS = {"records": RECORDS, "partitions": PARTITIONS}


class DataFolderSource(DataSource):
    """The format `kafka-folder`."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return FORMAT

    def schema(self) -> str:
        """Of the view. Raises LogError for options that cannot be."""
        asked(self.options)
        return _VIEWS[self._view()]

    def reader(self, schema: StructType) -> DataSourceReader:
        """Of the view."""
        wanted = asked(self.options)
        return PartitionsReader(wanted) if self._view() == "partitions" else RecordsReader(wanted)

    def _view(self) -> str:
        view = _option(self.options, "view", "records")
        if view not in _VIEWS:
            raise LogError(f"option view is {view}: records or partitions is wanted")
        return view


@dataclass
class PartPartition(InputPartition):
    """One part, for one task."""

    part: Part


class RecordsReader(DataSourceReader):
    """The records, a task for each part."""

    def __init__(self, wanted: Asked) -> None:
        self._wanted = wanted

    def partitions(self) -> list[InputPartition]:
        """All parts, in the order of topics, partitions and offsets."""
        found = parts(survey(Files(), self._wanted), self._wanted)
        return [PartPartition(part) for part in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a task: the records of its part; nothing where there is none."""
        if isinstance(partition, PartPartition):
            yield from read_part(Files(), partition.part, self._wanted.crc())


class PartitionsReader(DataSourceReader):
    """A row for each partition: one task, wherever Spark puts it."""

    def __init__(self, wanted: Asked) -> None:
        self._wanted = wanted

    def partitions(self) -> list[InputPartition]:
        """One."""
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """In a task: all rows."""
        rows = [_row(one) for one in survey(Files(), self._wanted)]
        yield pa.RecordBatch.from_pylist(rows, schema=_PARTITION_COLUMNS)


def _row(one: Surveyed) -> dict[str, object]:
    log = one.log
    return {
        "topic": log.topic,
        "partition": log.partition,
        "topicId": log.topic_id,
        "clusterId": one.cluster_id,
        "logStartOffset": log.log_start,
        "logEndOffset": log.end,
        "lastStableOffset": log.stable_end,
        "startOffset": one.start,
        "endOffset": one.end,
        "segments": len(log.segments),
        "bytes": log.size,
        "notes": list(one.notes),
    }


def _option(options: Mapping[str, str], name: str, default: str) -> str:
    return next((value for key, value in options.items() if key.lower() == name), default)
