"""A schema found in values: what the JSON of a sample has in common.

Whole numbers are BIGINT, others DOUBLE, and a field that is of several types is STRING, which keeps
any JSON as its text. Times stay STRING: whoever wants TIMESTAMP gives a schema. A field that is
null, `[]` or `{}` wherever it was seen gets no column until a value says what it is. Pure: the
sample comes by argument.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from pipeline.errors import PipelineError

SAMPLE = 1_000
"""Records that are looked at."""
FIELDS_MAX = 2_000
_LONG = 1 << 63
_HUGE = DecimalType(38, 0)
_HUGE_MAX = 10**38
_NUMBERS: tuple[DataType, ...] = (LongType(), _HUGE, DoubleType())


def objects(values: Iterable[bytes | None]) -> list[dict[str, object]]:
    """Those of the values that are JSON objects."""
    found = []
    for value in values:
        try:
            one = json.loads(bytes(value)) if value is not None else None
        except (ValueError, RecursionError):
            continue
        if isinstance(one, dict):
            found.append(one)
    return found


def schema_of(found: Iterable[dict[str, object]]) -> StructType:
    """The columns that these objects have."""
    kind: DataType = StructType([])
    for one in found:
        with contextlib.suppress(RecursionError):
            kind = _both(kind, _kind(one))
    assert isinstance(kind, StructType), "of objects"
    return StructType(_fields(kind))


def for_a_table(schema: StructType) -> StructType:
    """The same without what no table holds: of fields inside an object whose names differ in case
    alone the first is left. PipelineError for more than `FIELDS_MAX` fields."""
    if _count(schema) > FIELDS_MAX:
        raise PipelineError(
            f"the records have more than {FIELDS_MAX} fields, as where keys of an object are data: "
            "give --schema, with MAP<STRING, …> for such an object"
        )
    fields = [
        StructField(one.name, _without_twins(one.dataType), one.nullable) for one in schema.fields
    ]
    return StructType(fields)


def _kind(value: object) -> DataType:
    match value:
        case bool():
            return BooleanType()
        case int():
            return _whole(value)
        case float():
            return DoubleType()
        case str():
            return StringType()
        case list():
            element: DataType = NullType()
            for one in value:
                element = _both(element, _kind(one))
            return ArrayType(element)
        case dict():
            named = ((name, one) for name, one in value.items() if _is_text(name))
            return StructType([StructField(name, _kind(one)) for name, one in named])
        case _:
            return NullType()


def _is_text(name: str) -> bool:
    """Whether it is UTF-8; JSON can have half a character, which no table has a name for."""
    return not any("\ud800" <= one <= "\udfff" for one in name)


def _whole(value: int) -> DataType:
    if -_LONG <= value < _LONG:
        return LongType()
    return _HUGE if abs(value) < _HUGE_MAX else DoubleType()


def _both(one: DataType, other: DataType) -> DataType:
    """What holds values of both."""
    if isinstance(one, NullType) or one == other:
        return other
    if isinstance(other, NullType):
        return one
    if one in _NUMBERS and other in _NUMBERS:
        return max(one, other, key=_NUMBERS.index)
    if isinstance(one, StructType) and isinstance(other, StructType):
        fields = {field.name: field.dataType for field in one}
        for field in other:
            fields[field.name] = _both(fields.get(field.name, NullType()), field.dataType)
        return StructType([StructField(name, kind) for name, kind in fields.items()])
    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return ArrayType(_both(one.elementType, other.elementType))
    return StringType()


def _known(kind: DataType) -> DataType | None:
    """Without what no value has said anything of; None where nothing is left."""
    if isinstance(kind, NullType):
        return None
    if isinstance(kind, ArrayType):
        element = _known(kind.elementType)
        return None if element is None else ArrayType(element)
    if isinstance(kind, StructType):
        fields = _fields(kind)
        return StructType(fields) if fields else None
    return kind


def _fields(kind: StructType) -> list[StructField]:
    fields = [(field.name, _known(field.dataType)) for field in kind]
    return [StructField(name, one) for name, one in fields if one is not None]


def _without_twins(kind: DataType) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_without_twins(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _without_twins(kind.valueType), kind.valueContainsNull)
    if not isinstance(kind, StructType):
        return kind
    first: dict[str, StructField] = {}
    for one in kind:
        field = StructField(one.name, _without_twins(one.dataType), one.nullable)
        first.setdefault(one.name.lower(), field)
    return StructType(list(first.values()))


def _count(kind: DataType) -> int:
    if isinstance(kind, StructType):
        return sum(1 + _count(field.dataType) for field in kind)
    if isinstance(kind, MapType):
        return _count(kind.valueType)
    return _count(kind.elementType) if isinstance(kind, ArrayType) else 0
