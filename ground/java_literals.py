"""Numbers, booleans and durations as Java writes and reads them, which Kafka's configs contain.

Each parser takes a trimmed text, and returns None if Java rejects it. These are pure functions,
which never know a config key or its limits.

They follow the documentation of `String.trim`, `Boolean`, `Integer.parseInt`, `Long.parseLong`,
`Double.valueOf`, `Double.toString` and `Duration.parse` of Java 17.
"""

from __future__ import annotations

import re

_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"([+-]?)(\d+)")
# Each digit can match in one place only, so a client's bad text is rejected without backtracking.
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?")
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?"
)
_NOT_FINITE = re.compile(r"[+-]?(NaN|Infinity)")
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<d>[-+]?[0-9]+)D)?(?P<time>T(?:(?P<h>[-+]?[0-9]+)H)?"
    r"(?:(?P<m>[-+]?[0-9]+)M)?(?:(?P<s>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_MOST_SECONDS = 2**63 - 1
_MOST_DIGITS = 20  # more than any 64-bit integer has
# Java has two chars for a character beyond this one, and neither of them is a digit.
_LAST_OF_ONE_CHAR = "\uffff"


def trim(text: str) -> str:
    """Return `text` without blanks and ASCII control characters at both ends."""
    return text.strip(_BLANKS)


def boolean(text: str) -> bool | None:
    """Return the value of `true` or `false`, in letters of any case; None for other texts."""
    folded = text.upper() if len(text) < 6 else ""
    return {"TRUE": True, "FALSE": False}.get(folded)


def integer(text: str, bits: int) -> int | None:
    """Return the signed integer of `bits` bits that a text has, in decimal digits of any script;
    None if the text is no such integer."""
    match = _INTEGER.fullmatch(text)
    if match is None or max(text) > _LAST_OF_ONE_CHAR:
        return None
    digits = match[2] if match[2].isascii() else "".join(str(int(digit)) for digit in match[2])
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    value = -int(digits) if match[1] == "-" else int(digits)
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None


def double(text: str) -> float | None:
    """Return the 64-bit number that a text has, in decimal or hexadecimal form, or NaN or an
    infinity; None if the text is no number."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("dDfF"))
    if match := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return float(f"{text[0]}inf" if text[0] in "+-" else "inf")
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    return None


def duration_ns(text: str) -> int | None:
    """Return the nanoseconds of an ISO 8601 duration of days, hours, minutes and seconds; None if
    the text is no duration."""
    match = _DURATION.fullmatch(text)
    if match is None or match["time"] in ("T", "t"):
        return None
    seconds, has_unit = 0, False
    for unit, factor in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if match[unit] is not None:
            count = integer(match[unit], 64)
            if count is None:
                return None
            seconds, has_unit = seconds + factor * count, True
    if not has_unit or abs(seconds) > _MOST_SECONDS:
        return None
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    nanoseconds = seconds * 1_000_000_000 + (-fraction if "-" in (match["s"] or "") else fraction)
    return -nanoseconds if match["sign"] == "-" else nanoseconds


def double_text(value: float) -> str:
    """Return the text that Java prints for a double: 0.5, 1.0, 1.0E-5, 1.7976931348623157E308, NaN,
    -Infinity."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    significant = (whole + fraction).lstrip("0")
    leading_zeros = len(whole + fraction) - len(significant)
    power = len(whole) + int(exponent or 0) - leading_zeros - 1
    digits = significant.rstrip("0")
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{power}"
