"""Records of Spark's Kafka source become typed columns: the rows that fit, and the misfits.

`Columns` is what a job holds: how a table's values and keys are read. Functions of DataFrames
alone, so that all of it works on Spark Connect too. Knows no table format.
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
"""Under which a table keeps the text."""
VERSION = 1
"""Of the kept text."""
_READ = {"key": "_read_key", "value": "_read_value"}
_NEW = {"value": "_new", "key": "_new_of_key"}
_REASON = "reason"


class Format(Protocol):
    """How bytes are read. `what` is `value` or `key`, for the words of a reason."""

    @property
    def schema(self) -> StructType:
        """Of the typed columns. A key's format has one, `key`."""
        ...

    def kept(self) -> dict[str, str]:
        """What the table keeps of it: `format`, and what that needs to be made again."""
        ...

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Return records with one more column `into`: all that is costly of reading `what`.

        It is evaluated once for each record, however often the column is named.
        """
        ...

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """One sentence that says why it does not fit, null where it does."""
        ...

    def columns(self, read: Column) -> list[Column]:
        """The typed columns, named as in `schema`, of what fits."""
        ...

    def unknown(self, read: Column, fits: Column) -> Column | None:
        """An array of what is new in a record (a field, a schema's id), None where none is wanted.

        `fits` is true where there is no reason against the record.
        """
        ...

    def grown(self, checked: DataFrame, new: str) -> Format:
        """This, or what takes in what the column `new` of `checked` names. May run a job."""
        ...


@dataclass(frozen=True, slots=True)
class Columns:
    """How the records of one table are read. Made by `pipeline.columns.options`."""

    value: Format
    key: Format

    @property
    def schema(self) -> StructType:
        """Of the rows."""
        return StructType([*PLACE_FIELDS, *self.key.schema, HEADERS_FIELD, *self.value.schema])

    def to_text(self) -> str:
        """What the table's owner keeps, one line of JSON: `options.columns_of` takes it again."""
        kept = {"version": VERSION, "value": self.value.kept(), "key": self.key.kept()}
        return json.dumps(kept, separators=(",", ":"), sort_keys=True)

    def grown(self, checked: DataFrame) -> Columns:
        """Return these, or wider ones where records of the frame have fields that are new.

        `checked` is what `checked` gave, best persisted: it is looked at. Where the result is not
        `self`, check the records again with it, ask again, and keep its text with the rows.
        """
        value, key = self.value, self.key
        if _NEW["value"] in checked.columns:
            value = value.grown(checked, _NEW["value"])
        if _NEW["key"] in checked.columns:
            key = key.grown(checked, _NEW["key"])
        return self if value is self.value and key is self.key else Columns(value, key)

    def checked(self, records: DataFrame) -> DataFrame:
        """Return each record with what was read of it and `reason`: for `persist`, then `split`.

        `records` has the columns of Spark's Kafka source, headers too. Persist the result before
        anything is filtered: else each action reads the records again. Key and value are null
        where nothing needs them any more.
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
        """Return rows and misfits of a frame that `checked` gave; each record is in one of both.

        Rows: topic, partition, offset, timestamp, key, headers, then the value's columns. Misfits:
        topic, partition, offset, timestamp, key, value, headers, reason (`records.MISFIT_SCHEMA`).
        A field that is new and for which `grown` found no column makes a misfit, too.
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
    """How the field of each column is called, of a text that `Columns.to_text` gave.

    None where values are kept as they are, or no text is.
    """
    found: dict[str, Any] = json.loads(kept or "{}").get("value", {})
    if "fields" not in found:
        return None
    columns = column_names(StructType.fromJson(json.loads(found["fields"])).names)
    return {column: field for field, column in columns.items()}
