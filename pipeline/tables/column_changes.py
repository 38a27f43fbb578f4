"""Differences between the columns of a table and those of rows that a job adds.

Owns the growth of a column's type, as a path for ALTER TABLE, and the signs of a column that a user
renamed. The table's own append adds new columns. Pure functions of schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pipeline.errors import PipelineError
from pipeline.types.widening import both


@dataclass(frozen=True, slots=True)
class Growth:
    """A column, or a field inside a column, whose type is to grow."""

    path: tuple[str, ...]
    """The names from the column on; `element` in an array, `value` in a map, as in SQL."""
    kind: DataType
    wider: DataType

    def __str__(self) -> str:
        before, now = (kind.simpleString().upper() for kind in (self.kind, self.wider))
        return f"column {'.'.join(self.path)} is {now} from now on ({before} before)"


def growths(there: DataType, wanted: DataType, path: tuple[str, ...] = ()) -> Iterator[Growth]:
    """Yield the types of a table that must grow for rows of the type `wanted`.

    A type that is as wide or wider stays; a user may have changed the table's type.
    """
    if isinstance(there, StructType) and isinstance(wanted, StructType):
        fields = _kinds(there)
        for field in wanted:
            if field.name in fields:
                yield from growths(fields[field.name], field.dataType, (*path, field.name))
    elif isinstance(there, ArrayType) and isinstance(wanted, ArrayType):
        yield from growths(there.elementType, wanted.elementType, (*path, "element"))
    elif isinstance(there, MapType) and isinstance(wanted, MapType):
        yield from growths(there.valueType, wanted.valueType, (*path, "value"))
    elif (wider := both(there, wanted)) not in (None, there):
        assert wider is not None, "it is no other type"
        yield Growth(path, there, wider)


def fitted(kind: DataType, there: DataType) -> DataType:
    """Return the type of rows with each type in it as wide as in the table, whose type is `there`.

    A user may have let a type of the table grow; after that, Delta rejects a narrower type.
    """
    if isinstance(kind, StructType) and isinstance(there, StructType):
        wide = _kinds(there)
        return StructType(
            [
                StructField(
                    field.name,
                    fitted(field.dataType, wide.get(field.name, field.dataType)),
                    field.nullable,
                )
                for field in kind
            ]
        )
    if isinstance(kind, ArrayType) and isinstance(there, ArrayType):
        return ArrayType(fitted(kind.elementType, there.elementType), kind.containsNull)
    if isinstance(kind, MapType) and isinstance(there, MapType):
        value = fitted(kind.valueType, there.valueType)
        return MapType(kind.keyType, value, kind.valueContainsNull)
    return there if both(kind, there) == there else kind


def refuse_renamed(
    place: str, kept: StructType, there: StructType, earlier: StructType | None = None
) -> None:
    """Raise PipelineError if a user renamed a column, or an inner field, of the table at `place`.

    `kept` are the columns that the job has written, `there` those of the table, `earlier` those
    that the table had at the last check. A kept column that the table lacks may have been dropped,
    or a killed run did not make it: then the next append makes the column. But if the table also
    has a new column that is not the job's, that is the old column under a new name. The job would
    make the old column a second time.
    """
    for missing, others in _renamed(kept, there, earlier, ()):
        raise PipelineError(
            f"column {missing} of {place} was renamed by hand, perhaps to {others}: rename the "
            f"column back, or add a column {missing} if you dropped that one, and start again"
        )


def _renamed(
    kept: DataType, there: DataType, earlier: DataType | None, path: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the first missing name of each object, and the new names there."""
    if isinstance(kept, StructType) and isinstance(there, StructType):
        before = _kinds(earlier)
        missing = [name for name in kept.names if name not in there.names]
        others = [name for name in there.names if name not in (*kept.names, *before)]
        if missing and others:
            names = [".".join((*path, name)) for name in (missing[0], *others)]
            yield names[0], " or ".join(names[1:])
        kinds = _kinds(there)
        for field in kept:
            if field.name in kinds:
                pair = field.dataType, kinds[field.name]
                yield from _renamed(*pair, before.get(field.name), (*path, field.name))
    elif isinstance(kept, ArrayType) and isinstance(there, ArrayType):
        before_kind = earlier.elementType if isinstance(earlier, ArrayType) else None
        yield from _renamed(kept.elementType, there.elementType, before_kind, (*path, "element"))
    elif isinstance(kept, MapType) and isinstance(there, MapType):
        before_kind = earlier.valueType if isinstance(earlier, MapType) else None
        yield from _renamed(kept.valueType, there.valueType, before_kind, (*path, "value"))


def _kinds(kind: DataType | None) -> dict[str, DataType]:
    if not isinstance(kind, StructType):
        return {}
    return {field.name: field.dataType for field in kind}
