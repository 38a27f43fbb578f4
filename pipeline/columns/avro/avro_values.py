"""Values of Avro as Spark decoded them, on the way to the types of a table's columns.

A value is decoded with the units of its writer (`avro_logical`), so a decimal may have other digits
than its column. These functions find values that would change, and convert all others. Functions
of columns and types alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from pipeline.columns.records import nullable
from pipeline.columns.schema_text import told
from pipeline.columns.times import beyond
from pipeline.columns.walks import Check, Own, checks, value_checks


def with_decimals_of(kind: DataType, table: DataType) -> DataType:
    """Return a type with the decimals that the same places have in a table's type."""
    if isinstance(kind, StructType) and isinstance(table, StructType):
        there = {field.name: field.dataType for field in table}
        return StructType(
            [
                StructField(
                    field.name,
                    with_decimals_of(field.dataType, there.get(field.name, field.dataType)),
                    field.nullable,
                )
                for field in kind
            ]
        )
    if isinstance(kind, ArrayType) and isinstance(table, ArrayType):
        element = with_decimals_of(kind.elementType, table.elementType)
        return ArrayType(element, kind.containsNull)
    if isinstance(kind, MapType) and isinstance(table, MapType):
        value = with_decimals_of(kind.valueType, table.valueType)
        return MapType(kind.keyType, value, kind.valueContainsNull)
    return table if isinstance(kind, DecimalType) and isinstance(table, DecimalType) else kind


def all_checks(kind: DataType, own: Own, what: str) -> Iterator[Check]:
    """Return the checks of a key or a value, `what`, and of all values inside; the names of a
    record's fields stand alone."""
    if isinstance(kind, StructType):
        return checks(kind, own)
    return value_checks(kind, own, what)


def unfit(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
    """Return the checks for a value that no table can hold, as `walks.Own` requires: a date or a
    time outside the bounds, and a text that is not in UTF-8."""
    yield from beyond(kind, nullable, name)
    words = f"field {name} has a text that is not in UTF-8"
    if isinstance(kind, StringType):
        yield words, lambda value: ~F.is_valid_utf8(value)
    elif isinstance(kind, MapType):
        yield words, lambda value: F.exists(F.map_keys(value), lambda key: ~F.is_valid_utf8(key))


def changed(decoded: DataType, wanted: DataType, what: str) -> Iterator[Check]:
    """Return the checks for decimals that the type `wanted` does not hold exactly."""
    kinds: dict[str, DataType] = {}

    def collect(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
        kinds[name] = kind
        return iter(())

    list(all_checks(wanted, collect, what))

    def differs(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
        there = kinds.get(name)
        if isinstance(kind, DecimalType) and there is not None and there != kind:
            yield (
                f"field {name} does not fit {told(there)}",
                lambda value: ~value.eqNullSafe(value.try_cast(there).try_cast(kind)),
            )

    yield from all_checks(decoded, differs, what)


def brought(value: Column, kind: DataType, wanted: DataType) -> Column:
    """Return a value as the type `wanted`, which has all fields of the value's type; a decimal that
    does not fit is null."""
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        if kind.names == wanted.names and nullable(kind) == wanted:
            return value
        there = {field.name: field.dataType for field in kind}
        fields = [
            brought(value[field.name], there[field.name], field.dataType).alias(field.name)
            if field.name in there
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in wanted
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType) and nullable(kind) != wanted:
        inner, outer = kind.elementType, wanted.elementType
        return F.transform(value, lambda item: brought(item, inner, outer))
    if isinstance(kind, MapType) and isinstance(wanted, MapType) and nullable(kind) != wanted:
        inner, outer = kind.valueType, wanted.valueType
        return F.transform_values(value, lambda _, item: brought(item, inner, outer))
    return value if nullable(kind) == wanted else value.try_cast(wanted)
