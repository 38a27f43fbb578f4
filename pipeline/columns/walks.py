"""Checks of all values inside a value of Spark: inside a STRUCT, an ARRAY or a MAP.

Owns the names of inner values: `s.x` in an object, `tags[].x` in each element of a list, `m[].x` in
each value of a map. Functions of columns alone; the caller gives the checks of single values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

Check = tuple[str, Callable[[Column], Column]]
"""A sentence, and the condition under which the sentence is true of a value."""
Own = Callable[[DataType, bool, str], Iterator[Check]]
"""A function that gives the checks of a single value, for its type, whether it may be null, and its
name."""


def bound(value: Column, of: Callable[[Column], Column]) -> Column:
    """Return `of(value)`. Spark evaluates the value once, however often `of` names the value."""
    return F.transform(F.array(value), of)[0]


def checks(fields: StructType, own: Own, path: str = "") -> Iterator[Check]:
    """Return the checks of all values in an object with these fields, outer values first."""
    for field in fields:
        for words, wrong in value_checks(
            field.dataType, own, f"{path}{field.name}", field.nullable
        ):
            yield words, _in_field(field.name, wrong)


def value_checks(kind: DataType, own: Own, name: str, nullable: bool = True) -> Iterator[Check]:
    """Return the checks of a value with the name `name`, and of all values inside."""
    yield from own(kind, nullable, name)
    if isinstance(kind, StructType):
        for words, wrong in checks(kind, own, f"{name}."):
            yield words, _where_there(wrong)
    elif isinstance(kind, ArrayType):
        for words, wrong in value_checks(kind.elementType, own, f"{name}[]", kind.containsNull):
            yield words, _in_any(wrong)
    elif isinstance(kind, MapType):
        for words, wrong in value_checks(kind.valueType, own, f"{name}[]", kind.valueContainsNull):
            yield words, _in_any_value(wrong)


def _in_field(name: str, wrong: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda value: wrong(value[name])


def _where_there(wrong: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda value: value.isNotNull() & wrong(value)


def _in_any(wrong: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda value: F.exists(value, wrong)


def _in_any_value(wrong: Callable[[Column], Column]) -> Callable[[Column], Column]:
    return lambda value: F.exists(F.map_values(value), wrong)
