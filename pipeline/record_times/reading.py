"""The reader of records on executors, as batches of Arrow, for times that Spark's source rejects.

Spark's Kafka source makes a TIMESTAMP of each record's time and ends with an overflow for some
times, such as nanoseconds. Here the time stays a number. Spark sends this module to the executors
by value: they need confluent-kafka and pyarrow, not this package.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import confluent_kafka as client  # by its name: executors get this module by value
import pyarrow

from pipeline.errors import PipelineError, Unreachable

TIME_MS = "time_ms"
SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, time_ms BIGINT, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_AT_ONCE, _ROWS_MAX, _BYTES_MAX = 500, 10_000, 16 * 1024 * 1024
_WAIT_S, _PATIENCE_S = 0.2, 120.0


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The offsets of a partition from `start` to before `end`."""

    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The function that reads the range of each number in the column `id`, as rows of `SCHEMA`."""

    settings: Mapping[str, str]
    """The settings of confluent-kafka, with its `isolation.level`."""
    topic: str
    ranges: tuple[PartitionRange, ...]

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the records of the ranges. Raises PipelineError if some cannot be read, Unreachable
        if no broker answers."""
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from self._read(self.ranges[number])

    def _read(self, wanted: PartitionRange) -> Iterator[pyarrow.RecordBatch]:
        rows: list[dict[str, object]] = []
        size = 0
        for message in self._messages(wanted):
            rows.append(self._row(message))
            size += len(message)
            if len(rows) == _ROWS_MAX or size >= _BYTES_MAX:
                yield _batch(rows)
                rows, size = [], 0
        if rows:
            yield _batch(rows)

    def _messages(self, wanted: PartitionRange) -> Iterator[client.Message]:
        """Yield the messages of a range. Its last offsets may have no message; then the partition's
        end event ends the range."""
        consumer = client.Consumer(
            {
                "group.id": "ottla-pipeline-reads-only",
                "log_level": 0,
                **self.settings,
                "auto.offset.reset": "error",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        at, heard = wanted.start, time.monotonic()
        try:
            consumer.assign([client.TopicPartition(self.topic, wanted.partition, at)])
            while at < wanted.end:
                messages = consumer.consume(_AT_ONCE, _WAIT_S)
                if messages:
                    heard = time.monotonic()
                elif time.monotonic() - heard > _PATIENCE_S:
                    raise self._failed(wanted.partition, at, "no broker answers", Unreachable)
                for message in messages:
                    error, offset = message.error(), message.offset() or 0
                    if error is None:
                        at = offset + 1
                        if offset < wanted.end:
                            yield message
                    elif error.code() == client.KafkaError._PARTITION_EOF:
                        at = max(at, offset)
                    else:
                        raise self._failed(wanted.partition, at, error.str())
        finally:
            consumer.close()

    def _failed(
        self, partition: int, offset: int, why: str, kind: type[PipelineError] = PipelineError
    ) -> PipelineError:
        return kind(
            f"{self.topic}-{partition} cannot be read from offset {offset} on ({why}): see ottla "
            f"status --bootstrap-server {self.settings['bootstrap.servers']}"
        )

    def _row(self, message: client.Message) -> dict[str, object]:
        kind, time_ms = message.timestamp()
        headers: Any = message.headers()
        return {
            "key": message.key(),
            "value": message.value(),
            "topic": self.topic,
            "partition": message.partition(),
            "offset": message.offset(),
            TIME_MS: time_ms,
            "timestampType": kind - 1,  # librdkafka counts from 1, 0 is none
            "headers": headers and [{"key": name, "value": data} for name, data in headers],
        }


def _batch(rows: list[dict[str, object]]) -> pyarrow.RecordBatch:
    text, data, number = pyarrow.string(), pyarrow.binary(), pyarrow.int64()
    header = pyarrow.struct([("key", text), ("value", data)])
    columns = [
        *(("key", data), ("value", data), ("topic", text), ("partition", pyarrow.int32())),
        *(("offset", number), (TIME_MS, number), ("timestampType", pyarrow.int32())),
        ("headers", pyarrow.list_(header)),
    ]
    return pyarrow.RecordBatch.from_pylist(rows, schema=pyarrow.schema(columns))
