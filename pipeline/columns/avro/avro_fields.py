"""Values and keys of Avro: a column for each field of a record, or the reason why not.

With a registry, each record names the schema of its writer (Confluent's framing: a byte 0, then the
schema's id in four bytes). By Avro's rules, the record is read with that schema into the reader's
schema. Spark's `from_avro` decodes the bytes. `from_avro` ignores surplus bytes, and returns a row
of nulls for a value that it cannot read. So the job puts a mark behind each value, as one more
field, and checks that `from_avro` returns the mark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from pipeline.columns.avro.avro_logical import DAY_US
from pipeline.columns.avro.avro_schema import AvroSchema
from pipeline.columns.avro.avro_values import (
    Scales,
    all_checks,
    brought,
    changed,
    types_by_name,
    unfit,
    with_numbers_of,
    with_times_of_day,
)
from pipeline.columns.avro.avro_widening import DAY_MS
from pipeline.columns.avro.registry import Registry
from pipeline.columns.evolution import merged
from pipeline.columns.records import column_names, nullable
from pipeline.columns.walks import bound

PACKAGE = "org.apache.spark:spark-avro_2.13:4.0.0"
IDS_MAX = 1_000
_MARK = b"\xf0\x9fOttla\x00"
_DATUM, _END, _CHANGED = "datum", "end", "changed"
_HEADER_BYTES = 5
_SHOWN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Framed:
    """The registry, and the schemas that are known from it."""

    registry: Registry
    subject: str | None
    """The subject whose latest version is the reader's schema; None if that schema was given."""
    writers: Mapping[int, str]
    """The text of the schema by id, for the ids that were asked for."""
    unknown: tuple[int, ...] = ()
    """The ids that the registry does not know."""


@dataclass(frozen=True, slots=True)
class Avro:
    """Values of one schema, or of several schemas of a registry."""

    reader: AvroSchema
    fields: StructType
    """The table's fields: all fields of the reader's schema, and those of earlier schemas."""
    framed: Framed | None = None
    name: str | None = None
    """The name of the single column that holds a key, which may be missing; None: each field has a
    column."""
    form: str = "delta"
    """The table's format, which says how the types of columns can grow."""
    units: Mapping[str, str] = field(default_factory=dict)
    """The unit of each time of day in the table, by its name as in `avro_values.all_checks`. A
    schema with another unit does not change the column's, so all rows have one."""

    @staticmethod
    def of(
        reader: AvroSchema,
        kept: StructType | None,
        framed: Framed | None,
        name: str | None,
        form: str = "delta",
        units: Mapping[str, str] | None = None,
    ) -> Avro:
        """Return a format with the columns that the table has, whose types may have grown.

        `units` has the table's units of times of day; None if an older version wrote the table,
        which kept none. Raises PipelineError if a type would change in another way.
        """
        what = name or "value"
        of_reader = reader.units_of_day(what)
        if units is None and kept is not None:
            units = _units_by_type(kept, name, of_reader)
        of_table = {**of_reader, **(units or {})}
        ours = {place: of_table[place] for place in of_reader}
        root = "" if isinstance(reader.kind, StructType) else what
        fields = _fields_of(with_times_of_day(reader.kind, ours, root), name)
        fields = fields if kept is None else merged(kept, fields, form)
        return Avro(reader, fields, framed, name, form, of_table)

    @property
    def schema(self) -> StructType:
        """The schema of the typed columns; all may be null."""
        names = {"key": "key"} if self.name else column_names(self.fields.names)
        return StructType(
            [StructField(names[field.name], nullable(field.dataType)) for field in self.fields]
        )

    @property
    def _target(self) -> AvroSchema:
        """The schema into which values are read: the reader's schema with numbers as wide as the
        table's, because an older schema may have had wider numbers, or int in place of float."""
        if self.name is None and isinstance(self.reader.kind, StructType):
            return self.reader.widened(self.fields)
        (field,) = (entry for entry in self.fields if entry.name == (self.name or "value"))
        return self.reader.widened(field.dataType)

    @property
    def _kind(self) -> DataType:
        """The type of decoded values: that of `_target`, with the numbers of the table."""
        kind = self._target.kind
        if self.name is None and isinstance(kind, StructType):
            return with_numbers_of(kind, self.fields)
        (field,) = (entry for entry in self.fields if entry.name == (self.name or "value"))
        return with_numbers_of(kind, field.dataType)

    def kept(self) -> dict[str, str]:
        """Return the part of `Columns.to_text` for this format: the columns, the ids with which the
        next run begins, and the units of times of day."""
        ids = [] if self.framed is None else sorted(self.framed.writers)
        return {
            "format": "avro",
            "fields": self.fields.json(),
            "ids": json.dumps(ids),
            "units": json.dumps(self.units),
        }

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add a STRUCT `into` with the schema's id, and the value with the mark behind the
        value."""
        # Without `bound`, Spark would make the STRUCT again wherever a field of it is named.
        return records.withColumn(into, bound(self._read(F.col(what), what), lambda read: read))

    def _read(self, data: Column, what: str) -> Column:
        if self.framed is None:
            number = F.lit(None).cast("bigint")
            datum = self._unpacked(data, self.reader.text, what)
        else:
            is_framed = (F.octet_length(data) >= _HEADER_BYTES) & (
                F.substring(data, 1, 1) == F.lit(b"\x00")
            )
            text = F.conv(F.hex(F.substring(data, 2, _HEADER_BYTES - 1)), 16, 10)
            number = F.when(is_framed, text.cast("bigint"))
            body = F.substring(data, _HEADER_BYTES + 1, 1 << 30)
            datum = F.when(number.isNull(), self._unread())
            for schema_id, writer in self.framed.writers.items():
                datum = datum.when(number == schema_id, self._unpacked(body, writer, what))
        return F.struct(number.alias("id"), datum.alias("read"))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return the first reason against a record, null if the record fits."""
        end = read["read"][_END]
        number = read["id"].cast("string")
        missing = f"there is no {what} (a tombstone)"
        why = F.when(data.isNull(), F.lit(missing if self.name is None else None))
        by = F.lit("the schema")
        if self.framed is not None:
            begins = F.hex(F.substring(data, 1, _SHOWN_BYTES))
            asked_for = F.array(
                *(F.lit(schema_id).cast("bigint") for schema_id in self.framed.writers)
            )
            gone = F.array(*(F.lit(schema_id) for schema_id in self.framed.unknown)).cast(
                "array<bigint>"
            )
            unframed = f"the {what} is not framed as a registry's client does it: it begins with "
            why = (
                why.when(read["id"].isNull(), F.concat(F.lit(unframed), begins))
                .when(
                    F.array_contains(gone, read["id"]),
                    F.concat(F.lit("the registry knows no schema of id "), number),
                )
                .when(
                    ~F.array_contains(asked_for, read["id"]),
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
        why = why.when(read["read"][_CHANGED].isNotNull(), read["read"][_CHANGED])
        for words, wrong in all_checks(self._kind, unfit, what):
            why = why.when(wrong(read["read"][_DATUM]), F.lit(words))
        return why

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """Return the id of a schema that was not asked for yet, in an array; None without a
        registry."""
        if self.framed is None:
            return None
        seen = F.array(
            *(F.lit(schema_id) for schema_id in (*self.framed.writers, *self.framed.unknown))
        )
        new = read["id"].isNotNull() & ~F.array_contains(seen.cast("array<bigint>"), read["id"])
        return F.when(new, F.array(read["id"].cast("string"))).otherwise(
            F.array().cast("array<string>")
        )

    def grown(self, checked: DataFrame, new: str) -> Avro:
        """Return this format with the schemas of the ids in `checked` that are new.

        If the reader's schema follows a subject, it becomes the subject's latest schema, with the
        fields of the older schemas. Raises PipelineError if a column's type would change and cannot
        grow, or if the registry does not answer.
        """
        if self.framed is None:
            return self
        rows = checked.where(F.size(new) > 0).select(F.col(new)[0].alias("id")).distinct()
        ids = sorted(int(row.id) for row in rows.limit(IDS_MAX).collect())
        return self.with_ids(ids) if ids else self

    def with_ids(self, ids: list[int]) -> Avro:
        """Return this format with the schemas of these ids, which this method asks the registry
        for. Raises PipelineError as `grown` does."""
        assert self.framed is not None, "there is a registry"
        writers, gone = dict(self.framed.writers), list(self.framed.unknown)
        for schema_id in ids:
            text = self.framed.registry.by_id(schema_id)
            if text is None:
                gone.append(schema_id)
            else:
                writers[schema_id] = AvroSchema(f"schema id {schema_id} of the registry", text).text
        reader = self.reader
        if self.framed.subject is not None and len(writers) > len(self.framed.writers):
            number, text = self.framed.registry.latest(self.framed.subject)
            reader = AvroSchema(f"schema id {number} of the registry", text)
            for schema_id, writer in writers.items():
                reader = reader.with_fields_of(AvroSchema(f"schema id {schema_id}", writer))
        framed = replace(self.framed, writers=writers, unknown=tuple(gone))
        return Avro.of(reader, self.fields, framed, self.name, self.form, self.units)

    def columns(self, read: Column) -> list[Column]:
        """Return a column of the table's type for each field."""
        datum, there = read["read"][_DATUM], _fields_of(self._kind, self.name)
        whole = self.name is not None or not isinstance(self.reader.kind, StructType)
        typed = []
        for entry, column in zip(self.fields, self.schema, strict=True):
            if entry.name not in there.names:
                value = F.lit(None).cast(column.dataType)
            else:
                value = datum if whole else datum[entry.name]
                value = brought(value, there[entry.name].dataType, column.dataType)
            typed.append(value.alias(column.name))
        return typed

    def _unpacked(self, body: Column, writer: str, what: str) -> Column:
        """Return the value that a schema wrote, the mark, and what would change in the value."""
        reader = self._target.as_written(AvroSchema("the schema of a writer", writer))
        if reader is None:
            return self._unread()
        options = {"mode": "PERMISSIVE", "avroSchema": _marked(reader.text)}
        pairs = [F.lit(text) for pair in options.items() for text in pair]
        marked = F.concat(body, F.lit(_MARK))
        read = F.call_function("from_avro", marked, F.lit(_marked(writer)), F.create_map(*pairs))
        decoded, wanted = reader.kind, nullable(self._kind)
        scales = Scales.between(reader.units_of_day(what), self.units)
        root = "" if isinstance(decoded, StructType) else what

        def typed(read: Column) -> Column:
            datum, why = read[_DATUM], F.lit(None).cast("string")
            for words, wrong in changed(decoded, wanted, what, scales):
                why = F.coalesce(why, F.when(wrong(datum), F.lit(words)))
            value = brought(datum, decoded, wanted, root, scales)
            return F.struct(value.alias(_DATUM), read[_END].alias(_END), why.alias(_CHANGED))

        return bound(read, typed)

    def _unread(self) -> Column:
        """Return what `_unpacked` returns for a value that cannot be read."""
        fields = [
            StructField(_DATUM, nullable(self._kind)),
            StructField(_END, BinaryType()),
            StructField(_CHANGED, StringType()),
        ]
        return F.lit(None).cast(StructType(fields))


def _fields_of(kind: DataType, name: str | None) -> StructType:
    """Return the columns that a type of values asks for."""
    if name is not None:
        return StructType([StructField(name, kind)])
    if isinstance(kind, StructType):
        return kind
    return StructType([StructField("value", kind)])


def _units_by_type(
    kept: StructType, name: str | None, of_reader: Mapping[str, str]
) -> dict[str, str]:
    """Return the units that the times of day of a reader have in a table, by the types of the
    table's columns: INT holds ms, and BIGINT µs."""
    kinds = types_by_name(kept if name is None else kept[name].dataType, name or "value")
    by_type: dict[type, str] = {IntegerType: DAY_MS, LongType: DAY_US}
    return {place: by_type.get(type(kinds.get(place)), unit) for place, unit in of_reader.items()}


def _marked(schema: str) -> str:
    """Return the schema of a record of a value and the mark. The bytes of the record are those of
    both, and no others."""
    mark = {"type": "fixed", "name": "OttlaMark", "size": len(_MARK)}
    fields = [{"name": _DATUM, "type": json.loads(schema)}, {"name": _END, "type": mark}]
    return json.dumps({"type": "record", "name": "OttlaMarked", "fields": fields})


def _into(framed: Framed | None) -> Column:
    return F.lit("" if framed is None else ", or not brought to the reader's schema")
