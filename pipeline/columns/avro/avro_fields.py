"""Values and keys of Avro: a column for each field of a record, or the reason why not.

With a registry each record says by which schema it was written (Confluent's framing: a byte 0,
then the schema's id in four bytes) and is read by that one, into the one reader's schema, by the
rules of Avro. Spark's `from_avro` unpacks the bytes. It ignores bytes that are left over, and a
value that cannot be read is a row of nulls to it: so a mark is put behind each value, as one more
field, and must be found there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StructField,
    StructType,
)

from pipeline.columns.avro.avro_schema import AvroSchema
from pipeline.columns.avro.registry import Registry
from pipeline.columns.evolution import merged
from pipeline.columns.records import column_names, nullable
from pipeline.columns.times import beyond
from pipeline.columns.walks import bound, checks, value_checks

PACKAGE = "org.apache.spark:spark-avro_2.13:4.0.0"
IDS_MAX = 1_000
_MARK = b"\xf0\x9fOttla\x00"
_DATUM, _END = "datum", "end"
_HEADER_BYTES = 5
_SHOWN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Framed:
    """What is known of the registry's schemas."""

    registry: Registry
    subject: str | None
    """Whose latest version the reader's schema follows; None where that was given."""
    writers: Mapping[int, str]
    """The schema of each id that was seen."""
    unknown: tuple[int, ...] = ()
    """Ids that the registry does not know."""


@dataclass(frozen=True, slots=True)
class Avro:
    """Values of one schema, or of several that a registry knows."""

    reader: AvroSchema
    fields: StructType
    """The table's: all that the reader's has, and what earlier ones had."""
    framed: Framed | None = None
    name: str | None = None
    """Of the one column that holds a key, which may be missing; None: a column for each field."""
    form: str = "delta"
    """The table's format, which says how the types of columns can grow."""

    @staticmethod
    def of(
        reader: AvroSchema,
        kept: StructType | None,
        framed: Framed | None,
        name: str | None,
        form: str = "delta",
    ) -> Avro:
        """Return a format with the columns that the table has, whose types may have grown.

        PipelineError if a type would change in another way.
        """
        fields = _fields_of(reader, name)
        fields = fields if kept is None else merged(kept, fields, form)
        return Avro(reader, fields, framed, name, form)

    @property
    def schema(self) -> StructType:
        """Of the typed columns; all may be null."""
        names = {"key": "key"} if self.name else column_names(self.fields.names)
        return StructType(
            [StructField(names[one.name], nullable(one.dataType)) for one in self.fields]
        )

    @property
    def _target(self) -> AvroSchema:
        """The schema into which values are read: the reader's with numbers as wide as the table's,
        because an older schema may have had them wider, or have had int in place of float."""
        if self.name is None and isinstance(self.reader.kind, StructType):
            return self.reader.widened(self.fields)
        (field,) = (one for one in self.fields if one.name == (self.name or "value"))
        return self.reader.widened(field.dataType)

    def kept(self) -> dict[str, str]:
        """For `Columns.to_text`: the columns, and the ids that the next run begins with."""
        ids = [] if self.framed is None else sorted(self.framed.writers)
        return {"format": "avro", "fields": self.fields.json(), "ids": json.dumps(ids)}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add the schema's id, and what was read with the mark behind it."""
        # Not as it is: Spark would put a struct's making wherever a field of it is named.
        return records.withColumn(into, bound(self._read(F.col(what)), lambda read: read))

    def _read(self, data: Column) -> Column:
        if self.framed is None:
            number = F.lit(None).cast("bigint")
            datum = self._unpacked(data, self.reader.text)
        else:
            is_framed = (F.octet_length(data) >= _HEADER_BYTES) & (
                F.substring(data, 1, 1) == F.lit(b"\x00")
            )
            text = F.conv(F.hex(F.substring(data, 2, _HEADER_BYTES - 1)), 16, 10)
            number = F.when(is_framed, text.cast("bigint"))
            body = F.substring(data, _HEADER_BYTES + 1, 1 << 30)
            read = [
                StructField(_DATUM, nullable(self._target.kind)),
                StructField(_END, BinaryType()),
            ]
            datum = F.when(number.isNull(), F.lit(None).cast(StructType(read)))
            for one, writer in self.framed.writers.items():
                datum = datum.when(number == one, self._unpacked(body, writer))
        return F.struct(number.alias("id"), datum.alias("read"))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """The first thing that is wrong, null where nothing is."""
        end = read["read"][_END]
        number = read["id"].cast("string")
        missing = f"there is no {what} (a tombstone)"
        why = F.when(data.isNull(), F.lit(missing if self.name is None else None))
        by = F.lit("the schema")
        if self.framed is not None:
            begins = F.hex(F.substring(data, 1, _SHOWN_BYTES))
            known = F.array(*(F.lit(one).cast("bigint") for one in self.framed.writers))
            gone = F.array(*(F.lit(one) for one in self.framed.unknown)).cast("array<bigint>")
            told = f"the {what} is not framed as a registry's client does it: it begins with "
            why = (
                why.when(read["id"].isNull(), F.concat(F.lit(told), begins))
                .when(
                    F.array_contains(gone, read["id"]),
                    F.concat(F.lit("the registry knows no schema of id "), number),
                )
                .when(
                    ~F.array_contains(known, read["id"]),
                    F.concat(F.lit("the registry was not asked for schema id "), number),
                )
            )
            by = F.concat(F.lit("schema id "), number)
        why = why.when(
            end.isNull(),
            F.concat(F.lit(f"the {what} cannot be read by "), by, _into(self.framed)),
        ).when(
            end != F.lit(_MARK), F.concat(F.lit(f"bytes of the {what} are left over, read by "), by)
        )
        kind = self.reader.kind
        if isinstance(kind, StructType):
            bounds = checks(kind, beyond)
        else:
            bounds = value_checks(kind, beyond, what)
        for words, wrong in bounds:
            why = why.when(wrong(read["read"][_DATUM]), F.lit(words))
        return why

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """The id of a schema that was not asked for yet."""
        if self.framed is None:
            return None
        seen = F.array(*(F.lit(one) for one in (*self.framed.writers, *self.framed.unknown)))
        new = read["id"].isNotNull() & ~F.array_contains(seen.cast("array<bigint>"), read["id"])
        return F.when(new, F.array(read["id"].cast("string"))).otherwise(
            F.array().cast("array<string>")
        )

    def grown(self, checked: DataFrame, new: str) -> Avro:
        """With the schemas of the ids in `checked` that were not seen before.

        Where the reader's schema follows a subject it becomes the latest one, with the fields of
        the older ones. PipelineError where a column's type would change and cannot grow.
        """
        if self.framed is None:
            return self
        found = checked.where(F.size(new) > 0).select(F.col(new)[0].alias("id")).distinct()
        ids = sorted(int(row.id) for row in found.limit(IDS_MAX).collect())
        return self.with_ids(ids) if ids else self

    def with_ids(self, ids: list[int]) -> Avro:
        """With the schemas of these ids, which are asked for."""
        assert self.framed is not None, "there is a registry"
        writers, gone = dict(self.framed.writers), list(self.framed.unknown)
        for one in ids:
            text = self.framed.registry.by_id(one)
            if text is None:
                gone.append(one)
            else:
                writers[one] = AvroSchema(f"schema id {one} of the registry", text).text
        reader = self.reader
        if self.framed.subject is not None and len(writers) > len(self.framed.writers):
            number, text = self.framed.registry.latest(self.framed.subject)
            reader = AvroSchema(f"schema id {number} of the registry", text)
            for one, writer in writers.items():
                reader = reader.with_fields_of(AvroSchema(f"schema id {one}", writer))
        framed = replace(self.framed, writers=writers, unknown=tuple(gone))
        return Avro.of(reader, self.fields, framed, self.name, self.form)

    def columns(self, read: Column) -> list[Column]:
        """A column for each field, of the table's type."""
        datum, there = read["read"][_DATUM], _fields_of(self._target, self.name)
        whole = self.name is not None or not isinstance(self.reader.kind, StructType)
        found = []
        for field, column in zip(self.fields, self.schema, strict=True):
            if field.name not in there.names:
                value = F.lit(None).cast(column.dataType)
            else:
                value = datum if whole else datum[field.name]
                value = _brought(value, there[field.name].dataType, column.dataType)
            found.append(value.alias(column.name))
        return found

    def _unpacked(self, body: Column, writer: str) -> Column:
        options = {"mode": "PERMISSIVE", "avroSchema": _marked(self._target.text)}
        pairs = [F.lit(one) for pair in options.items() for one in pair]
        marked = F.concat(body, F.lit(_MARK))
        return F.call_function("from_avro", marked, F.lit(_marked(writer)), F.create_map(*pairs))


def _fields_of(reader: AvroSchema, name: str | None) -> StructType:
    """The columns that a schema asks for."""
    if name is not None:
        return StructType([StructField(name, reader.kind)])
    if isinstance(reader.kind, StructType):
        return reader.kind
    return StructType([StructField("value", reader.kind)])


def _marked(schema: str) -> str:
    """A record of a value and the mark behind it: its bytes are those of both, nothing else."""
    mark = {"type": "fixed", "name": "OttlaMark", "size": len(_MARK)}
    fields = [{"name": _DATUM, "type": json.loads(schema)}, {"name": _END, "type": mark}]
    return json.dumps({"type": "record", "name": "OttlaMarked", "fields": fields})


def _into(framed: Framed | None) -> Column:
    return F.lit("" if framed is None else ", or not brought to the reader's schema")


def _brought(value: Column, kind: DataType, wanted: DataType) -> Column:
    """A value in the table's type, which has all fields of its own and each as wide or wider."""
    if isinstance(kind, StructType) and isinstance(wanted, StructType):
        if kind.names == wanted.names and nullable(kind) == wanted:
            return value
        there = {field.name: field.dataType for field in kind}
        fields = [
            _brought(value[one.name], there[one.name], one.dataType).alias(one.name)
            if one.name in there
            else F.lit(None).cast(one.dataType).alias(one.name)
            for one in wanted
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType) and isinstance(wanted, ArrayType) and nullable(kind) != wanted:
        inner, outer = kind.elementType, wanted.elementType
        return F.transform(value, lambda one: _brought(one, inner, outer))
    if isinstance(kind, MapType) and isinstance(wanted, MapType) and nullable(kind) != wanted:
        inner, outer = kind.valueType, wanted.valueType
        return F.transform_values(value, lambda _, one: _brought(one, inner, outer))
    return value if nullable(kind) == wanted else value.cast(wanted)
