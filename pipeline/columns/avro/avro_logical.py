"""A reader's schema of Avro with the units of a writer: the scale of decimals, the unit of times.

Avro resolves a writer's schema into a reader's by the types alone, and Spark then takes the unit
from the reader's schema: 12.34 as a decimal of scale 2 would be 0.1234 to a reader of scale 4. So
each record is decoded with the units of its writer, and converted afterwards.

Spark keeps only the lowest 64 bits of a decimal with up to 18 digits. So these are decoded with
more digits, and compared with the column's type afterwards. Pure: takes and returns parts of a
schema with full names, as `avro_schema` resolves them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.columns.avro.avro_rules import NAMED
from pipeline.columns.avro.avro_widening import DAY_MS, WIDE_DAY_MS, Place, replaced

Defined = Mapping[str, Mapping[str, object]]
_DIGITS_OF_LONG, _DIGITS_MAX = 18, 38
_LOCAL = "local-"
_TIMES = ("timestamp-millis", "timestamp-micros")
DAY_US = "time-micros"
_OF_DAY = {("int", DAY_MS): DAY_MS, ("long", WIDE_DAY_MS): DAY_MS, ("long", DAY_US): DAY_US}
"""The unit of a time of day, which is a number since midnight, by its type and logical type."""
_UNITS = (*_TIMES, "timestamp-nanos", DAY_MS, DAY_US)


def as_written(
    root: object, defined: Defined, writer_root: object, writer_defined: Defined
) -> object | None:
    """Return the schema `root` with the writer's units, and with more digits in decimals.

    Returns None if the writer has a unit that Spark does not convert, or if a named type has two
    units.
    """
    pairs = _Pairs(defined, writer_defined)
    pairs.look(root, writer_root, ())
    if pairs.is_foreign or any(len(units) > 1 for units in pairs.units.values()):
        return None
    chosen = {place: units[0] for place, units in pairs.units.items()}

    def leaf(place: Place, node: object) -> object:
        if not isinstance(node, Mapping):
            return node
        return _longer({**node, **chosen.get(_place(node, place), {})})

    return replaced(root, (), leaf)


def units_of_day(node: object, defined: Defined, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the unit of each time of day in a part of a schema, which has the name
    `name`. Names are those of `pipeline.columns.walks`; that of a record's field stands alone if
    `name` is empty."""
    node = _definition(node, defined)
    if isinstance(node, list):
        branches = [branch for branch in node if branch != "null"]
        for n, branch in enumerate(branches):
            inner = name if len(branches) == 1 else inside(name, f"member{n}")
            yield from units_of_day(branch, defined, inner)
    elif (unit := _unit_of_day(node)) is not None:
        yield name, unit
    elif isinstance(node, Mapping) and node["type"] == "record":
        for entry in node["fields"]:
            yield from units_of_day(entry["type"], defined, inside(name, entry["name"]))
    elif isinstance(node, Mapping) and node["type"] in ("array", "map"):
        items = node["items" if node["type"] == "array" else "values"]
        yield from units_of_day(items, defined, f"{name}[]")


@dataclass(slots=True)
class _Pairs:
    """A walk over a reader's and a writer's schema, which collects the writer's units."""

    defined: Defined
    writer_defined: Defined
    units: dict[Place, list[dict[str, object]]] = field(default_factory=dict)
    """The different attributes that a part of the reader's schema gets, by its place."""
    is_foreign: bool = False
    """Whether the writer has a unit that Spark does not convert."""

    def look(self, part: object, written_part: object, place: Place) -> None:
        """Add the units of a part of the writer's schema, which the reader reads as `part`."""
        node = _definition(part, self.defined)
        written = _definition(written_part, self.writer_defined)
        if isinstance(node, list) or isinstance(written, list):
            self._union(node, written, place)
        elif _type(node) == "record" == _type(written):
            self._record(node, written)
        elif _type(node) in ("array", "map") and _type(node) == _type(written):
            assert isinstance(node, Mapping) and isinstance(written, Mapping)
            key = "items" if _type(node) == "array" else "values"
            self.look(node[key], written[key], (*place, key))
        elif isinstance(node, Mapping) and isinstance(written, Mapping):
            self._leaf(node, written, _place(node, place))

    def _union(self, node: object, written: object, place: Place) -> None:
        is_union = isinstance(node, list)
        branches = node if isinstance(node, list) else [node]
        written_branches = written if isinstance(written, list) else [written]
        theirs = [_definition(branch, self.writer_defined) for branch in written_branches]
        for n, branch in enumerate(branches):
            there = (*place, str(n)) if is_union else place
            for other in _alike(_definition(branch, self.defined), theirs):
                self.look(branch, other, there)

    def _record(self, node: object, written: object) -> None:
        assert isinstance(node, Mapping) and isinstance(written, Mapping)
        theirs = {entry["name"]: entry["type"] for entry in written["fields"]}
        for entry in node["fields"]:
            names = [entry["name"], *entry.get("aliases", [])]
            other = next((name for name in names if name in theirs), None)
            if other is not None:
                self.look(entry["type"], theirs[other], (str(node["name"]), entry["name"]))

    def _leaf(
        self, node: Mapping[str, object], written: Mapping[str, object], place: Place
    ) -> None:
        mine = str(node.get("logicalType"))
        local = _LOCAL if mine.startswith(_LOCAL) else ""
        bare = mine.removeprefix(_LOCAL)
        theirs = str(written.get("logicalType")).removeprefix(_LOCAL)
        units: dict[str, object] = {}
        if mine == theirs == "decimal":
            units = {"precision": written["precision"], "scale": written.get("scale", 0)}
        elif bare in _TIMES and theirs in _TIMES:
            units = {"logicalType": f"{local}{theirs}"}
        elif _unit_of_day(node) and _unit_of_day(written):
            units = {"type": written["type"], "logicalType": theirs}
        elif bare != theirs and bare in _UNITS and theirs in _UNITS:
            self.is_foreign = True
        if units:
            there = self.units.setdefault(place, [])
            if units not in there:
                there.append(units)


def _alike(node: object, theirs: list[object]) -> Iterator[object]:
    """Yield the types of a writer's union that a type of the reader may read, of named types those
    with its name if there are any. A time of day may have another unit, and so another type."""
    same = [other for other in theirs if _type(other) == _type(node)]
    if _unit_of_day(node) and not same:
        same = [other for other in theirs if _unit_of_day(other)]
    named = [other for other in same if _short_name(other) == _short_name(node)]
    yield from named if _type(node) in NAMED and named else same


def _unit_of_day(node: object) -> str | None:
    """Return the unit of a time of day, None if the part is none."""
    if not isinstance(node, Mapping):
        return None
    return _OF_DAY.get((str(node["type"]), str(node.get("logicalType"))))


def inside(name: str, field_name: str) -> str:
    """Return the name of a field in a record `name`, or in a record without a name."""
    return f"{name}.{field_name}" if name else field_name


def _definition(node: object, defined: Defined) -> object:
    return defined[node] if isinstance(node, str) and node in defined else node


def _type(node: object) -> object:
    return node["type"] if isinstance(node, Mapping) else node


def _short_name(node: object) -> str:
    return str(node.get("name", "")).rpartition(".")[2] if isinstance(node, Mapping) else ""


def _place(node: Mapping[str, object], place: Place) -> Place:
    """Return the place of a part; a fixed is defined once, so all its uses have one place."""
    return (str(node["name"]),) if node["type"] == "fixed" else place


def _longer(node: dict[str, object]) -> dict[str, object]:
    """Return a decimal of up to 18 digits with more digits, if its bytes may have more."""
    if node.get("logicalType") != "decimal" or node["type"] not in ("bytes", "fixed"):
        return node
    digits, size = _DIGITS_MAX, node.get("size")
    if isinstance(size, int):
        digits = min(digits, int((8 * size - 1) * math.log10(2)))
    precision = node["precision"]
    assert isinstance(precision, int)
    is_short = precision <= _DIGITS_OF_LONG < digits
    return {**node, "precision": digits} if is_short else node
