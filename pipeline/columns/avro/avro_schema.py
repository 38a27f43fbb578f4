"""Schemas of Avro, which are checked, merged, and converted to types of Spark.

This module reads a schema without Spark, so that a mistake is an error before Spark starts. The
types are those of Spark's `from_avro` (its `SchemaConverters`), which decodes the bytes; the names
and rules are the Avro specification's. Pure: fetches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pipeline.columns.avro import avro_rules
from pipeline.columns.avro.avro_logical import as_written, units_of_day
from pipeline.columns.avro.avro_widening import widened
from pipeline.errors import PipelineError

Node = object
"""A part of a schema's JSON."""
_PRIMITIVES: dict[str, type[DataType]] = {
    "boolean": BooleanType,
    "bytes": BinaryType,
    "double": DoubleType,
    "float": FloatType,
    "int": IntegerType,
    "long": LongType,
    "string": StringType,
}
_LOGICAL: dict[tuple[str, str], type[DataType]] = {
    ("int", "date"): DateType,
    ("long", "timestamp-millis"): TimestampType,
    ("long", "timestamp-micros"): TimestampType,
    ("long", "local-timestamp-millis"): TimestampNTZType,
    ("long", "local-timestamp-micros"): TimestampNTZType,
}
_HOLDERS = {"array": "items", "map": "values"}
_PRECISION_MAX = 38


class AvroSchema:
    """A complete schema, which defines each name that it uses."""

    def __init__(self, where: str, text: str) -> None:
        """Read a schema. Raise PipelineError, which begins with `where`, if the text is no schema
        or has a type that no table has."""
        self._where = where
        try:
            node: Node = json.loads(text)
        except ValueError as error:
            raise self._wrong("it is no JSON") from error
        self._defined: dict[str, dict[str, Node]] = {}
        self._root = self._resolved(node, "")
        self.kind = self._type(self._root, ())

    @property
    def text(self) -> str:
        """The schema with full names, in one line."""
        return json.dumps(self._written(self._root, set()), separators=(",", ":"))

    def with_fields_of(self, other: AvroSchema) -> AvroSchema:
        """Return the schema with the fields of the other's record that this one lacks.

        Their default is null. So fields that an older schema wrote are read too, after the fields
        were removed.
        """
        mine, theirs = self._fields(), other._fields()
        if mine is None or theirs is None:
            return self
        missing = [theirs[name] for name in theirs if name not in mine]
        if not missing:
            return self
        root = self._written(self._root, seen := set[str]())
        assert isinstance(root, dict)
        for field in missing:
            kind = other._written(field["type"], seen)
            union = kind if isinstance(kind, list) else [kind]
            kinds = ["null", *(branch for branch in union if branch != "null")]
            root["fields"].append({"name": field["name"], "type": kinds, "default": None})
        return AvroSchema(self._where, json.dumps(root))

    def widened(self, kind: DataType) -> AvroSchema:
        """Return the schema with numbers as wide as in the type `kind` of the table's values."""
        root = widened(self._root, self._defined, kind)
        if root == self._root:
            return self
        return AvroSchema(self._where, json.dumps(self._written(root, set())))

    def as_written(self, writer: AvroSchema) -> AvroSchema | None:
        """Return the schema with the units of the writer's decimals and times, None if values of
        the writer cannot be converted."""
        root = as_written(self._root, self._defined, writer._root, writer._defined)
        if root is None:
            return None
        return AvroSchema(self._where, json.dumps(self._written(root, set())))

    def units_of_day(self, what: str) -> dict[str, str]:
        """Return the unit of each time of day in a key or a value, `what`, by its name as in
        `avro_values.all_checks`."""
        name = "" if isinstance(self.kind, StructType) else what
        return dict(units_of_day(self._root, self._defined, name))

    def _fields(self) -> dict[str, dict[str, Node]] | None:
        root = self._root
        if not isinstance(root, dict) or root["type"] != "record":
            return None
        fields = root["fields"]
        assert isinstance(fields, list)
        return {field["name"]: field for field in fields}

    def _resolved(self, node: Node, space: str) -> Node:
        """Return the same part with full names everywhere, and add its named types to
        `_defined`."""
        if isinstance(node, str):
            return self._name(node, space)
        if isinstance(node, list):
            kinds = [self._resolved(branch, space) for branch in node]
            self._check(avro_rules.of_union(kinds))
            return kinds
        if not isinstance(node, dict) or "type" not in node:
            raise self._wrong(f"{json.dumps(node)[:60]} is no type")
        kind = node["type"]
        if not isinstance(kind, str):
            return self._resolved(kind, space)
        if kind in avro_rules.NAMED:
            return self._named(node, space)
        if kind in _HOLDERS:
            inside = _HOLDERS[kind]
            return {**node, inside: self._resolved(node.get(inside), space)}
        # A primitive keeps its attributes, because the logical type is one of them.
        return node if kind in _PRIMITIVES else self._resolved(kind, space)

    def _name(self, name: str, space: str) -> str:
        if name in _PRIMITIVES or name == "null":
            return name
        full = name if "." in name or not space else f"{space}.{name}"
        for candidate in (full, name):
            if candidate in self._defined:
                return candidate
        raise self._wrong(f"the type {name} is not defined in it")

    def _named(self, node: Mapping[str, Node], space: str) -> Node:
        name = node.get("name")
        if not isinstance(name, str) or not name:
            raise self._wrong(f"a {node['type']} without a name")
        full = name if "." in name else ".".join(filter(None, (_space(node, space), name)))
        self._check(avro_rules.of_named(node, full))
        if full in self._defined:
            raise self._wrong(f"it defines {full} twice")
        inner = full.rpartition(".")[0]
        definition = {
            key: value for key, value in node.items() if key not in ("namespace", "aliases")
        }
        definition["name"] = full
        # To readers of values, an error of a protocol is a record.
        definition["type"] = "record" if node["type"] == "error" else node["type"]
        if aliases := node.get("aliases"):
            definition["aliases"] = aliases
        self._defined[full] = definition
        if definition["type"] == "record":
            fields = node.get("fields")
            if not isinstance(fields, list):
                raise self._wrong(f"the record {full} has no fields")
            resolved = [self._field(field, inner, full) for field in fields]
            self._check(avro_rules.of_fields(resolved, full))
            definition["fields"] = resolved
        return definition

    def _field(self, field: Node, space: str, record: str) -> dict[str, Node]:
        if not isinstance(field, dict) or not isinstance(field.get("name"), str):
            raise self._wrong(f"a field of {record} has no name")
        return {**field, "type": self._resolved(field.get("type"), space)}

    def _written(self, node: Node, seen: set[str]) -> Node:
        """Return the JSON of a part. A named type is defined at its first place, and `seen` has the
        names that are defined already."""
        if isinstance(node, str):
            return self._written(self._defined[node], seen) if node in self._defined else node
        if isinstance(node, list):
            return [self._written(branch, seen) for branch in node]
        assert isinstance(node, dict)
        if node["type"] in avro_rules.NAMED:
            if node["name"] in seen:
                return node["name"]
            seen.add(node["name"])
        written = dict(node)
        for key in _HOLDERS.values():
            if key in written:
                written[key] = self._written(written[key], seen)
        if node["type"] == "record":
            written["fields"] = [
                {**field, "type": self._written(field["type"], seen)} for field in node["fields"]
            ]
        return written

    def _type(self, node: Node, inside: tuple[str, ...]) -> DataType:
        if isinstance(node, list):
            return self._union([branch for branch in node if branch != "null"], inside)
        if isinstance(node, str):
            if node in self._defined:
                return self._type(self._defined[node], inside)
            if node == "null":
                raise self._wrong("a type that is always null has no column")
            return _PRIMITIVES[node]()
        assert isinstance(node, dict)
        match node["type"]:
            case "record":
                return self._record(node, inside)
            case "array":
                return ArrayType(self._type(node["items"], inside))
            case "map":
                return MapType(StringType(), self._type(node["values"], inside))
        return self._plain(node)

    def _plain(self, node: Mapping[str, Node]) -> DataType:
        """Return the type for a part that contains no other part."""
        kind, logical = str(node["type"]), node.get("logicalType")
        if kind == "enum":
            return StringType()
        if kind in ("fixed", "bytes"):
            return self._decimal(node) if logical == "decimal" else BinaryType()
        return _LOGICAL.get((kind, str(logical)), _PRIMITIVES[kind])()

    def _record(self, node: Mapping[str, Node], inside: tuple[str, ...]) -> DataType:
        name, fields = str(node["name"]), node["fields"]
        if name in inside:
            raise self._wrong(f"the record {name} holds itself: no table has such a type")
        assert isinstance(fields, list)
        if not fields:
            raise self._wrong(f"the record {name} has no fields")
        return StructType(
            [
                StructField(field["name"], self._type(field["type"], (*inside, name)))
                for field in fields
            ]
        )

    def _union(self, kinds: list[Node], inside: tuple[str, ...]) -> DataType:
        """Return the type that Spark has for a union: a type alone is itself, int and long are
        BIGINT, float and double are DOUBLE, and other types a STRUCT with a field for each."""
        if not kinds:
            raise self._wrong("a union of null alone has no column")
        types = [self._type(kind, inside) for kind in kinds]
        if len(types) == 1:
            return types[0]
        names = {kind if isinstance(kind, str) else None for kind in kinds}
        if names == {"int", "long"}:
            return LongType()
        if names == {"float", "double"}:
            return DoubleType()
        return StructType([StructField(f"member{n}", member) for n, member in enumerate(types)])

    def _decimal(self, node: Mapping[str, Node]) -> DataType:
        precision, scale = node.get("precision"), node.get("scale", 0)
        if not avro_rules.is_number(precision) or not avro_rules.is_number(scale):
            raise self._wrong("a decimal has a precision, and may have a scale: numbers from 0")
        if not 0 < precision <= _PRECISION_MAX:
            raise self._wrong(f"decimal({precision},{scale}): 1 to 38 digits have a column")
        if scale > precision:
            raise self._wrong(f"decimal({precision},{scale}): its scale is 0 to {precision}")
        return DecimalType(precision, scale)

    def _check(self, wrong: str | None) -> None:
        if wrong is not None:
            raise self._wrong(wrong)

    def _wrong(self, words: str) -> PipelineError:
        return PipelineError(f"{self._where}: {words}")


def _space(node: Mapping[str, Node], space: str) -> str:
    own = node.get("namespace")
    return own if isinstance(own, str) else space
