"""How the columns of a table change: new ones are merged, a changed type is refused.

Pure functions of schemas. A column is never taken away: a schema that lacks one leaves it as it is.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

from pipeline.columns.schema_text import told
from pipeline.errors import PipelineError

_WHOLE: tuple[type[DataType], ...] = (ShortType, IntegerType, LongType)
_FLOATING: tuple[type[DataType], ...] = (FloatType, DoubleType)


def merged(kept: StructType, wanted: StructType, path: str = "") -> StructType:
    """The kept columns and, behind them, those that are new in `wanted`.

    A column of a narrower type than the kept one stays as it is: all its values fit. PipelineError
    for one of a wider or another type: files of both would lie in one table, and not every reader
    brings them together (Delta has to be told, Parquet has no word for it).
    """
    new = {field.name: field for field in wanted}
    fields = []
    for field in kept:
        other = new.pop(field.name, None)
        if other is None:
            fields.append(field)
        else:
            kind = _together(field.dataType, other.dataType, f"{path}{field.name}")
            fields.append(StructField(field.name, kind, other.nullable))
    _refuse_other_case(kept, list(new), path)
    return StructType([*fields, *new.values()])


def grown(kept: StructType, found: StructType) -> StructType:
    """The kept columns and those that were found beside them, which may be null.

    Where both have a field its type stays, whatever was found: records of another type are misfits.
    """
    new = {field.name: field for field in found}
    fields = []
    for field in kept:
        other = new.pop(field.name, None)
        kind = field.dataType if other is None else _grown(field.dataType, other.dataType)
        fields.append(StructField(field.name, kind, field.nullable))
    taken = {field.name.lower() for field in kept}
    for name, field in new.items():
        if name.lower() not in taken:
            taken.add(name.lower())
            fields.append(field)
    return StructType(fields)


def _grown(kept: DataType, found: DataType) -> DataType:
    if isinstance(kept, StructType) and isinstance(found, StructType):
        return grown(kept, found)
    if isinstance(kept, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(_grown(kept.elementType, found.elementType), kept.containsNull)
    if isinstance(kept, MapType) and isinstance(found, StructType):
        value = kept.valueType  # JSON has no maps: each key was found as a field
        for field in found:
            value = _grown(value, field.dataType)
        return MapType(kept.keyType, value, kept.valueContainsNull)
    return kept


def _together(kept: DataType, wanted: DataType, path: str) -> DataType:
    if isinstance(kept, StructType) and isinstance(wanted, StructType):
        return merged(kept, wanted, f"{path}.")
    if isinstance(kept, ArrayType) and isinstance(wanted, ArrayType):
        return ArrayType(_together(kept.elementType, wanted.elementType, f"{path}[]"))
    if isinstance(kept, MapType) and isinstance(wanted, MapType):
        return MapType(kept.keyType, _together(kept.valueType, wanted.valueType, f"{path}[]"))
    if kept == wanted or _fits(wanted, kept):
        return kept
    raise PipelineError(
        f"column {path} is {told(kept)} in the table and would be {told(wanted)}: write into "
        f"another table, or keep {told(kept)} in the schema"
    )


def _fits(narrow: DataType, wide: DataType) -> bool:
    """Whether every value of the one is a value of the other."""
    for order in (_WHOLE, _FLOATING):
        if type(narrow) in order and type(wide) in order:
            return order.index(type(narrow)) <= order.index(type(wide))
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return (
            narrow.scale <= wide.scale
            and narrow.precision - narrow.scale <= wide.precision - wide.scale
        )
    return False


def _refuse_other_case(kept: StructType, new: list[str], path: str) -> None:
    by_lower = {field.name.lower(): field.name for field in kept}
    for name in new:
        if name.lower() in by_lower:
            raise PipelineError(
                f"column {path}{by_lower[name.lower()]} of the table and {path}{name} are one: "
                "engines ignore case in names; write it as the table has it"
            )
