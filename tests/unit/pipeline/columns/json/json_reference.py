"""What the table of docs/pipeline.md makes of a JSON text, written again without the reader.

Numbers are exact fractions here, and texts are looked at digit by digit, so that a fault of the
reader is not a fault of this, too. Owns the random texts for each type.
"""

from __future__ import annotations

import json
import math
import random
import re
import string
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
REFUSED: Any = object()
"""The JSON does not fit the type."""
TYPES = (
    *("BOOLEAN", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY"),
    *("DECIMAL(38,0)", "DECIMAL(10,2)", "DECIMAL(5,5)", "DECIMAL(38,18)"),
    *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
)
_BITS = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}
_CHARACTERS = 'aZ0 "\\/é€\U0001f600\u2028\x7f,{}[]:\n\x00'
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def meant(raw: str, kind: str) -> Any:
    """Return what a JSON text is in a column of a type, as Arrow's `to_pylist` gives it."""
    value = json.loads(raw)
    if value is None:
        return None
    if kind == "STRING":
        return value if isinstance(value, str) else raw.strip()
    if kind == "BOOLEAN":
        return value if isinstance(value, bool) else REFUSED
    if isinstance(value, str):
        return _of_text(value, kind)
    if isinstance(value, bool | list | dict):
        return REFUSED
    return _of_number(raw.strip(), kind)


def _of_number(raw: str, kind: str) -> Any:
    exact, is_whole = Fraction(raw), re.fullmatch("-?[0-9]+", raw) is not None
    if kind in _BITS:
        half = 2 ** (_BITS[kind] - 1)
        return int(exact) if is_whole and -half <= exact < half else REFUSED
    if kind in ("FLOAT", "DOUBLE"):
        nearest = _nearest(exact, kind)
        if nearest is None or (is_whole and Fraction(nearest) != exact):
            return REFUSED
        return math.copysign(nearest, -1 if raw.startswith("-") else 1)
    if kind.startswith("DECIMAL"):
        precision, scale = map(int, kind[8:-1].split(","))
        units = exact * 10**scale
        if units.denominator != 1 or abs(units) >= 10**precision:
            return REFUSED
        return Decimal(f"{units.numerator}e-{scale}")
    if kind == "TIMESTAMP" and is_whole:
        try:
            return EPOCH + timedelta(seconds=int(exact))
        except OverflowError:
            return REFUSED
    return REFUSED


def _nearest(exact: Fraction, kind: str) -> float | None:
    """Return the nearest number of the type, of two the even one; None where it is infinite."""
    try:
        double = exact.numerator / exact.denominator  # which Python rounds correctly
    except OverflowError:
        return None
    if kind == "DOUBLE":
        return double
    try:
        (bits,) = struct.unpack("<i", struct.pack("<f", abs(double)))
    except OverflowError:
        bits = 0x7F7FFFFF
    near = [one for one in (bits - 1, bits, bits + 1) if 0 <= one <= 0x7F800000]
    # Infinity is as far away as the number would be that follows the last one.
    numbers = {one: Fraction(2) ** 128 if one == 0x7F800000 else _float(one) for one in near}
    best = min(near, key=lambda one: (abs(numbers[one] - abs(exact)), one & 1))
    if best == 0x7F800000:
        return None
    return math.copysign(numbers[best], exact)


def _float(bits: int) -> Fraction:
    return Fraction(struct.unpack("<f", struct.pack("<i", bits))[0])


def _of_text(text: str, kind: str) -> Any:
    if kind == "BINARY":
        return _bytes_of(text)
    if kind == "DATE":
        day = day_of(text)
        return REFUSED if day is None else day
    if kind.startswith("TIMESTAMP"):
        time = time_of(text, kind == "TIMESTAMP")
        if time is None:
            return REFUSED
        return time.replace(tzinfo=UTC) if kind == "TIMESTAMP" else time
    return REFUSED


def _bytes_of(text: str) -> Any:
    """Return the bytes of base64 with its padding, in which each bit counts."""
    body = text.rstrip("=")
    padding = len(text) - len(body)
    if any(one not in _BASE64 for one in body) or len(text) % 4 or padding > 2:
        return REFUSED
    bits = "".join(f"{_BASE64.index(one):06b}" for one in body)
    whole, left = bits[: len(bits) // 8 * 8], bits[len(bits) // 8 * 8 :]
    if len(left) != 2 * padding or "1" in left:
        return REFUSED
    return bytes(int(whole[at : at + 8], 2) for at in range(0, len(whole), 8))


def digits(text: str, count: int) -> int | None:
    """Return a number of exactly so many of the digits 0 to 9."""
    return int(text) if re.fullmatch("[0-9]+", text) and len(text) == count else None


def day_of(text: str) -> date | None:
    """Return the day that a text means."""
    parts = [digits(text[:4], 4), digits(text[5:7], 2), digits(text[8:], 2)]
    if text[4:5] + text[7:8] != "--" or None in parts:
        return None
    try:
        return date(*(part for part in parts if part is not None))
    except ValueError:
        return None


def offset_of(zone: str) -> timedelta | None:
    """Return how far a zone is from UTC: `Z`, `+05`, `+0530`, `+05:30`, up to 18 hours."""
    if zone == "Z":
        return timedelta()
    hours, minutes = digits(zone[1:3], 2), digits(zone[3:].removeprefix(":") or "00", 2)
    if hours is None or minutes is None or minutes > 59 or zone[3:] == ":":
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return None if offset > timedelta(hours=18) else -offset if zone[0] == "-" else offset


def clock_of(text: str) -> timedelta | None:
    """Return the time of day of `12:30`, `12:30:00`, `12:30:00.123456`."""
    whole, dot, fraction = text.partition(".")
    parts = whole.split(":")
    numbers = [digits(part, 2) for part in parts]
    if None in numbers or len(parts) not in ((3,) if dot else (2, 3)):
        return None
    hours, minutes, seconds = (*(number or 0 for number in numbers), 0)[:3]
    micros = fraction[:6].ljust(6, "0") if dot else "000000"
    if hours > 23 or minutes > 59 or seconds > 59 or digits(micros, 6) is None:
        return None
    if dot and (not fraction or fraction[6:].strip("0")):
        return None
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=int(micros))


def time_of(text: str, zones: bool) -> datetime | None:
    """Return the time that a text means, without a zone; in UTC where it may have a zone."""
    day, clock, shift = day_of(text[:10]), timedelta(), timedelta()
    if day is None:
        return None
    if text[10:]:
        rest = text[11:]
        zone = re.search("[Z+-].*", rest, re.DOTALL) if zones else None
        time = clock_of(rest[: zone.start()] if zone else rest)
        offset = offset_of(zone[0]) if zone else timedelta()
        if text[10] not in "T " or time is None or offset is None:
            return None
        clock, shift = time, offset
    try:
        return datetime(day.year, day.month, day.day) + clock - shift
    except OverflowError:
        return None


def random_texts(kind: str, count: int, seed: int) -> list[str]:
    """Return JSON texts for a type: half of them nearly fit it, the others are of all sorts."""
    chosen = random.Random(f"{seed} {kind}")
    own = _OWN.get(kind.partition("(")[0], number_text)
    return [(own if n % 2 else any_text)(chosen) for n in range(count)]


def number_text(chosen: random.Random) -> str:
    """Return a number in some notation: near a bound of a type, or of any size."""
    bound = 2 ** chosen.choice((0, 7, 15, 24, 31, 53, 63, 64, 127, 128, 256, 1024))
    near = bound + chosen.randint(-2, 2)
    whole = chosen.choice((chosen.randint(0, 99), near, 10 ** chosen.randint(0, 40), near // 10))
    sign, text = chosen.choice(("", "-")), str(abs(whole))
    if chosen.random() < 0.4:
        text += "." + "".join(chosen.choices("0123456789", k=chosen.choice((1, 2, 3, 5, 18, 25))))
    if chosen.random() < 0.2:
        text += f".{chosen.choice(('0', '50', '000'))}" if "." not in text else "00"
    if chosen.random() < 0.3:
        text += f"{chosen.choice('eE')}{chosen.choice(('', '+', '-'))}{chosen.randint(0, 60)}"
    if chosen.random() < 0.05:
        text += "e400" if "e" not in text.lower() else "0"
    return sign + text


def decimal_text(chosen: random.Random) -> str:
    """Return a number of few digits before and behind the point, or any number."""
    if chosen.random() < 0.4:
        return number_text(chosen)
    behind = f"{chosen.randint(0, 99999):05}"[: chosen.randint(1, 5)]
    text = f"{chosen.choice((0, 0, 7, 12345678, 99999999))}.{behind}"
    exponent = chosen.choice(("", "", "e0", "E-3", "e+2"))
    return f"{chosen.choice(('', '-'))}{text}{exponent}"


def float_text(chosen: random.Random) -> str:
    """Return a number beside the middle of two FLOATs, or any number."""
    if chosen.random() < 0.6:
        return number_text(chosen)
    bits = chosen.randrange(0, 0x7F7FFFFF)
    middle = (_float(bits) + _float(bits + 1)) / 2
    # A denominator that is a power of 2 has as many decimals as that power.
    places = max(0, middle.denominator.bit_length() - 1)
    text = f"{middle.numerator * 5**places}e-{places}"
    mantissa, _, exponent = text.partition("e")
    return chosen.choice((text, f"{mantissa}1e{int(exponent) - 1}", f"{mantissa}.0e{exponent}"))


def time_text(chosen: random.Random) -> str:
    """Return a text that is a date, a time, or nearly one."""
    year = chosen.choice(("0000", "0001", "1582", "1969", "2024", "2026", "9999", "10000", "26"))
    month, day = chosen.choice((0, *range(1, 13), 13)), chosen.choice((*range(1, 32), 32))
    hour, minute, second = (chosen.choice((0, last // 2, last, last + 1)) for last in (23, 59, 59))
    clock = chosen.choice((f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}:{second:02}", "7:30"))
    fraction = chosen.choice(("", "", f".{chosen.randint(0, 10 ** chosen.randint(1, 9))}"))
    shift = f"{chosen.randint(0, 19):02}{chosen.choice((':', ''))}{chosen.randint(0, 61):02}"
    zone = f"{chosen.choice('+-')}{shift}"
    zone = chosen.choice(("", "", "Z", "Z", zone, zone[:3], " Z", "UTC"))
    clock = chosen.choice(("", "", f"{chosen.choice('TTT ')}{clock}{fraction}{zone}"))
    text = f"{year}-{month:02}-{day:02}{clock}"
    for _ in range(chosen.choice((0, 0, 0, 0, 1, 2))):
        at = chosen.randrange(len(text) + 1)
        put = chosen.choice(("", *" 0:-+.TZ/,a\n\t\u0660"))
        text = text[:at] + put + text[at + chosen.randint(0, 1) :]
    return json.dumps(text)


def _base64_text(chosen: random.Random) -> str:
    text = "".join(chosen.choices(_BASE64, k=chosen.randint(0, 9)))
    text += "=" * chosen.choice((-len(text) % 4, -len(text) % 4, chosen.randint(0, 3)))
    return json.dumps(text + chosen.choice(("", "", "", "", "\n", " ", "-", "é")))


def _boolean_text(chosen: random.Random) -> str:
    return chosen.choice(("true", "false", "null", '"true"', "1", "0"))


def any_text(chosen: random.Random, depth: int = 2) -> str:
    """Return a JSON text of any type, with blanks where the grammar has them."""
    blank = chosen.choice(("", "", " ", "\n", "\t\r "))
    sort = chosen.randrange(9 if depth else 6)
    if sort < 2:
        return number_text(chosen)
    if sort == 2:
        return chosen.choice(("null", "true", "false"))
    if sort < 6:
        letters = chosen.choices(
            'aZ0 "\\/é€\U0001f600\u2028\x7f,{}[]:\n\x00', k=chosen.randint(0, 8)
        )
        return json.dumps("".join(letters), ensure_ascii=chosen.random() < 0.5)
    items = [any_text(chosen, depth - 1) for _ in range(chosen.randint(0, 3))]
    if sort == 6:
        return f"[{blank}{f'{blank},'.join(items)}{blank}]"
    names = chosen.sample(["a", "A", "", "é", 'q"', "\U0001f600"], len(items))
    members = (f"{json.dumps(name)}{blank}:{item}" for name, item in zip(names, items, strict=True))
    return f"{{{blank}{f',{blank}'.join(members)}{blank}}}"


_OWN: dict[str, Callable[[random.Random], str]] = {
    "BINARY": _base64_text,
    "BOOLEAN": _boolean_text,
    "DATE": time_text,
    "DECIMAL": decimal_text,
    "FLOAT": float_text,
    "STRING": any_text,
    "TIMESTAMP": time_text,
    "TIMESTAMP_NTZ": time_text,
}
