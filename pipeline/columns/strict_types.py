"""Types that Spark would read too leniently from JSON: each value is judged by what stands there.

Spark's `from_json` reads such a field as a VARIANT, which keeps a value as it is written: whether
it is a text or a number, and each of its digits up to 38. A rule for the type then says what fits
and what that means. Owns which types these are, and the words for what does not fit. A type that
is to be judged, too, is one more rule.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from pipeline.columns import times
from pipeline.columns.schema_text import told
from pipeline.columns.walks import bound

_RULES: dict[type[DataType], Callable[[Column], Column]] = {
    DateType: times.to_date,
    TimestampNTZType: times.to_local_timestamp,
    TimestampType: times.to_timestamp,
}
"""From a VARIANT to the type; null where the value does not fit."""
_NULL = "VOID"
"""Of JSON's null, as schema_of_variant has it."""


def as_read(kind: DataType) -> DataType:
    """Return the type as `from_json` is to read it: VARIANT where a value is to be judged."""
    if type(kind) in _RULES:
        return VariantType()
    if isinstance(kind, StructType):
        return StructType(
            [StructField(field.name, as_read(field.dataType), field.nullable) for field in kind]
        )
    if isinstance(kind, ArrayType):
        return ArrayType(as_read(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, as_read(kind.valueType), kind.valueContainsNull)
    return kind


def is_strict(kind: DataType) -> bool:
    """Return whether some value of the type, or inside it, is to be judged."""
    return as_read(kind) != kind


def fitting(value: Column, kind: DataType) -> Column:
    """Return a value of the type `as_read(kind)` as one of `kind`: null where it does not fit."""
    if not is_strict(kind):
        return value
    if isinstance(kind, StructType):
        fields = (fitting(value[field.name], field.dataType).alias(field.name) for field in kind)
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda element: fitting(element, kind.elementType))
    if isinstance(kind, MapType):
        return F.transform_values(value, lambda _, inner: fitting(inner, kind.valueType))
    return _RULES[type(kind)](value)


def misfit(value: Column, fit: Column, fields: StructType) -> Column:
    """Return a sentence about the first field that does not fit, null where all do.

    `value` is an object of the type `as_read(fields)`, `fit` what `fitting` gave for it.
    """
    first = _first_in(value, fit, fields, "")
    return bound(first, lambda wrong: F.when(wrong.isNotNull(), _sentence(wrong)))


def _first_in(value: Column, fit: Column, fields: StructType, path: str) -> Column:
    """Return name, type and value of the first field that does not fit."""
    return F.coalesce(
        *(
            _first(value[field.name], fit[field.name], field.dataType, f"{path}{field.name}")
            for field in fields
            if is_strict(field.dataType)
        )
    )


def _first(value: Column, fit: Column, kind: DataType, name: str) -> Column:
    if isinstance(kind, StructType):
        return _first_in(value, fit, kind, f"{name}.")
    if isinstance(kind, ArrayType):
        return _first_of(value, fit, kind.elementType, name)
    if isinstance(kind, MapType):
        return _first_of(F.map_values(value), F.map_values(fit), kind.valueType, name)
    wrong = F.struct(
        F.lit(name).alias("name"), F.lit(told(kind)).alias("wanted"), value.alias("value")
    )
    return F.when(fit.isNull() & (F.schema_of_variant(value) != _NULL), wrong)


def _first_of(values: Column, fits: Column, kind: DataType, name: str) -> Column:
    each = F.zip_with(values, fits, lambda value, fit: _first(value, fit, kind, f"{name}[]"))
    return F.get(F.filter(each, Column.isNotNull), F.lit(0))


def _sentence(wrong: Column) -> Column:
    value = wrong["value"]
    of_type = F.concat(
        *(F.lit("is "), variant_type(value), F.lit(", not "), wrong["wanted"], F.lit(": ")),
        F.substring(F.try_variant_get(value, "$", "string"), 1, times.SHOWN_MAX),
    )
    of_time = F.when(wrong["wanted"] != "DATE", times.time_misfit(value, wrong["wanted"]))
    return F.concat(F.lit("field "), wrong["name"], F.lit(" "), F.coalesce(of_time, of_type))


def variant_type(value: Column) -> Column:
    """Return the type of a VARIANT in words."""
    return F.regexp_replace(F.schema_of_variant(value), "^OBJECT.*", "an object")
