"""Places in a partition as users write them: `start`, `end`, `-10`, `1234`, `@2h`, `@2026-11-26`.

Owns the parser; the caller passes the time `now_ms`. Asks no broker (`place_offsets` does).
"""

from __future__ import annotations

import re
from calendar import monthrange
from typing import NamedTuple

from broker.config.start_error import StartError

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"(\d+)([smhd])")
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?(Z|[+-]\d\d:\d\d)?"
)
_MOST = (1 << 63) - 1
_DIGITS_MAX = 4_000
"""The number of digits that Python converts to an int at most."""
_DAYS_TO_1970 = 719_468
FORMS = (
    "start, end, an offset, -N for the last N records of each partition, or @TIME: @2h ago, "
    "@2026-11-26T08:00Z, @1764144000000 in milliseconds"
)


class Place(NamedTuple):
    """A place in a partition: START, END, or one of the kinds OFFSET, LAST and TIME.

    `number` is the offset, the number of records before the end, or the time (ms since the epoch).
    """

    kind: str
    number: int = 0


START, END = Place("start"), Place("end")
OFFSET, LAST, TIME = "offset", "last", "time"


def parse_place(text: str, now_ms: int, option: str) -> Place:
    """Return the place that a user wrote; `option` names the option in errors.

    `now_ms`: the time to which an age such as `@2h` is relative. Raises StartError.
    """
    if text in ("start", "beginning", "earliest"):
        return START
    if text in ("end", "latest"):
        return END
    if text.startswith("@"):
        return Place(TIME, _time_of(text[1:], now_ms, f"{option} {text}"))
    if _is_number(text.removeprefix("-")):
        is_last = text.startswith("-")
        return Place(
            LAST if is_last else OFFSET, _number(text.removeprefix("-"), f"{option} {text}")
        )
    raise StartError(f"{option} {text}: give {FORMS}")


def _time_of(text: str, now_ms: int, shown: str) -> int:
    """Return the time (ms since the epoch, at least 0) that `text` names.

    Raises StartError, which quotes `shown`, if it is no time.
    """
    if _is_number(text):
        return _number(text, shown)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return max(now_ms - _number(ago[1], shown) * _UNITS_MS[ago[2]], 0)
    moment = _MOMENT.fullmatch(text)
    if moment is None:
        raise StartError(f"{shown}: a time is {FORMS.partition('@TIME: ')[2]}")
    return max(_moment_ms(moment, shown), 0)  # less is no time for a broker


def _is_number(text: str) -> bool:
    """Return whether the text has ASCII digits only."""
    return text.isascii() and text.isdecimal()


def _number(text: str, shown: str) -> int:
    """Return the number. Raises StartError if it is too large for an offset or a time."""
    if len(text) > _DIGITS_MAX or int(text) > _MOST:
        raise StartError(f"{shown}: the greatest number is {_MOST}")
    return int(text)


def _moment_ms(moment: re.Match[str], shown: str) -> int:
    """Return a date and time as ms since the epoch; UTC if it has no zone. Raises StartError, which
    quotes `shown`, if a part is out of range."""
    year, month, day = (int(moment[part]) for part in (1, 2, 3))
    hour, minute, second = (int(moment[part] or 0) for part in (4, 5, 6))
    exists = 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
    if not (exists and hour < 24 and minute < 60 and second < 60):
        raise StartError(f"{shown}: there is no such time")
    zone = moment[8] or "Z"
    offset_min = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6])
    minutes = hour * 60 + minute - (-offset_min if zone.startswith("-") else offset_min)
    seconds = (_days(year, month, day) * 1440 + minutes) * 60 + second
    return seconds * 1000 + int((moment[7] or "0").ljust(3, "0"))


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 in the Gregorian calendar.

    Years count from March, so that a leap day is a year's last day.
    """
    year -= month < 3
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return (
        era * 146_097
        + year_of_era * 365
        + year_of_era // 4
        - year_of_era // 100
        + day_of_year
        - _DAYS_TO_1970
    )
