"""Names of fields that a table's format cannot hold: found before anything is written.

No format holds two fields of one object whose names differ in case alone; Delta and plain Parquet
take any other name. Iceberg knows a field by the names on the way to it, joined by dots, and has
columns of its own: it refuses a field inside another that has no name, `a.b` beside an object `a`
with a `b`, and a column `_file`. Pure functions of schemas. Source: Iceberg's
`TypeUtil.indexByName`, `MetadataColumns`, and what each format said to such a table.
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
    """PipelineError for the first name in these columns of a table that its format refuses."""
    look = _Look(form)
    look.fields(columns)
    for _, why in look.wrong:
        raise refused(why)


def refused(why: str) -> PipelineError:
    """What a job is told of a name."""
    return PipelineError(f"{why}: give a --schema without it, or a table of another --to")


@dataclass(frozen=True, slots=True)
class Names:
    """Which names the fields of a value may have."""

    form: str
    """The table's format."""
    own: tuple[StructField, ...] = ()
    """The columns that it has beside those of the value."""

    def held(self, fields: StructType, kept: StructType | None = None) -> StructType:
        """The fields without those, at any depth, that no table of the format holds.

        `kept` are those that the table has already: they stay.
        """
        return self._held(fields, kept)[0]

    def held_in_all(self, fields: StructType, rare: Collection[str] = frozenset()) -> StructType:
        """Return the same of a table that is new.

        PipelineError where a whole column would be lost that is not among the `rare` fields.
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
        found = dict(zip(fields.names, look.fields(_columns(fields)), strict=True))
        left = [
            StructField(one.name, kind, one.nullable)
            for one in fields
            if (kind := found[one.name]) is not None
        ]
        return StructType(left), look.wrong


ANY_NAMES = Names("delta")


def _columns(fields: StructType) -> list[StructField]:
    return [StructField(column_name(one.name), one.dataType) for one in fields]


@dataclass(slots=True)
class _Look:
    """A walk over schemas of one table, the fields that go before others first."""

    form: str
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """The column, and one sentence."""
    _seen: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def fields(
        self, fields: Iterable[StructField], way: tuple[str, ...] = ()
    ) -> list[DataType | None]:
        """The type of each that is left; None of what cannot be held."""
        beside: set[str] = set()
        return [self._field(one, way, beside) for one in fields]

    def _field(self, one: StructField, way: tuple[str, ...], beside: set[str]) -> DataType | None:
        inner = (*way, one.name)
        why = ""
        if one.name.lower() in beside:
            why = f"{'.'.join(inner)} is there twice, for engines ignore case in names"
        elif self.form == _PICKY and way and not one.name:
            why = f"Iceberg takes no field without a name, as there is one in {'.'.join(way)}"
        elif self.form == _PICKY and not way and one.name in _ITS_OWN:
            why = f"Iceberg has a column {one.name} of its own"
        beside.add(one.name.lower())
        if why:
            self.wrong.append((inner[0], why))
            return None
        return self._type(one.dataType, inner)

    def _type(self, kind: DataType, way: tuple[str, ...]) -> DataType | None:
        name = ".".join(way)
        if self.form == _PICKY and self._seen.setdefault(name.lower(), way) != way:
            self.wrong.append((way[0], f"two fields are {name} to Iceberg, which joins names"))
            return None
        if isinstance(kind, StructType):
            found = zip(kind, self.fields(kind, way), strict=True)
            left = [StructField(one.name, of, one.nullable) for one, of in found if of is not None]
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
