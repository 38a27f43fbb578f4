"""Keys and values that are kept as they are: bytes, or text in UTF-8.

Owns both formats. A record without a value (a tombstone) fits: its column is null.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are, in one column."""

    name: str = "value"

    @property
    def schema(self) -> StructType:
        """Of the typed columns."""
        return StructType([StructField(self.name, BinaryType())])

    def kept(self) -> dict[str, str]:
        """For `Columns.to_text`."""
        return {"format": "raw"}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add the bytes."""
        return records.withColumn(into, F.col(what))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """All bytes fit."""
        return F.lit(None).cast("string")

    def unknown(self, read: Column, fits: Column) -> None:
        """There are no fields."""

    def grown(self, checked: DataFrame, new: str) -> Raw:
        """There is nothing to grow."""
        return self

    def columns(self, read: Column) -> list[Column]:
        """The bytes."""
        return [read.alias(self.name)]


@dataclass(frozen=True, slots=True)
class Text:
    """UTF-8, in one column."""

    name: str = "value"

    @property
    def schema(self) -> StructType:
        """Of the typed columns."""
        return StructType([StructField(self.name, StringType())])

    def kept(self) -> dict[str, str]:
        """For `Columns.to_text`."""
        return {"format": "text"}

    def read(self, records: DataFrame, what: str, into: str) -> DataFrame:
        """Add the text, bytes that are none included."""
        return records.withColumn(into, F.col(what).cast("string"))

    def reason(self, data: Column, read: Column, what: str) -> Column:
        """Bytes that are no UTF-8 do not fit."""
        return F.when(~F.is_valid_utf8(read), F.lit(f"the {what} is no text in UTF-8"))

    def unknown(self, read: Column, fits: Column) -> None:
        """There are no fields."""

    def grown(self, checked: DataFrame, new: str) -> Text:
        """There is nothing to grow."""
        return self

    def columns(self, read: Column) -> list[Column]:
        """The text."""
        return [read.alias(self.name)]
