"""Ways into a value of Spark: what lies inside a STRUCT, an ARRAY or a MAP is looked at.

Owns the names by which it is told: `s.x` inside an object, `tags[].x` in each element of a list,
`m[].x` in each value of a map. Functions of columns alone; decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

Check = tuple[str, Callable[[Column], Column]]
"""A sentence, and when it is true of a value."""
Own = Callable[[DataType, bool, str], Iterator[Check]]
"""The checks of one value itself: of its type, of whether it may be null, and of its name."""


def bound(value: Column, of: Callable[[Column], Column]) -> Column:
    """Return `of(value)`, which names the value as often as it likes: it is evaluated once."""
    return F.transform(F.array(value), of)[0]


def checks(fields: StructType, own: Own, path: str = "") -> Iterator[Check]:
    """Return the checks of all that lies in an object with these fields, outer values first."""
    for field in fields:
        for words, wrong in value_checks(
            field.dataType, own, f"{path}{field.name}", field.nullable
        ):
            yield words, _in_field(field.name, wrong)


def value_checks(kind: DataType, own: Own, name: str, nullable: bool = True) -> Iterator[Check]:
    """Return the checks of one value that is called `name`, and of all that lies in it."""
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
