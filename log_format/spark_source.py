"""A PySpark Data Source (Spark 4.0): the records of data folders, without a broker.

    spark.dataSource.register(DataFolderSource)
    spark.read.format("kafka-folder").option("subscribe", "cdr").load("/copy/of/kafka-logs")

The columns are those of Spark's stock Kafka source with `includeHeaders`; `log_format.survey` has
the options. There are two views: `records`, and `partitions`, a row for each partition with its
offsets and notes. Owns the mapping to Spark's terms: one task for each part, and batches of Arrow,
which Spark takes without conversion. Never a stream: a copied folder does not change. A task needs
this package, pyarrow and numpy, and crc32c unless `check.crcs` is false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from log_format.damage import LogError
from log_format.files import Files
from log_format.partitions.partition_reader import PartitionSlice, read_part
from log_format.survey import ReadOptions, SurveyedPartition, parts, read_options, survey

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
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of the view, as DDL. Raises LogError for invalid options."""
        read_options(self.options)
        return _VIEWS[self._view()]

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of the view. Raises LogError for invalid options."""
        options = read_options(self.options)
        return PartitionsReader(options) if self._view() == "partitions" else RecordsReader(options)

    def _view(self) -> str:
        """Return the option `view`. Raises LogError unless it is records or partitions."""
        view = _option(self.options, "view", "records")
        if view not in _VIEWS:
            raise LogError(f"option view is {view}: records or partitions is wanted")
        return view


@dataclass
class PartPartition(InputPartition):
    """The part of a partition that one task reads."""

    part: PartitionSlice


class RecordsReader(DataSourceReader):
    """The reader of the view `records`, with a task for each part."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return all parts, in the order of topics, partitions and offsets. Raises LogError if the
        folders cannot be read as the options say."""
        all_parts = parts(survey(Files(), self._options), self._options)
        return [PartPartition(part) for part in all_parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield, in a task, the records of its part; none if Spark gives the task no part."""
        if isinstance(partition, PartPartition):
            yield from read_part(Files(), partition.part, self._options.crc())


class PartitionsReader(DataSourceReader):
    """The reader of the view `partitions`, with one task for all rows."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return a single task, which reads all rows."""
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield, in a task, a batch with a row for each partition that the options select. Raises
        LogError if the folders cannot be read as the options say."""
        rows = [_partition_row(surveyed) for surveyed in survey(Files(), self._options)]
        yield pa.RecordBatch.from_pylist(rows, schema=_PARTITION_COLUMNS)


def _partition_row(surveyed: SurveyedPartition) -> dict[str, object]:
    """Return the row of a partition in the view `partitions`, by the names of columns."""
    log = surveyed.log
    return {
        "topic": log.topic,
        "partition": log.partition,
        "topicId": log.topic_id,
        "clusterId": surveyed.cluster_id,
        "logStartOffset": log.log_start,
        "logEndOffset": log.end,
        "lastStableOffset": log.stable_end,
        "startOffset": surveyed.start,
        "endOffset": surveyed.end,
        "segments": len(log.segments),
        "bytes": log.size,
        "notes": list(surveyed.notes),
    }


def _option(options: Mapping[str, str], name: str, default: str) -> str:
    """Return the value of an option, else `default`; the case of its name does not matter."""
    return next((value for key, value in options.items() if key.lower() == name), default)
