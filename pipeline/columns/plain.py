"""Formats of keys and values that are kept as they are: bytes, or text in UTF-8.

A record without a value (a tombstone) fits: its column is null.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes without change, in one column."""

    name: str = "value"

    @property
    def schema(self) -> StructType:
        """The schema of the typed column."""
        return StructType([StructField(self.name, BinaryType())])

    def kept(self) -> dict[str, str]:
        """Return the part of `Columns.to_text` for this format."""
        return {"format": "raw"}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add the bytes as the column `into`."""
        return records.withColumn(into, F.col(what))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return null, because all bytes fit."""
        return F.lit(None).cast("string")

    def unknown(self, read: Column, fits: Column) -> None:
        """Return None, because there are no fields."""

    def grown(self, checked: DataFrame, new: str) -> Raw:
        """Return this format, because there is nothing to grow."""
        return self

    def columns(self, read: Column) -> list[Column]:
        """Return the column of the bytes."""
        return [read.alias(self.name)]


@dataclass(frozen=True, slots=True)
class Text:
    """Text in UTF-8, in one column."""

    name: str = "value"

    @property
    def schema(self) -> StructType:
        """The schema of the typed column."""
        return StructType([StructField(self.name, StringType())])

    def kept(self) -> dict[str, str]:
        """Return the part of `Columns.to_text` for this format."""
        return {"format": "text"}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add the text as the column `into`, also for bytes that are not UTF-8."""
        return records.withColumn(into, F.col(what).cast("string"))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Return a reason against bytes that are not UTF-8, null for others."""
        return F.when(~F.is_valid_utf8(read), F.lit(f"the {what} is no text in UTF-8"))

    def unknown(self, read: Column, fits: Column) -> None:
        """Return None, because there are no fields."""

    def grown(self, checked: DataFrame, new: str) -> Text:
        """Return this format, because there is nothing to grow."""
        return self

    def columns(self, read: Column) -> list[Column]:
        """Return the column of the text."""
        return [read.alias(self.name)]
