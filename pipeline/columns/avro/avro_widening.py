"""A reader's schema of Avro with numbers as wide as those of a table.

Avro reads an int as a long or a double exactly, but as a float with rounding. Avro cannot read a
long as an int. A column may be wider than the reader's type, because an older or another schema
required that; then values are read at the width of the column. Pure: takes and returns parts of a
schema with full names, as `avro_schema` resolves them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, DataType, DoubleType, LongType, MapType, StructType

from pipeline.columns.avro.avro_rules import of_union

Place = tuple[str, ...]
"""The place of a number: the record that holds the number, and the way from there. A record that a
schema uses twice is defined once, so both uses have one place."""
_WIDER: dict[tuple[str, type[DataType]], str] = {
    ("int", LongType): "long",
    ("int", DoubleType): "double",
    ("float", DoubleType): "double",
}


def widened(root: object, defined: Mapping[str, Mapping[str, object]], kind: DataType) -> object:
    """Return the schema `root`, whose numbers get the width that they have in the type `kind`.

    `defined` has the named types. Each field of a record in the schema is also a field in `kind`.
    A number stays as it is if the uses of its record want different types.
    """
    uses = _Uses(defined)
    uses.look(root, kind, ())
    chosen = {place: next(iter(types)) for place, types in uses.types.items() if len(types) == 1}
    return _replaced(root, (), lambda place, name: chosen.get(place, name))


@dataclass(slots=True)
class _Uses:
    """A walk over a schema and a type, which collects the types of Avro that each number is to
    have."""

    defined: Mapping[str, Mapping[str, object]]
    types: dict[Place, set[str]] = field(default_factory=dict)

    def look(self, node: object, kind: DataType, place: Place) -> None:
        """Add the numbers in a part of the schema, which stands for values of the type `kind`."""
        if isinstance(node, str) and node in self.defined:
            node = self.defined[node]
        if isinstance(node, list):
            self._union(node, kind, place)
            return
        name = node["type"] if isinstance(node, Mapping) else node
        if isinstance(node, Mapping) and name == "record" and isinstance(kind, StructType):
            self._record(node, kind)
        elif isinstance(node, Mapping) and name == "array" and isinstance(kind, ArrayType):
            self.look(node["items"], kind.elementType, (*place, "items"))
        elif isinstance(node, Mapping) and name == "map" and isinstance(kind, MapType):
            self.look(node["values"], kind.valueType, (*place, "values"))
        elif isinstance(name, str):
            wider = _WIDER.get((name, type(kind)), name)
            self.types.setdefault(place, set()).add(wider)

    def _record(self, node: Mapping[str, object], kind: StructType) -> None:
        fields, name = node["fields"], str(node["name"])
        assert isinstance(fields, list)
        kinds = {column.name: column.dataType for column in kind}
        for entry in fields:
            self.look(entry["type"], kinds[entry["name"]], (name, entry["name"]))

    def _union(self, node: list[object], kind: DataType, place: Place) -> None:
        """Add the numbers in a union, which is in Spark a STRUCT with a field for each type."""
        branches = [(n, branch) for n, branch in enumerate(node) if branch != "null"]
        if len(branches) == 1:
            ((n, branch),) = branches
            self.look(branch, kind, (*place, str(n)))
        elif isinstance(kind, StructType) and len(kind) == len(branches):
            for (n, branch), member in zip(branches, kind, strict=True):
                self.look(branch, member.dataType, (*place, str(n)))


def _replaced(node: object, place: Place, name_of: Callable[[Place, str], str]) -> object:
    if isinstance(node, list):
        return _replaced_union(node, place, name_of)
    if isinstance(node, str):
        return name_of(place, node) if _is_number(node) else node
    assert isinstance(node, Mapping)
    if _is_number(node["type"]):
        name = name_of(place, str(node["type"]))
        return node if name == node["type"] else name
    changed = dict(node)
    for key in ("items", "values"):
        if key in node:
            changed[key] = _replaced(node[key], (*place, key), name_of)
    if node["type"] == "record":
        fields, record = node["fields"], str(node["name"])
        assert isinstance(fields, list)
        changed["fields"] = [
            {**entry, "type": _replaced(entry["type"], (record, entry["name"]), name_of)}
            for entry in fields
        ]
    return changed


def _replaced_union(
    node: list[object], place: Place, name_of: Callable[[Place, str], str]
) -> object:
    """Return the union with the new numbers, or the union itself if a type would be there twice."""
    changed = [_replaced(branch, (*place, str(n)), name_of) for n, branch in enumerate(node)]
    return node if of_union(changed) else changed


def _is_number(name: object) -> bool:
    return name in ("int", "float")
