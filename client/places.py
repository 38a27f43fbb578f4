"""Words for places in a partition: `start`, `end`, `-10`, `1234`, `@2h`, `@2026-11-26T08:00`.

Owns what the words mean; `now_ms` comes in. Asks no broker (`place_offsets` does).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from broker.config.start_error import StartError

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"(\d+)([smhd])")
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?)?(Z|[+-]\d\d:\d\d)?"
)
_MOST = (1 << 63) - 1
_DIGITS_MAX = 4_000
"""As many as Python reads."""
_DAYS_TO_1970 = 719_468
FORMS = (
    "start, end, an offset, -N for the last N records of each partition, or @TIME: @2h ago, "
    "@2026-11-26T08:00Z, @1764144000000 in milliseconds"
)


class Place(NamedTuple):
    """One of: the start, the end, an offset, so many before the end, a time."""

    kind: str
    number: int = 0


START, END = Place("start"), Place("end")
OFFSET, LAST, TIME = "offset", "last", "time"


def parse_place(text: str, now_ms: int, option: str) -> Place:
    """Raises StartError."""
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
    return text.isascii() and text.isdecimal()


def _number(text: str, shown: str) -> int:
    """Return what a broker takes as an offset or a time."""
    if len(text) > _DIGITS_MAX or int(text) > _MOST:
        raise StartError(f"{shown}: the greatest number is {_MOST}")
    return int(text)


def _moment_ms(moment: re.Match[str], shown: str) -> int:
    """Milliseconds since the epoch; a moment without a zone is one of UTC."""
    year, month, day = (int(moment[one]) for one in (1, 2, 3))
    hour, minute, second = (int(moment[one] or 0) for one in (4, 5, 6))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60):
        raise StartError(f"{shown}: there is no such time")
    zone = moment[8] or "Z"
    offset_min = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6])
    minutes = hour * 60 + minute - (-offset_min if zone.startswith("-") else offset_min)
    seconds = (_days(year, month, day) * 1440 + minutes) * 60 + second
    return seconds * 1000 + int((moment[7] or "0").ljust(3, "0"))


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of the Gregorian calendar, counted in years that begin in March."""
    year -= month < 3
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _DAYS_TO_1970
