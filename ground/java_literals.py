"""Numbers, truths and durations as Java writes and reads them: Kafka's configs are such texts.

Each reader takes a text that is trimmed already and gives None where Java refuses it. Pure
functions; never: knows a key or a limit.

Follows the documentation of `String.trim`, `Boolean`, `Integer.parseInt`, `Long.parseLong`,
`Double.valueOf`, `Double.toString` and `Duration.parse` of Java 17.
"""

from __future__ import annotations

import re

_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"([+-]?)(\d+)")
# A digit has one place only in each: a text of clients that is none is refused in one walk.
_DECIMAL = re.compile(r"[+-]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][+-]?[0-9]++)?[dDfF]?")
_HEXADECIMAL = re.compile(
    r"([+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[dDfF]?"
)
_NO_NUMBER = re.compile(r"[+-]?(NaN|Infinity)")
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<d>[-+]?[0-9]+)D)?(?P<time>T(?:(?P<h>[-+]?[0-9]+)H)?"
    r"(?:(?P<m>[-+]?[0-9]+)M)?(?:(?P<s>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_MOST_SECONDS = 2**63 - 1
_MOST_DIGITS = 20  # more than any integer of 64 bits has
_LAST_OF_ONE_CHAR = "\uffff"  # beyond, a character is two for Java, and neither is a digit


def trim(text: str) -> str:
    """Without what stands before and after and is a blank or a control character of ASCII."""
    return text.strip(_BLANKS)


def boolean(text: str) -> bool | None:
    """`true` or `false` in letters of any case."""
    folded = text.upper() if len(text) < 6 else ""
    return {"TRUE": True, "FALSE": False}.get(folded)


def integer(text: str, bits: int) -> int | None:
    """A whole number of `bits` bits, signed, in the decimal digits of any script."""
    found = _INTEGER.fullmatch(text)
    if found is None or max(text) > _LAST_OF_ONE_CHAR:
        return None
    digits = found[2] if found[2].isascii() else "".join(str(int(digit)) for digit in found[2])
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    value = -int(digits) if found[1] == "-" else int(digits)
    limit = 1 << (bits - 1)
    return value if -limit <= value < limit else None


def double(text: str) -> float | None:
    """A number of 64 bits in decimal or hexadecimal form, NaN, or an infinity."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("dDfF"))
    if found := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float(f"{text[0]}inf" if text[0] in "+-" else "inf")
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    return None


def duration_ns(text: str) -> int | None:
    """Nanoseconds of an ISO 8601 duration of days, hours, minutes and seconds."""
    found = _DURATION.fullmatch(text)
    if found is None or found["time"] in ("T", "t"):
        return None
    seconds, given = 0, False
    for unit, factor in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if found[unit] is not None:
            count = integer(found[unit], 64)
            if count is None:
                return None
            seconds, given = seconds + factor * count, True
    if not given or abs(seconds) > _MOST_SECONDS:
        return None
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    nanoseconds = seconds * 1_000_000_000 + (-fraction if "-" in (found["s"] or "") else fraction)
    return -nanoseconds if found["sign"] == "-" else nanoseconds


def double_text(value: float) -> str:
    """As Java prints a double: 0.5, 1.0, 1.0E-5, 1.7976931348623157E308, NaN, -Infinity."""
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
