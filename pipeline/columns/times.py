"""Dates and times: the JSON that fits them, and the bounds that every reader of a table takes.

Spark reads more than that, and other values: `20261128` as a day of the year 57443, `12:30` as
today, `2026-11-28Tnoon` without its end, milliseconds as seconds. Here a value fits in the forms
below alone, and means what stands there. A time without a zone is of UTC in a TIMESTAMP. The
calendar is ISO 8601's, the Gregorian one for all years.

The bounds are the years 1 and 9999: deltalake, PyIceberg, pandas and Python's own datetime refuse a
file with a date outside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from pipeline.columns.walks import Check, bound

FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Since 1970, of the first day's begin and the last day's end in UTC."""
_FIRST_TIME, _LAST_TIME = f"{FIRST_DAY}T00:00:00", f"{LAST_DAY}T23:59:59.999999"
_BOUNDS: dict[type[DataType], tuple[str, str]] = {
    DateType: (FIRST_DAY, LAST_DAY),
    TimestampNTZType: (_FIRST_TIME, _LAST_TIME),
    TimestampType: (f"{_FIRST_TIME}Z", f"{_LAST_TIME}Z"),
}

_DAY = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = "[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}%s)?"
_MICROSECONDS, _ANY_DIGITS = r"(?:\.[0-9]{1,6}0*)?", r"(?:\.[0-9]+)?"
_ZONE = "(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
# Not `$`, which would let a line's end follow. Java and Python read these alike.
_END = r"(?![\s\S])"
DATE_FORM = f"^{_DAY}{_END}"
TIMESTAMP_FORM = f"^{_DAY}(?:{_CLOCK % _MICROSECONDS}{_ZONE}?)?{_END}"
# Whole, and in no zone outside of the bounds: most texts are, and need no more than a look.
_USUAL_FORM = (
    f"^(?!0001-01-01|9999-12-31){_DAY}[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}"
    f"{_MICROSECONDS}{_ZONE}{_END}"
)
LOCAL_FORM = f"^{_DAY}(?:{_CLOCK % _MICROSECONDS})?{_END}"
_FINER_FORM = f"^{_DAY}{_CLOCK % _ANY_DIGITS}{_ZONE}?{_END}"
SHOWN_MAX = 60
"""Characters of a value in a reason."""
_BEFORE, _AFTER = "before the year 1", "after the year 9999"


def to_date(value: Column) -> Column:
    """Return a VARIANT as DATE, null where it does not fit: `2026-11-28` alone does."""
    return bound(_text(value), lambda text: F.when(text.rlike(DATE_FORM), text.try_cast("date")))


def to_local_timestamp(value: Column) -> Column:
    """Return a VARIANT as TIMESTAMP_NTZ, null where it does not fit: a text without a zone does."""
    return bound(
        _text(value), lambda text: F.when(text.rlike(LOCAL_FORM), text.try_cast("timestamp_ntz"))
    )


def to_timestamp(value: Column) -> Column:
    """Return a VARIANT as TIMESTAMP, null where it does not fit.

    A text fits that is a date, or a date and a time with or without a zone; a whole number is
    seconds since 1970.
    """

    def of_text(text: Column) -> Column:
        return (
            F.when(text.rlike(_USUAL_FORM), text.try_cast("timestamp"))
            .when(text.rlike(TIMESTAMP_FORM), bound(_instant(text), _within))
            .when(_is_whole(value), _of_seconds(_seconds(value)))
        )

    return bound(_text(value), of_text)


def time_misfit(value: Column, wanted: Column) -> Column:
    """Return what is wrong with a VARIANT that does not fit TIMESTAMP or TIMESTAMP_NTZ.

    `wanted` names which of them. In words that follow `field NAME `; null where the type of the
    value says it all.
    """
    has_zone = wanted == "TIMESTAMP"

    def of_text(text: Column) -> Column:
        instant = F.when(has_zone & text.rlike(TIMESTAMP_FORM), _instant(text))
        first, last = _bounds(TimestampType())
        whole = F.when(has_zone & _is_whole(value), _seconds(value))
        by_seconds = ": a number is read as seconds"
        shown = F.substring(text, 1, SHOWN_MAX)
        return (
            F.when(whole > LAST_SECOND, F.lit(f"is a time {_AFTER}{by_seconds}"))
            .when(whole < FIRST_SECOND, F.lit(f"is a time {_BEFORE}{by_seconds}"))
            .when(instant > last, F.concat(F.lit(f"is a time {_AFTER} in UTC: "), shown))
            .when(instant < first, F.concat(F.lit(f"is a time {_BEFORE} in UTC: "), shown))
            .when(
                text.rlike(_FINER_FORM) & ~text.rlike(TIMESTAMP_FORM),
                F.concat(F.lit("is finer than a microsecond: "), shown),
            )
        )

    return bound(_text(value), of_text)


def beyond(kind: DataType, nullable: bool, name: str) -> Iterator[Check]:
    """Return the checks of a date or a time that is outside of the bounds; `walks.Own`."""
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        what = "date" if isinstance(kind, DateType) else "time"
        first, last = _bounds(kind)
        yield f"field {name} is a {what} {_BEFORE}", lambda value: value < first
        yield f"field {name} is a {what} {_AFTER}", lambda value: value > last


def _text(value: Column) -> Column:
    return F.try_variant_get(value, "$", "string")


def _is_whole(value: Column) -> Column:
    return F.schema_of_variant(value) == "BIGINT"


def _seconds(value: Column) -> Column:
    return F.try_variant_get(value, "$", "bigint")


def _of_seconds(seconds: Column) -> Column:
    within = seconds.between(FIRST_SECOND, LAST_SECOND)
    return F.when(within, F.timestamp_seconds(seconds))


def _instant(text: Column) -> Column:
    """Return the time that a text of the form means, null where there is none, as on February 30.

    The text is made whole first: so Spark reads it, and as a time of no other zone than UTC.
    """
    with_time = F.regexp_replace(text, "^(.{10})$", "$1T00:00")
    with_seconds = F.regexp_replace(with_time, "^(.{16})(?!:)", "$1:00")
    return F.regexp_replace(with_seconds, "^(.{11}[^Z+-]*)$", "$1Z").try_cast("timestamp")


def _within(time: Column) -> Column:
    first, last = _bounds(TimestampType())
    return F.when(time.between(first, last), time)


def _bounds(kind: DataType) -> tuple[Column, Column]:
    first, last = _BOUNDS[type(kind)]
    return F.lit(first).cast(kind), F.lit(last).cast(kind)
