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
DAY_MS, WIDE_DAY_MS = "time-millis", "ottla-time-millis"
"""The logical type of a time of day in ms, which is an int, and the name that it gets as a long.
Avro and Spark ignore the latter; `avro_logical` needs the unit."""
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

    def leaf(place: Place, node: object) -> object:
        name = node["type"] if isinstance(node, Mapping) else node
        wider = chosen.get(place, name) if _is_number(name) else name
        if wider == name:
            return node
        is_time = isinstance(node, Mapping) and node.get("logicalType") == DAY_MS
        return {"type": wider, "logicalType": WIDE_DAY_MS} if is_time and wider == "long" else wider

    return replaced(root, (), leaf)


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


def replaced(node: object, place: Place, leaf: Callable[[Place, object], object]) -> object:
    """Return a part of a schema, with `leaf(place, part)` for each part that contains no other."""
    if isinstance(node, list):
        changed = [replaced(branch, (*place, str(n)), leaf) for n, branch in enumerate(node)]
        # A union stays as it is if a type would be there twice.
        return node if of_union(changed) else changed
    if not isinstance(node, Mapping) or node["type"] not in ("record", "array", "map"):
        return leaf(place, node)
    copy = dict(node)
    for key in ("items", "values"):
        if key in node:
            copy[key] = replaced(node[key], (*place, key), leaf)
    if node["type"] == "record":
        fields, record = node["fields"], str(node["name"])
        assert isinstance(fields, list)
        copy["fields"] = [
            {**entry, "type": replaced(entry["type"], (record, entry["name"]), leaf)}
            for entry in fields
        ]
    return copy


def _is_number(name: object) -> bool:
    return name in ("int", "float")
