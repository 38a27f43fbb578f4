"""Dates and times in JSON: the texts that fit DATE, TIMESTAMP and TIMESTAMP_NTZ, and their values.

A text fits only in the forms of this module. The calendar is the Gregorian one of ISO 8601 for all
years. A text without a zone is in UTC if the column is a TIMESTAMP.

The bounds are the years 1 and 9999: deltalake, PyIceberg, pandas and Python's own datetime reject a
file with a date outside them.
"""

from __future__ import annotations

import re
from datetime import date

from pipeline.columns.json.parsing import SHOWN_MAX

FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The begin of the first day and the last second of the last day in UTC, in seconds since 1970."""
_FIRST_US, _LAST_US = FIRST_SECOND * 1_000_000, LAST_SECOND * 1_000_000 + 999_999
_EPOCH_DAY = 719_163
"""The number of 1970-01-01 in Python's count of days."""
_ZONE_MINUTES_MAX = 18 * 60

_DAY = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK = r"[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
_ZONE = "(Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
DATE_FORM = re.compile(_DAY)
LOCAL_FORM = re.compile(f"{_DAY}(?:{_CLOCK})?")
TIMESTAMP_FORM = re.compile(f"{_DAY}(?:{_CLOCK}{_ZONE}?)?")
"""The form of a TIMESTAMP. All forms are matched against the whole text; they also match days that
do not exist, and digits behind the microsecond."""


class NotThisTime(Exception):
    """The error for a text in the right form that does not fit; the message follows `field NAME
    `."""


def days_of(text: str) -> int | None:
    """Return the days since 1970 of a text that fits DATE, else None."""
    form = DATE_FORM.fullmatch(text)
    return None if form is None else _days(form)


def local_us_of(text: str) -> int | None:
    """Return the microseconds since 1970 of a text that fits TIMESTAMP_NTZ, else None.

    Raises NotThisTime if the time is finer than a microsecond.
    """
    form = LOCAL_FORM.fullmatch(text)
    return None if form is None else _local_us(form)


def us_of(text: str) -> int | None:
    """Return the microseconds since 1970 in UTC of a text that fits TIMESTAMP, else None.

    Raises NotThisTime if the time is beyond the bounds, or finer than a microsecond.
    """
    form = TIMESTAMP_FORM.fullmatch(text)
    if form is None:
        return None
    time_us = _local_us(form)
    zone = form[8]
    if time_us is None or zone is None or zone == "Z":
        return time_us
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    offset = hours * 60 + minutes
    if minutes > 59 or offset > _ZONE_MINUTES_MAX:
        return None
    offset_us = offset * 60_000_000
    time_us += offset_us if zone[0] == "-" else -offset_us
    if time_us > _LAST_US:
        raise NotThisTime(f"is a time after the year 9999 in UTC: {text[:SHOWN_MAX]}")
    if time_us < _FIRST_US:
        raise NotThisTime(f"is a time before the year 1 in UTC: {text[:SHOWN_MAX]}")
    return time_us


def us_of_seconds(seconds: int) -> int:
    """Return the microseconds of seconds since 1970. Raises NotThisTime if they are beyond the
    bounds."""
    by_seconds = ": a number is read as seconds"
    if seconds > LAST_SECOND:
        raise NotThisTime(f"is a time after the year 9999{by_seconds}")
    if seconds < FIRST_SECOND:
        raise NotThisTime(f"is a time before the year 1{by_seconds}")
    return seconds * 1_000_000


def _days(form: re.Match[str]) -> int | None:
    try:
        return date(int(form[1]), int(form[2]), int(form[3])).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def _local_us(form: re.Match[str]) -> int | None:
    days = _days(form)
    if days is None or form[4] is None:
        return None if days is None else days * 86_400_000_000
    hour, minute, second = int(form[4]), int(form[5]), int(form[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = form[7] or ""
    if fraction[6:].strip("0"):
        raise NotThisTime(f"is finer than a microsecond: {form[0][:SHOWN_MAX]}")
    seconds = (days * 24 + hour) * 3_600 + minute * 60 + second
    return seconds * 1_000_000 + int(fraction[:6].ljust(6, "0"))
