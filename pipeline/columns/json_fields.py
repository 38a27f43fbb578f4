"""Values and keys that are JSON objects: a column for each field, or the reason why not.

Spark's executors read each record once, with `pipeline.columns.json`, which decides what fits. This
module sends records there, makes the results DataFrames, and looks at new fields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from pipeline.columns import records, schema_text
from pipeline.columns.evolution import grown
from pipeline.columns.held_names import ANY_NAMES, Names
from pipeline.columns.inference import FIELDS_MAX, field_count, schema_of
from pipeline.columns.json import (
    batches,
    converters,
    parsing,
    record_reader,
    sightings,
    time_texts,
    written_texts,
)
from pipeline.columns.json.batches import BYTES_MAX, SEEN, ReadRecords, SeeFields, read_type
from pipeline.columns.json.converters import ADD, IGNORE, MISFIT
from pipeline.columns.json.sightings import Sighting, sighting_of
from pipeline.columns.records import column_names, nullable
from pipeline.errors import PipelineError

NEW_FIELDS = (ADD, IGNORE, MISFIT)
# The share of the sample's objects that may be odd; they may become dead letters.
_ODD_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Json:
    """JSON objects with the fields of `fields`; NOT NULL there says that a field is required."""

    fields: StructType
    new_fields: str = IGNORE
    """The treatment of a field that is not in `fields`: a value of `NEW_FIELDS`."""
    name: str | None = None
    """The name of the single column for the whole object, which may be missing; None: each field
    has a column."""
    names: Names = ANY_NAMES
    """The names that the table can hold, for new fields."""

    @property
    def schema(self) -> StructType:
        """The schema of the typed columns: all may be null, and none has the name of a record's own
        column."""
        if self.name is not None:
            return StructType([StructField(self.name, nullable(self.fields))])
        names = column_names(self.fields.names)
        return StructType(
            [StructField(names[field.name], nullable(field.dataType)) for field in self.fields]
        )

    def kept(self) -> dict[str, str]:
        """Return the part of `Columns.to_text` for this format."""
        return {"format": "json", "fields": self.fields.json()}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add a STRUCT of the fields, the reason against the record, and the new fields."""
        _send_reader()
        schema = StructType([*records.schema, StructField(into, read_type(self.fields))])
        return records.mapInArrow(ReadRecords(self.fields, self.new_fields, what, into), schema)

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return the first reason against a record, null if the record fits."""
        return read["reason"]

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """Return the fields with a value that the schema lacks, None if new fields are not
        added."""
        return F.when(fits, read["new"]) if self.new_fields == ADD else None

    def grown(self, checked: DataFrame, new: str) -> Json:
        """Return this format with the new fields in the records of `checked`.

        Reads each record that has a new field. Adds nothing if the table would have more than
        `FIELDS_MAX` fields, as happens if the keys of an object are data.
        """
        seen = _seen(checked.where(F.size(new) > 0).select("value"), None)
        wider = grown(self.fields, schema_of(seen.sighting))
        if field_count(wider) > FIELDS_MAX:
            return self
        fields = self.names.held(wider, self.fields)
        return self if fields == self.fields else replace(self, fields=fields)

    def columns(self, read: Column) -> list[Column]:
        """Return a column for each field, or the single column."""
        fields = read["fields"]
        if self.name is not None:
            return [fields.alias(self.name)]
        names = column_names(self.fields.names)
        return [fields[field.name].alias(names[field.name]) for field in self.fields]


@dataclass(frozen=True, slots=True)
class SampleFields:
    """The fields in a sample of records."""

    fields: StructType
    """All fields; the rare fields come last."""
    rare: frozenset[str]
    """The names of fields that at most one in a hundred objects has."""


def fields_of_sample(sample: DataFrame) -> SampleFields:
    """Return the fields in the values of `sample`, which has all or some records of a topic.

    Each task of Spark looks at `BYTES_MAX` bytes of values. Raises PipelineError if there is no
    record or no field, or if there are more than `FIELDS_MAX` fields.
    """
    seen = _seen(sample.select("value").where("value IS NOT NULL"), BYTES_MAX)
    if not seen.records:
        raise PipelineError(
            "the topic has no record in which a schema could be found: give --schema, or run again "
            "when records are there"
        )
    schema = schema_of(seen.sighting)
    if seen.wide > _ODD_SHARE * seen.objects or field_count(schema) > FIELDS_MAX:
        raise PipelineError(
            f"the records have more than {FIELDS_MAX} fields, as where keys of an object are data: "
            "give --schema, with MAP<STRING, …> for such an object"
        )
    if not schema.fields:
        raise PipelineError(
            f"none of {seen.records} records is a JSON object with fields: is --value-format json "
            "right?"
        )
    rare = frozenset(
        name
        for name, field in seen.sighting.fields.items()
        if field.count <= _ODD_SHARE * seen.objects
    )
    return SampleFields(StructType(sorted(schema, key=lambda field: field.name in rare)), rare)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The sums over all tasks of `SeeFields`."""

    records: int
    objects: int
    wide: int
    """The number of objects with too many fields, which are not in `sighting`."""
    sighting: Sighting


def _seen(values: DataFrame, bytes_max: int | None) -> _Seen:
    _send_reader()
    tasks = values.mapInArrow(SeeFields(FIELDS_MAX, bytes_max), SEEN).collect()
    sighting = Sighting()
    for task in tasks:
        sighting.merge(sighting_of(task.seen))
    records, objects, wide = (
        sum(task[name] for task in tasks) for name in ("records", "objects", "wide")
    )
    return _Seen(records, objects, wide, sighting)


def _send_reader() -> None:
    """Send the reader to the executors by value: they need pyarrow and PySpark, not this
    package."""
    reader = (parsing, written_texts, time_texts, converters, record_reader, sightings, batches)
    for module in (records, schema_text, *reader):
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
