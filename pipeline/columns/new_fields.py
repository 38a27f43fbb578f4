"""Fields of JSON that a schema lacks: which a record has, at any depth, and what kind each is.

Owns the names by which they are told: `s.x` inside an object, `tags[].x` in each object of a list,
`m[].x` in each value of a map. Functions of columns alone: no sample, each record is looked at.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from pipeline.columns.walks import bound

NEW, EMPTY, TWIN = "new", "empty", "twin"
"""It has a value; nothing but null, `[]` and `{}`; it differs from a known one in case alone."""
TYPE = "array<struct<name:string,what:string>>"
_FIELDS, _VARIANTS, _LIST = "MAP<STRING, STRING>", "MAP<STRING, VARIANT>", "ARRAY<STRING>"
# Of a type as schema_of_variant has it: names of fields, and what holds nothing.
_NOTHING = r"(?:`(?:[^`]|``)*`|\w+): |OBJECT|ARRAY|VOID|[<>, ]"


def new_fields(text: Column, schema: StructType) -> Column:
    """What the object has that the schema lacks, as `TYPE`; empty where there is nothing."""
    if any(_has_fields(one.dataType) for one in schema):
        return _of_object(text, schema, "")
    # Cheaper than reading its values, which most records need not have done.
    lacking = F.size(F.array_except(F.json_object_keys(text), _names(schema))) > 0
    return F.when(lacking, _of_object(text, schema, "")).otherwise(_none())


def _of_object(text: Column, schema: StructType, path: str) -> Column:
    holders = [one for one in schema if _has_fields(one.dataType)]

    def found(fields: Column) -> Column:
        inside = (
            _each(_named(fields, one.name), one.dataType, f"{path}{one.name}") for one in holders
        )
        return F.concat(_own(text, fields, schema, path), *inside)

    return F.coalesce(bound(F.from_json(text, _FIELDS), found), _none())


def _own(text: Column, fields: Column, schema: StructType, path: str) -> Column:
    """Those of the object itself."""
    lower = F.array(*(F.lit(one.lower()) for one in schema.names))
    lacking = F.array_except(F.map_keys(fields), _names(schema))

    def told(name: Column) -> Column:
        what = (
            F.when(F.array_contains(lower, F.lower(name)), F.lit(TWIN))
            .when(_is_filled(text, fields, name), F.lit(NEW))
            .otherwise(F.lit(EMPTY))
        )
        return F.struct(F.concat(F.lit(path), name).alias("name"), what.alias("what"))

    return F.transform(lacking, told)


def _inside(text: Column, kind: DataType, path: str) -> Column:
    """Those in a value of a type that has fields."""
    if isinstance(kind, StructType):
        return _of_object(text, kind, f"{path}.")
    if isinstance(kind, MapType):
        return _each(F.map_values(F.from_json(text, _FIELDS)), kind.valueType, f"{path}[]")
    assert isinstance(kind, ArrayType), kind
    return _each(F.from_json(text, _LIST), kind.elementType, f"{path}[]")


def _each(texts: Column, kind: DataType, path: str) -> Column:
    found = F.flatten(F.transform(texts, lambda one: _inside(one, kind, path)))
    return F.coalesce(found, _none())


def _named(fields: Column, name: str) -> Column:
    """The values of that name: JSON may have one twice."""
    entries = F.filter(F.map_entries(fields), lambda one: one["key"] == name)
    return F.transform(entries, lambda one: one["value"])


def _is_filled(text: Column, fields: Column, name: Column) -> Column:
    """Whether a value of that name says what its type is."""
    kind = F.schema_of_variant(F.element_at(F.from_json(text, _VARIANTS), name))
    # Null where a name in it is there twice: looked at again by whoever reads the record.
    says = F.coalesce(F.regexp_replace(kind, _NOTHING, "") != "", F.lit(True))

    def filled(entry: Column) -> Column:
        value = entry["value"]
        begins = F.substring(value, 1, 1)
        return (entry["key"] == name) & F.when(begins.isin("[", "{"), says).otherwise(
            value.isNotNull()
        )

    return F.exists(F.map_entries(fields), filled)


def _has_fields(kind: DataType) -> bool:
    """Whether an object with fields of its own is in it."""
    if isinstance(kind, ArrayType):
        return _has_fields(kind.elementType)
    if isinstance(kind, MapType):
        return _has_fields(kind.valueType)
    return isinstance(kind, StructType)


def _names(schema: StructType) -> Column:
    return F.array(*(F.lit(one) for one in schema.names))


def _none() -> Column:
    return F.array().cast(TYPE)
