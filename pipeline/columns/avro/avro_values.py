"""Values of Avro as Spark decoded them, on the way to the types of a table's columns.

A value is decoded with the units of its writer (`avro_logical`), so a decimal may have other digits
than its column, and a time of day another unit. These functions find values that would change, and
convert all others. Functions of columns and types alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from pipeline.columns.avro.avro_logical import inside
from pipeline.columns.avro.avro_widening import DAY_MS
from pipeline.columns.records import nullable
from pipeline.columns.schema_text import told
from pipeline.columns.times import beyond
from pipeline.columns.walks import Check, Own, checks, value_checks

_WHOLE = (IntegerType, LongType)
_US_OF_MS = 1000


def with_numbers_of(kind: DataType, table: DataType) -> DataType:
    """Return a type with the decimals and whole numbers that the same places have in a table's
    type."""
    if isinstance(kind, StructType) and isinstance(table, StructType):
        there = {field.name: field.dataType for field in table}
        return StructType(
            [
                StructField(
                    field.name,
                    with_numbers_of(field.dataType, there.get(field.name, field.dataType)),
                    field.nullable,
                )
                for field in kind
            ]
        )
    if isinstance(kind, ArrayType) and isinstance(table, ArrayType):
        element = with_numbers_of(kind.elementType, table.elementType)
        return ArrayType(element, kind.containsNull)
    if isinstance(kind, MapType) and isinstance(table, MapType):
        value = with_numbers_of(kind.valueType, table.valueType)
        return MapType(kind.keyType, value, kind.valueContainsNull)
    for numbers in ((DecimalType,), _WHOLE):
        if isinstance(kind, numbers) and isinstance(table, numbers):
            return table
    return kind


def with_times_of_day(kind: DataType, units: Mapping[str, str], name: str) -> DataType:
    """Return the type `kind` of the value `name`, with the type of its unit at each time of day:
    INT for ms, BIGINT for µs. `units` has the units by name, as in `all_checks`."""
    if name in units:
        return IntegerType() if units[name] == DAY_MS else LongType()
    if isinstance(kind, StructType):
        fields = [
            StructField(
                field.name,
                with_times_of_day(field.dataType, units, inside(name, field.name)),
                field.nullable,
            )
            for field in kind
        ]
        return StructType(fields)
    if isinstance(kind, ArrayType):
        element = with_times_of_day(kind.elementType, units, f"{name}[]")
        return ArrayType(element, kind.containsNull)
    if isinstance(kind, MapType):
        value = with_times_of_day(kind.valueType, units, f"{name}[]")
        return MapType(kind.keyType, value, kind.valueContainsNull)
    return kind


def types_by_name(kind: DataType, what: str) -> dict[str, DataType]:
    """Return the type of each value inside a key or a value, `what`, by the name that the value has
    in `all_checks`."""
    kinds: dict[str, DataType] = {}

    def collect(inner: DataType, nullable: bool, name: str) -> Iterator[Check]:
        kinds[name] = inner
        return iter(())

    list(all_checks(kind, collect, what))
    return kinds


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


@dataclass(frozen=True, slots=True)
class Scales:
    """The times of day whose unit changes, by their names as in `all_checks`."""

    to_us: frozenset[str] = frozenset()
    to_ms: frozenset[str] = frozenset()

    @staticmethod
    def between(decoded: Mapping[str, str], wanted: Mapping[str, str]) -> Scales:
        """Return the times of day with another unit in `decoded` than in `wanted`, which have the
        units by name."""
        differ = [name for name in decoded if wanted.get(name, decoded[name]) != decoded[name]]
        to_us = frozenset(name for name in differ if decoded[name] == DAY_MS)
        return Scales(to_us, frozenset(differ) - to_us)

    def __bool__(self) -> bool:
        return bool(self.to_us or self.to_ms)

    def scaled(self, value: Column, name: str) -> Column:
        """Return the value `name` in its wanted unit, as BIGINT; null if it is too large for
        that."""
        if name in self.to_us:
            return F.try_multiply(value.cast("bigint"), F.lit(_US_OF_MS).cast("bigint"))
        return F.call_function("div", value, F.lit(_US_OF_MS)) if name in self.to_ms else value


NO_SCALES = Scales()


def changed(
    decoded: DataType, wanted: DataType, what: str, scales: Scales = NO_SCALES
) -> Iterator[Check]:
    """Return the checks for decimals and times of day that the type `wanted` does not hold
    exactly."""
    kinds = types_by_name(wanted, what)

    def differs(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
        there = kinds.get(name)
        if there is None:
            return
        if isinstance(kind, DecimalType) and there != kind:
            yield (
                f"field {name} does not fit {told(there)}",
                lambda value: ~value.eqNullSafe(value.try_cast(there).try_cast(kind)),
            )
        if name in scales.to_ms:
            yield (
                f"field {name} is finer than a millisecond, the unit of its column",
                lambda value: value % _US_OF_MS != 0,
            )
        if name in scales.to_ms | scales.to_us:
            yield (
                f"field {name} does not fit {told(there)}",
                lambda value: (
                    value.isNotNull() & scales.scaled(value, name).try_cast(there).isNull()
                ),
            )

    yield from all_checks(decoded, differs, what)


def brought(
    value: Column, kind: DataType, wanted: DataType, name: str = "", scales: Scales = NO_SCALES
) -> Column:
    """Return the value `name` as the type `wanted`, which has all fields of the value's type; a
    number that does not fit is null. `name` is empty for a record."""
    if not scales and nullable(kind) == wanted:
        return value
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        there = {field.name: field.dataType for field in kind}
        fields = [
            brought(
                value[field.name],
                there[field.name],
                field.dataType,
                inside(name, field.name),
                scales,
            ).alias(field.name)
            if field.name in there
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in wanted
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType):
        inner, outer = kind.elementType, wanted.elementType
        return F.transform(value, lambda item: brought(item, inner, outer, f"{name}[]", scales))
    if isinstance(kind, MapType) and isinstance(wanted, MapType):
        inner, outer = kind.valueType, wanted.valueType
        return F.transform_values(
            value, lambda _, item: brought(item, inner, outer, f"{name}[]", scales)
        )
    return scales.scaled(value, name).try_cast(wanted)
