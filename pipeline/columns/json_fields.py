"""Values and keys that are JSON objects: a column for each field, or the reason why not.

Spark's executors read them with `pipeline.columns.json`, one pass over each record. Owns the way
there and back as DataFrames, and the look at fields that are new; what fits, that package says.
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
# A share of the sample's objects that may be odd: they may become dead letters.
_ODD_SHARE = 0.01


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
            [StructField(names[field.name], nullable(field.dataType)) for field in self.fields]
        )

    def kept(self) -> dict[str, str]:
        """For `Columns.to_text`."""
        return {"format": "json", "fields": self.fields.json()}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add a STRUCT of the fields, the reason against the record, and its new fields."""
        _send_reader()
        schema = StructType([*records.schema, StructField(into, read_type(self.fields))])
        return records.mapInArrow(ReadRecords(self.fields, self.new_fields, what, into), schema)

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return the first thing that is wrong, null where nothing is."""
        return read["reason"]

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """Return the fields that the schema lacks and that have a value, where they are wanted."""
        return F.when(fits, read["new"]) if self.new_fields == ADD else None

    def grown(self, checked: DataFrame, new: str) -> Json:
        """Return this with the fields that the records of `checked` have beyond these.

        Each of these records is looked at. Where the table would have more than `FIELDS_MAX`
        fields, as where keys of an object are data, nothing is added.
        """
        seen = _seen(checked.where(F.size(new) > 0).select("value"), None)
        wider = grown(self.fields, schema_of(seen.sighting))
        if field_count(wider) > FIELDS_MAX:
            return self
        fields = self.names.held(wider, self.fields)
        return self if fields == self.fields else replace(self, fields=fields)

    def columns(self, read: Column) -> list[Column]:
        """Return a column for each field, or the one."""
        fields = read["fields"]
        if self.name is not None:
            return [fields.alias(self.name)]
        names = column_names(self.fields.names)
        return [fields[field.name].alias(names[field.name]) for field in self.fields]


@dataclass(frozen=True, slots=True)
class SampleFields:
    """The fields of a sample."""

    fields: StructType
    """The rare ones are the last ones."""
    rare: frozenset[str]
    """Those which at most one in a hundred objects has."""


def fields_of_sample(sample: DataFrame) -> SampleFields:
    """Return the fields in values of `sample`, which has the records of a topic, or some of them.

    Each task of Spark looks at `BYTES_MAX` of values. PipelineError where there is no field.
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
    """What all tasks have seen."""

    records: int
    objects: int
    wide: int
    """Objects with too many fields, which were not looked at."""
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
    """Let the executors have the reader by value: they need pyarrow, not this package."""
    reader = (parsing, written_texts, time_texts, converters, record_reader, sightings, batches)
    for module in (records, schema_text, *reader):
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
