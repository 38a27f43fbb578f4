"""Values that are JSON objects: a column for each field of a schema, or the reason why not.

Spark's `from_json` alone would make many things null, or something else, in silence: the array of
which it takes the first object, what follows an object. Here each
such record is a misfit. Owns what counts as fitting, and leaves to `strict_types` the types that
are judged value by value; finds no schema itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from pipeline.columns.evolution import grown
from pipeline.columns.held_names import ANY_NAMES, Names
from pipeline.columns.inference import FIELDS_MAX, SAMPLE, for_a_table, objects, schema_of
from pipeline.columns.new_fields import NEW, TWIN, new_fields
from pipeline.columns.new_fields import TYPE as NEW_TYPE
from pipeline.columns.records import column_names, nullable
from pipeline.columns.schema_text import told
from pipeline.columns.strict_types import as_read, fitting, is_strict, misfit, variant_type
from pipeline.columns.times import SHOWN_MAX
from pipeline.columns.walks import Check, bound, checks

ADD, IGNORE, MISFIT = "add", "ignore", "misfit"
NEW_FIELDS = (ADD, IGNORE, MISFIT)
_OBJECT, _END, _CORRUPT, _WRONG = "object", "end", "corrupt", "wrong"
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowSingleQuotes": "false",
}
_COMPLEX = (StructType, ArrayType, MapType)


@dataclass(frozen=True, slots=True)
class Json:
    """Objects with the fields of `fields`; NOT NULL there says which ones must be there."""

    fields: StructType
    new_fields: str = IGNORE
    """What is done with a field that is not among them: one of `NEW_FIELDS`."""
    name: str | None = None
    """Of the one column that holds them all, which may be missing; None: a column for each."""
    names: Names = ANY_NAMES
    """Which the table can hold, for fields that are new."""

    @property
    def schema(self) -> StructType:
        """Of the typed columns: all may be null, and none is called as a record's own."""
        if self.name is not None:
            return StructType([StructField(self.name, nullable(self.fields))])
        names = column_names(self.fields.names)
        return StructType(
            [StructField(names[one.name], nullable(one.dataType)) for one in self.fields]
        )

    def kept(self) -> dict[str, str]:
        """For `Columns.to_text`."""
        return {"format": "json", "fields": self.fields.json()}

    def read(self, data: Column) -> Column:
        """The object, what says that it is one and ends with the value, and its new fields."""
        text = data.cast("string")
        ignored = self.new_fields == IGNORE
        new = F.lit(None).cast(NEW_TYPE) if ignored else new_fields(text, self.fields)
        return F.struct(self._parsed(text).alias("json"), new.alias("new"))

    def _parsed(self, text: Column) -> Column:
        # As a field of another object, so that what follows it breaks that one.
        whole = F.concat(F.lit(f'{{"{_OBJECT}":'), text, F.lit(f',"{_END}":1}}'))
        wanted = StructType(
            [
                StructField(_OBJECT, as_read(self.fields)),
                StructField(_END, IntegerType()),
                StructField(_CORRUPT, StringType()),
            ]
        )
        parsed = F.from_json(whole, wanted, _OPTIONS)
        return bound(parsed, self._judged) if is_strict(self.fields) else parsed

    def _judged(self, parsed: Column) -> Column:
        """Return what was parsed with values of the schema's types, and what is wrong with some."""

        def with_misfit(fit: Column) -> Column:
            return F.struct(
                *(fit.alias(_OBJECT), parsed[_END].alias(_END), parsed[_CORRUPT].alias(_CORRUPT)),
                misfit(parsed[_OBJECT], fit, self.fields).alias(_WRONG),
            )

        return bound(fitting(parsed[_OBJECT], self.fields), with_misfit)

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """The first thing that is wrong, null where nothing is."""
        text, parsed, new = data.cast("string"), read["json"], read["new"]
        found = parsed[_OBJECT]
        begins = F.substring(F.ltrim(text), 1, 1) == "{"
        missing = f"there is no {what} (a tombstone)"
        why = (
            F.when(data.isNull(), F.lit(missing if self.name is None else None))
            .when(~F.is_valid_utf8(text), F.lit(f"the {what} is no text in UTF-8"))
            .when(parsed[_END].isNull() | (found.isNull() & begins), _not_json(text, what))
            .when(found.isNull(), _no_object(text, what))
        )
        if is_strict(self.fields):
            why = why.when(parsed[_WRONG].isNotNull(), parsed[_WRONG])
        why = why.when(parsed[_CORRUPT].isNotNull(), self._other_type(text, found))
        for words, wrong in checks(self.fields, _missing):
            why = why.when(wrong(found), F.lit(words))
        if self.new_fields == MISFIT:
            return why.when(F.size(new) > 0, _told_of(new[0]["name"], "is not in the schema"))
        if self.new_fields == ADD:
            twin = F.filter(new, lambda one: one["what"] == TWIN)
            differs = _told_of(twin[0]["name"], "differs from a column in case alone")
            why = why.when(F.size(twin) > 0, differs)
        return why

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """The fields that the schema lacks and that have a value, where they are wanted."""
        if self.new_fields != ADD:
            return None
        new = F.filter(read["new"], lambda one: one["what"] == NEW)
        return F.when(fits, F.transform(new, lambda one: one["name"]))

    def grown(self, checked: DataFrame, new: str) -> Json:
        """With the fields that the records of `checked` have beyond these.

        Each new field is seen, and its type is that of the values in some of the records.
        """
        found = checked.where(F.size(new) > 0)
        values = [row.value for row in found.select("value").limit(SAMPLE).collect()]
        if len(values) == SAMPLE:
            values += _examples(found, new)
        wider = for_a_table(grown(self.fields, schema_of(objects(values))))
        fields = self.names.held(wider, self.fields)
        return self if fields == self.fields else replace(self, fields=fields)

    def columns(self, read: Column) -> list[Column]:
        """A column for each field, or the one."""
        found = read["json"][_OBJECT]
        if self.name is not None:
            return [found.alias(self.name)]
        names = column_names(self.fields.names)
        return [found[field.name].alias(names[field.name]) for field in self.fields]

    def _other_type(self, text: Column, found: Column) -> Column:
        """Which field it is. Reads the value again: of misfits alone."""
        raw = F.from_json(text, "MAP<STRING, VARIANT>")
        looked = F.array(
            *(
                F.struct(
                    F.lit(field.name).alias("name"),
                    F.lit(told(field.dataType)).alias("wanted"),
                    F.lit(isinstance(field.dataType, _COMPLEX)).alias("whole"),
                    _is_wrong(raw, found, field).alias("wrong"),
                )
                for field in self.fields
            )
        )
        first = F.get(F.filter(looked, lambda one: one["wrong"]), F.lit(0))
        value = F.element_at(raw, first["name"])
        words = F.when(first["whole"], F.lit("does not fit")).otherwise(
            F.concat(F.lit("is "), variant_type(value), F.lit(", not"))
        )
        return F.coalesce(
            F.concat(
                *(F.lit("field "), first["name"], F.lit(" "), words, F.lit(" "), first["wanted"]),
                *(F.lit(": "), F.coalesce(_short(value.cast("string")), F.lit(""))),
            ),
            F.lit("a field is not of its type in the schema"),
        )


def _short(text: Column) -> Column:
    return F.substring(text, 1, SHOWN_MAX)


def _told_of(name: Column, what: str) -> Column:
    return F.concat(F.lit("field "), name, F.lit(f" {what}"))


def _not_json(text: Column, what: str) -> Column:
    return F.concat(F.lit(f"the {what} is not JSON: "), _short(text))


def _no_object(text: Column, what: str) -> Column:
    return F.concat(F.lit(f"the {what} is no JSON object: "), _short(text))


def _is_wrong(raw: Column, found: Column, field: StructField) -> Column:
    """Whether this field of a record with some wrong field is the one."""
    value = F.element_at(raw, F.lit(field.name))
    there = F.coalesce(F.schema_of_variant(value), F.lit("VOID")) != "VOID"
    if not isinstance(field.dataType, _COMPLEX):
        return there & found[field.name].isNull()
    alone = F.concat(F.lit(f'{{"{_OBJECT}":'), F.to_json(value), F.lit("}"))
    wanted = StructType(
        [StructField(_OBJECT, as_read(field.dataType)), StructField(_CORRUPT, StringType())]
    )
    return there & F.from_json(alone, wanted, _OPTIONS)[_CORRUPT].isNotNull()


def _examples(found: DataFrame, new: str) -> Iterator[bytes]:
    """Some records with each new field, those too that are rare."""
    each = found.select("value", F.explode(new).alias("name")).groupBy("name")
    some = each.agg(*(take("value") for take in (F.first, F.min, F.max))).limit(FIELDS_MAX)
    for row in some.collect():
        yield from row[1:]


def _missing(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
    """Return the check of whether a value is there; `walks.Own`."""
    if not nullable:
        words = "is null" if name.endswith("[]") else "is missing or null"
        yield f"field {name} {words}", Column.isNull
