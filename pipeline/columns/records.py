"""The columns of a record, and those of what it becomes: rows, and misfits with a reason.

Owns the names and types that every table has, whatever the values hold, and how a field is called
that has the name of one of them. Reads nothing.
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
"""Columns of each row; the fields of the value follow."""
MISFIT = (*PLACE, "key", "value", "headers", "reason")
"""Columns of each misfit: the record as it was, and one sentence that says what is wrong."""
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
    """How the column of one field is called; two fields may have one, see `column_names`."""
    return f"{_CLASH}{field}" if field.lower() in (*OWN, "") else field


def column_names(fields: Iterable[str]) -> dict[str, str]:
    """How the column of each field is called: as the field, or `value_offset` for `offset`.

    Engines ignore case in the names of columns, so `Offset` becomes `value_Offset`. No column is
    called by nothing, as a field may be: it is `value_`. PipelineError where two fields would have
    one column.
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
    """The same type with nothing in it that must be there: so tables grow without rewriting."""
    if isinstance(kind, StructType):
        return StructType([StructField(one.name, nullable(one.dataType)) for one in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, nullable(kind.valueType))
    return kind
