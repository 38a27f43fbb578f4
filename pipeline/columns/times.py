"""The bounds of dates and times in a table, and the checks for values outside the bounds.

The bounds are the years 1 and 9999: deltalake, PyIceberg, pandas and Python's own datetime reject a
file with a date outside them. `pipeline.columns.json.time_texts` has the same bounds for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from pipeline.columns.walks import Check

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
_FIRST_TIME, _LAST_TIME = f"{FIRST_DAY}T00:00:00", f"{LAST_DAY}T23:59:59.999999"
_BOUNDS: dict[type[DataType], tuple[str, str]] = {
    DateType: (FIRST_DAY, LAST_DAY),
    TimestampNTZType: (_FIRST_TIME, _LAST_TIME),
    TimestampType: (f"{_FIRST_TIME}Z", f"{_LAST_TIME}Z"),
}


def beyond(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
    """Return the checks for a date or a time outside the bounds, as `walks.Own` requires."""
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        what = "date" if isinstance(kind, DateType) else "time"
        first, last = _bounds(kind)
        yield f"field {name} is a {what} before the year 1", lambda value: value < first
        yield f"field {name} is a {what} after the year 9999", lambda value: value > last


def _bounds(kind: DataType) -> tuple[Column, Column]:
    first, last = _BOUNDS[type(kind)]
    return F.lit(first).cast(kind), F.lit(last).cast(kind)
