"""The columns of a record, and those of rows, and of misfits with a reason.

Owns the names and types that every table has, whatever the values hold, and the name of a column
whose field has one of these names. Reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pipeline.errors import PipelineError

PLACE = ("topic", "partition", "offset", "timestamp")
OWN = (*PLACE, "key", "headers")
"""The columns of each row; the columns of the value follow."""
MISFIT = (*PLACE, "key", "value", "headers", "reason")
"""The columns of each misfit: the record as it was, and one sentence that says what is wrong."""
PLACE_FIELDS = (
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
)
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
HEADERS_FIELD = StructField("headers", ArrayType(_HEADER))
MISFIT_SCHEMA = StructType(
    [
        *PLACE_FIELDS,
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        HEADERS_FIELD,
        StructField("reason", StringType()),
    ]
)
_CLASH = "value_"


def column_name(field: str) -> str:
    """Return the name of a field's column. Two fields may have the same column, see
    `column_names`."""
    return f"{_CLASH}{field}" if field.lower() in (*OWN, "") else field


def column_names(fields: Iterable[str]) -> dict[str, str]:
    """Return the name of each field's column: the field's name, or `value_offset` for `offset`.

    Engines ignore case in the names of columns, so `Offset` becomes `value_Offset`. A field without
    a name has the column `value_`. Raises PipelineError if two fields would have the same column.
    """
    names: dict[str, str] = {}
    taken: dict[str, str] = {}
    for field in fields:
        name = column_name(field)
        other = taken.setdefault(name.lower(), field)
        if other != field:
            raise PipelineError(
                f"the fields {other} and {field} would have one column, {name.lower()}: engines "
                "ignore case in its name; give a --schema without one of them"
            )
        names[field] = name
    return names


def nullable(kind: DataType) -> DataType:
    """Return the same type with all fields nullable, so that tables grow without a rewrite."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, nullable(field.dataType)) for field in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, nullable(kind.valueType))
    return kind
