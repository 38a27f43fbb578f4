"""Changes of a table's columns: new columns are merged, types grow, other changes are rejected.

Pure functions of schemas. A column is never removed: if a schema lacks a column, the column stays
as it is. This module decides what a table is changed to; `pipeline.tables` changes the table.
"""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pipeline.columns.schema_text import told
from pipeline.errors import PipelineError
from pipeline.types.widening import both, can_grow

_NO_GROWTH = {
    "iceberg": ", which Iceberg does not change",
    "parquet": ", but columns of plain Parquet do not grow, as those of Delta and Iceberg do",
}


def merged(kept: StructType, wanted: StructType, form: str, path: str = "") -> StructType:
    """Return the kept columns and, behind them, those that are new in `wanted`.

    A column whose type in `wanted` is narrower keeps its type, because all values fit. If the type
    is wider, or each type has values that the other lacks, the column gets the narrowest type that
    holds both, if a table of the format `form` can change the column to that type. Raises
    PipelineError for any other type: the table would have files of both types, which readers do not
    combine.
    """
    new = {field.name: field for field in wanted}
    fields = []
    for field in kept:
        other = new.pop(field.name, None)
        if other is None:
            fields.append(field)
        else:
            kind = _together(field.dataType, other.dataType, form, f"{path}{field.name}")
            fields.append(StructField(field.name, kind, other.nullable))
    _refuse_other_case(kept, list(new), path)
    return StructType([*fields, *new.values()])


def grown(kept: StructType, observed: StructType) -> StructType:
    """Return the kept columns and, behind them, the new columns of `observed`, which may be null.

    A field that both have keeps its type, whatever its type in `observed` is: records of another
    type are misfits.
    """
    new = {field.name: field for field in observed}
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


def _grown(kept: DataType, observed: DataType) -> DataType:
    if isinstance(kept, StructType) and isinstance(observed, StructType):
        return grown(kept, observed)
    if isinstance(kept, ArrayType) and isinstance(observed, ArrayType):
        return ArrayType(_grown(kept.elementType, observed.elementType), kept.containsNull)
    if isinstance(kept, MapType) and isinstance(observed, StructType):
        value = kept.valueType  # JSON has no maps: each key was read as a field
        for field in observed:
            value = _grown(value, field.dataType)
        return MapType(kept.keyType, value, kept.valueContainsNull)
    return kept


def _together(kept: DataType, wanted: DataType, form: str, path: str) -> DataType:
    if isinstance(kept, StructType) and isinstance(wanted, StructType):
        return merged(kept, wanted, form, f"{path}.")
    if isinstance(kept, ArrayType) and isinstance(wanted, ArrayType):
        return ArrayType(_together(kept.elementType, wanted.elementType, form, f"{path}[]"))
    if isinstance(kept, MapType) and isinstance(wanted, MapType):
        return MapType(kept.keyType, _together(kept.valueType, wanted.valueType, form, f"{path}[]"))
    wider = both(kept, wanted)
    if wider == kept or (wider is not None and can_grow(form, kept, wider)):
        return wider
    raise PipelineError(
        f"column {path} is {told(kept)} in the table and would be {told(wanted)}"
        f"{'' if wider is None else _NO_GROWTH[form]}: write into another table, or keep "
        f"{told(kept)} in the schema"
    )


def _refuse_other_case(kept: StructType, new: list[str], path: str) -> None:
    by_lower = {field.name.lower(): field.name for field in kept}
    for name in new:
        if name.lower() in by_lower:
            raise PipelineError(
                f"column {path}{by_lower[name.lower()]} of the table and {path}{name} are one: "
                "engines ignore case in names; write it as the table has it"
            )
