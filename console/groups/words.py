"""Since when a group or a partition is behind, in words.

Pure: times come in, as ms since the epoch, and go out as numbers between braces, `{1764205320000}`:
the page shows them in the zone of who looks.
"""

from __future__ import annotations

from console.groups.lag_history import Behind

_UNMOVED_MS = 60_000
"""A committed offset that has not changed for so long, though there is lag, has stopped."""


def since(one: Behind | None, now_ms: int) -> str:
    """`behind for 23 min, since {…}`, or that it keeps up."""
    if one is None or one.lag is None:
        return ""
    if one.since_ms is None and one.from_start and one.lag:
        return "not enough samples yet"
    if one.since_ms is None:
        return "keeps up" if one.lag else "has read all records"
    if one.from_start:
        words = f"behind since before {{{one.since_ms}}}, the console's first sample"
    else:
        words = f"behind for {lasting(now_ms - one.since_ms)}, since {{{one.since_ms}}}"
    unmoved = one.unmoved_since_ms
    if unmoved is not None and now_ms - unmoved >= _UNMOVED_MS:
        words += f"; no commit for {lasting(now_ms - unmoved)}"
    return words


def lasting(span_ms: int) -> str:
    """`40 s`, `23 min`, `1 h 5 min`."""
    seconds = max(span_ms, 0) // 1000
    if seconds < 60:
        return f"{seconds} s"
    hours, minutes = divmod(seconds // 60, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
