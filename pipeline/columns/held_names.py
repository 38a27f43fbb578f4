"""Names of fields that a table's format cannot hold, which a job rejects before it writes.

No format holds two fields of one object whose names differ in case alone; Delta and plain Parquet
take any other name. Iceberg identifies a field by the names on the way to the field, joined by
dots, and has columns of its own. So Iceberg rejects a field without a name inside another field,
`a.b` beside an object `a` with a `b`, and a column `_file`. Pure functions of schemas. Source:
Iceberg's `TypeUtil.indexByName` and `MetadataColumns`, and the answers of each format to such a
table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from pipeline.columns.records import column_name
from pipeline.errors import PipelineError

_PICKY = "iceberg"
_ITS_OWN = (
    "_deleted",
    "_file",
    "_last_updated_sequence_number",
    "_partition",
    "_pos",
    "_row_id",
    "_spec_id",
)


def check_names(form: str, columns: StructType) -> None:
    """Raise PipelineError for the first name in a table's columns that the format rejects."""
    look = _Look(form)
    look.fields(columns)
    for _, why in look.wrong:
        raise refused(why)


def refused(why: str) -> PipelineError:
    """Return the error for a name that the format rejects; `why` is the reason."""
    return PipelineError(f"{why}: give a --schema without it, or a table of another --to")


@dataclass(frozen=True, slots=True)
class Names:
    """The names that the fields of a value may have."""

    form: str
    """The table's format."""
    own: tuple[StructField, ...] = ()
    """The columns that the table has beside those of the value."""

    def held(self, fields: StructType, kept: StructType | None = None) -> StructType:
        """Return the fields without those, at any depth, that no table of the format holds.

        `kept` are the fields that the table has already: they stay.
        """
        return self._held(fields, kept)[0]

    def held_in_all(self, fields: StructType, rare: Collection[str] = frozenset()) -> StructType:
        """Return the fields that a new table of the format holds.

        Raises PipelineError if a whole column would be lost that is not among the `rare` fields.
        """
        held, wrong = self._held(fields, None)
        may_be_lost = {*map(column_name, held.names), *map(column_name, rare)}
        for column, why in wrong:
            if column not in may_be_lost:
                raise refused(why)
        return held

    def _held(
        self, fields: StructType, kept: StructType | None
    ) -> tuple[StructType, list[tuple[str, str]]]:
        look = _Look(self.form)
        look.fields(self.own)
        look.fields(_columns(kept or StructType([])))
        types = dict(zip(fields.names, look.fields(_columns(fields)), strict=True))
        left = [
            StructField(column.name, kind, column.nullable)
            for column in fields
            if (kind := types[column.name]) is not None
        ]
        return StructType(left), look.wrong


ANY_NAMES = Names("delta")


def _columns(fields: StructType) -> list[StructField]:
    return [StructField(column_name(column.name), column.dataType) for column in fields]


@dataclass(slots=True)
class _Look:
    """A walk over the schemas of a table: if names collide, the field that comes first is held."""

    form: str
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of a column's name and a sentence that says why a name in the column is rejected."""
    _seen: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def fields(
        self, fields: Iterable[StructField], way: tuple[str, ...] = ()
    ) -> list[DataType | None]:
        """Return the type of each field as far as a table holds it, None for a field without a
        column."""
        beside: set[str] = set()
        return [self._field(column, way, beside) for column in fields]

    def _field(
        self, column: StructField, way: tuple[str, ...], beside: set[str]
    ) -> DataType | None:
        inner = (*way, column.name)
        why = ""
        if column.name.lower() in beside:
            why = f"{'.'.join(inner)} is there twice, for engines ignore case in names"
        elif self.form == _PICKY and way and not column.name:
            why = f"Iceberg takes no field without a name, as there is one in {'.'.join(way)}"
        elif self.form == _PICKY and not way and column.name in _ITS_OWN:
            why = f"Iceberg has a column {column.name} of its own"
        beside.add(column.name.lower())
        if why:
            self.wrong.append((inner[0], why))
            return None
        return self._type(column.dataType, inner)

    def _type(self, kind: DataType, way: tuple[str, ...]) -> DataType | None:
        name = ".".join(way)
        if self.form == _PICKY and self._seen.setdefault(name.lower(), way) != way:
            self.wrong.append((way[0], f"two fields are {name} to Iceberg, which joins names"))
            return None
        if isinstance(kind, StructType):
            types = zip(kind, self.fields(kind, way), strict=True)
            left = [
                StructField(column.name, inner, column.nullable)
                for column, inner in types
                if inner is not None
            ]
            return StructType(left) if left else None
        if isinstance(kind, ArrayType):
            element = self._type(kind.elementType, (*way, "element"))
            return None if element is None else ArrayType(element, kind.containsNull)
        if isinstance(kind, MapType):
            value = self._type(kind.valueType, (*way, "value"))
            if value is None or self._type(kind.keyType, (*way, "key")) is None:
                return None
            return MapType(kind.keyType, value, kind.valueContainsNull)
        return kind
