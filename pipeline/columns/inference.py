"""The columns for the values of a sample of records: each value of the sample fits its column.

Whole numbers are BIGINT, or DECIMAL(38,0) if BIGINT is too small. Numbers with a fraction are
DOUBLE, and so are whole numbers in the same field if a DOUBLE holds each of them exactly. A field
of several types is STRING, which keeps any JSON as its text. Times stay STRING; a TIMESTAMP
requires a schema. A field that is null, `[]` or `{}` in all records gets no column until a value
shows its type. If engines take several names for the same name, the most frequent name has the
column. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from pipeline.columns.json.sightings import (
    ARRAY,
    BOOLEAN,
    FRACTION,
    HUGE,
    INEXACT,
    LONG,
    OBJECT,
    Sighting,
)
from pipeline.columns.records import column_name

FIELDS_MAX = 2_000
"""The most fields that a table has, at any depth."""


def schema_of(sighting: Sighting) -> StructType:
    """Return the columns for the objects of a sample."""
    return StructType(_fields(sighting, lambda name: column_name(name).lower()))


def field_count(kind: DataType) -> int:
    """Return how many fields a type has, at any depth."""
    if isinstance(kind, StructType):
        return sum(1 + field_count(field.dataType) for field in kind)
    if isinstance(kind, MapType):
        return field_count(kind.valueType)
    return field_count(kind.elementType) if isinstance(kind, ArrayType) else 0


def _fields(sighting: Sighting, column: Callable[[str], str]) -> list[StructField]:
    """Return the fields of objects. Two names are the same to engines if `column` maps them to one
    name."""
    kinds = {name: _kind(field) for name, field in sighting.fields.items()}
    typed = {name: kind for name, kind in kinds.items() if kind is not None}
    best: dict[str, str] = {}
    for name in typed:
        other = best.setdefault(column(name), name)
        if sighting.fields[name].count > sighting.fields[other].count:
            best[column(name)] = name
    return [StructField(name, kind) for name, kind in typed.items() if best[column(name)] == name]


def _kind(sighting: Sighting) -> DataType | None:
    """Return the type that holds all values, None if no value shows a type."""
    kinds = sighting.kinds
    if not kinds:
        return None
    if kinds == {OBJECT}:
        fields = _fields(sighting, str.lower)
        return StructType(fields) if fields else None
    if kinds == {ARRAY}:
        assert sighting.element is not None
        element = _kind(sighting.element)
        return None if element is None else ArrayType(element)
    if kinds == {BOOLEAN}:
        return BooleanType()
    return _number(kinds) or StringType()


def _number(kinds: set[str]) -> DataType | None:
    """Return the type that holds numbers of these kinds, None if there is none or a kind is no
    number."""
    whole = kinds - {INEXACT}
    if whole == {LONG}:
        return LongType()
    if whole <= {LONG, HUGE}:
        return DecimalType(38, 0)
    if FRACTION in kinds and kinds <= {LONG, HUGE, FRACTION}:
        return DoubleType()
    return None
