"""The functions that Spark's `mapInArrow` runs on executors: one reads records, one samples them.

Owns the columns of their results, as types of Spark and of Arrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipeline.columns.json.parsing import JsonParser, NotJson, Refused, unframed
from pipeline.columns.json.record_reader import RecordReader
from pipeline.columns.json.sightings import Sighting, field_count
from pipeline.columns.records import nullable

SEEN = "records BIGINT, objects BIGINT, wide BIGINT, seen STRING"
"""The schema of the row that each task of `SeeFields` returns."""
BYTES_MAX = 64 * 1024 * 1024
"""The bytes of values after which a task of `SeeFields` stops in a sample."""
_NAME_BYTES = 4
_ARROW: dict[type[DataType], pyarrow.DataType] = {
    BinaryType: pyarrow.binary(),
    BooleanType: pyarrow.bool_(),
    DateType: pyarrow.date32(),
    DoubleType: pyarrow.float64(),
    FloatType: pyarrow.float32(),
    IntegerType: pyarrow.int32(),
    LongType: pyarrow.int64(),
    ShortType: pyarrow.int16(),
    StringType: pyarrow.string(),
    TimestampNTZType: pyarrow.timestamp("us"),
    TimestampType: pyarrow.timestamp("us", "UTC"),
}


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The function that adds to each record its read key or value, a column of
    `read_type(fields)`."""

    fields: StructType
    new_fields: str
    what: str
    """The column to read, `key` or `value`."""
    into: str
    """The name of the added column."""

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield each batch with the added column."""
        reader = RecordReader(self.fields, self.new_fields, self.what)
        kind = arrow_type(read_type(self.fields))
        for batch in batches:
            rows = [reader.read(data) for data in batch.column(self.what).to_pylist()]
            columns = [*batch.columns, pyarrow.array(rows, kind)]
            yield pyarrow.RecordBatch.from_arrays(columns, [*batch.schema.names, self.into])


@dataclass(frozen=True, slots=True)
class SeeFields:
    """The function that samples the JSON of the column `value`, with a row of `SEEN` for each task.

    A record with more than `fields_max` fields counts as wide, and its fields are not sampled.
    """

    fields_max: int
    bytes_max: int | None
    """The bytes of values after which a task stops, at the end of a batch; None: a task reads all
    values."""

    def __call__(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield one row for all batches."""
        parser, sighting = JsonParser(), Sighting()
        records = objects = wide = size = 0
        for batch in batches:
            for data in batch.column("value").to_pylist():
                records += 1
                size += len(data)
                try:
                    value = parser.parse(unframed(data).decode())
                except (UnicodeDecodeError, NotJson, Refused):
                    continue
                if not isinstance(value, dict):
                    continue
                objects += 1
                if self._is_wide(data, value):
                    wide += 1
                else:
                    sighting.see(value)
            if self.bytes_max is not None and size >= self.bytes_max:
                break
        yield pyarrow.RecordBatch.from_pydict(
            {
                "records": [records],
                "objects": [objects],
                "wide": [wide],
                "seen": [sighting.to_text()],
            }
        )

    def _is_wide(self, data: bytes, value: object) -> bool:
        return len(data) > _NAME_BYTES * self.fields_max and field_count(value) > self.fields_max


def read_type(fields: StructType) -> StructType:
    """Return the type of the column that `ReadRecords` adds."""
    return StructType(
        [
            StructField("fields", nullable(fields)),
            StructField("reason", StringType()),
            StructField("new", ArrayType(StringType())),
        ]
    )


def arrow_type(kind: DataType) -> pyarrow.DataType:
    """Return the type that Arrow has for a type of Spark."""
    if isinstance(kind, StructType):
        return pyarrow.struct(
            [pyarrow.field(field.name, arrow_type(field.dataType)) for field in kind]
        )
    if isinstance(kind, ArrayType):
        return pyarrow.list_(arrow_type(kind.elementType))
    if isinstance(kind, MapType):
        return pyarrow.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    if isinstance(kind, DecimalType):
        return pyarrow.decimal128(kind.precision, kind.scale)
    return _ARROW[type(kind)]
