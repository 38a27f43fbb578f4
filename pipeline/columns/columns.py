"""The typed columns of the records of Spark's Kafka source: the rows that fit, and the misfits.

`Columns` says how a job reads the values and keys of a table. All functions work on DataFrames
alone, so that they work on Spark Connect too. Knows no table format.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pipeline.columns.records import HEADERS_FIELD, MISFIT, PLACE, PLACE_FIELDS, column_names

KEY = "ottla.columns"
"""The property of a table that keeps the text of `Columns.to_text`."""
VERSION = 1
"""The version of the kept text."""
_READ = {"key": "_read_key", "value": "_read_value"}
_NEW = {"value": "_new", "key": "_new_of_key"}
_REASON = "reason"


class Format(Protocol):
    """A format of keys or values. `what` is `value` or `key`, for the sentences of reasons."""

    @property
    def schema(self) -> StructType:
        """The schema of the typed columns. A format of keys has one column, `key`."""
        ...

    def kept(self) -> dict[str, str]:
        """Return what a table keeps of this format: its name as `format`, and its other
        settings."""
        ...

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Return records with one more column `into`: the result of all costly work on `what`.

        Spark evaluates this column once for each record, however often an expression names the
        column.
        """
        ...

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return a column with one sentence that says why a record does not fit, null if it
        fits."""
        ...

    def columns(self, read: Column) -> list[Column]:
        """Return the typed columns of records that fit, named as in `schema`."""
        ...

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """Return an array of a record's new fields or new schema id; None: no new ones are wanted.

        `fits` is true if there is no reason against the record.
        """
        ...

    def grown(self, checked: DataFrame, new: str) -> Format:
        """Return this format, or a wider one for the fields or ids in the column `new` of
        `checked`.

        May run a job of Spark.
        """
        ...


@dataclass(frozen=True, slots=True)
class Columns:
    """The formats of a table's values and keys. `pipeline.columns.options` makes them."""

    value: Format
    key: Format

    @property
    def schema(self) -> StructType:
        """The schema of the rows."""
        return StructType([*PLACE_FIELDS, *self.key.schema, HEADERS_FIELD, *self.value.schema])

    def to_text(self) -> str:
        """Return the text that the table keeps, one line of JSON, from which `options.columns_of`
        makes these columns again."""
        kept = {"version": VERSION, "value": self.value.kept(), "key": self.key.kept()}
        return json.dumps(kept, separators=(",", ":"), sort_keys=True)

    def grown(self, checked: DataFrame) -> Columns:
        """Return these columns, or wider ones if records of the frame have new fields.

        `checked` is a result of the method `checked`, best persisted, because this method reads the
        frame. If the result is not `self`, check the records again with the result, call `grown`
        again, and keep the text of the result with the rows.
        """
        value, key = self.value, self.key
        if _NEW["value"] in checked.columns:
            value = value.grown(checked, _NEW["value"])
        if _NEW["key"] in checked.columns:
            key = key.grown(checked, _NEW["key"])
        return self if value is self.value and key is self.key else Columns(value, key)

    def checked(self, records: DataFrame) -> DataFrame:
        """Return each record with its read key and value, and `reason`.

        `records` has the columns of Spark's Kafka source, headers too. Persist the result before
        `split` and any filter, because otherwise each action reads the records again. Key and value
        are null if nothing needs them any more.
        """
        read = records.select(*PLACE, "key", "value", "headers")
        read = self.key.read(read, "key", _READ["key"])
        read = self.value.read(read, "value", _READ["value"])
        why = [form.reason(F.col(what), F.col(_READ[what]), what) for what, form in self._formats()]
        checked = read.withColumn(_REASON, F.coalesce(*why))
        wanted = F.col(_REASON).isNotNull()
        for what, form in self._formats():
            new = form.unknown(F.col(_READ[what]), F.col(_REASON).isNull())
            if new is not None:
                checked = checked.withColumn(_NEW[what], new)
                wanted = wanted | (F.size(_NEW[what]) > 0)
        return checked.withColumns({what: F.when(wanted, F.col(what)) for what in _READ})

    def split(self, checked: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Return the rows and the misfits of a frame that `checked` gave.

        Each record is in one of them. Rows: topic, partition, offset, timestamp, key, headers, then
        the value's columns. Misfits: topic, partition, offset, timestamp, key, value, headers,
        reason (`records.MISFIT_SCHEMA`). A record with a new field for which `grown` made no column
        is a misfit, too.
        """
        for what, new in _NEW.items():
            if new in checked.columns:
                left = F.concat(
                    F.lit(f"no column was found for a field of the {what}: "), F.col(new)[0]
                )
                left = F.when(F.size(new) > 0, left)
                checked = checked.withColumn(_REASON, F.coalesce(_REASON, left))
        key = self.key.columns(F.col(_READ["key"]))
        value = self.value.columns(F.col(_READ["value"]))
        rows = checked.where(F.col(_REASON).isNull()).select(*PLACE, *key, "headers", *value)
        return rows, checked.where(F.col(_REASON).isNotNull()).select(*MISFIT)

    def _formats(self) -> tuple[tuple[str, Format], ...]:
        return ("value", self.value), ("key", self.key)


def field_names(kept: str | None) -> dict[str, str] | None:
    """Return the name of each column's field, from a text that `Columns.to_text` gave.

    Return None if values are kept as they are, or if there is no text.
    """
    value: dict[str, Any] = json.loads(kept or "{}").get("value", {})
    if "fields" not in value:
        return None
    columns = column_names(StructType.fromJson(json.loads(value["fields"])).names)
    return {column: field for field, column in columns.items()}
