"""Texts about the lag of a group or a partition, such as `behind for 23 min, since {…}`.

Pure. A time in a text is a number of ms since the epoch between braces, `{1764205320000}`; the page
shows it in the browser's time zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from client.core.groups import SHARE
from client.core.leaders import Partition
from client.groups.groups import Standing
from console.groups.lag_history import Behind

_UNMOVED_MS = 60_000
"""The time without a change of the committed offset after which the text says so."""
FRESH_MS = 10_000
"""The age of an unread record below which the text does not mention it."""


class Terms(NamedTuple):
    """The words for the progress of a group, which depend on its type."""

    has_read: str
    unread: str
    no_commit: str
    no_offsets: str
    with_offset: str


_READING = Terms(
    "has read", "unread", "no commit", "has no committed offsets", "that have a commit"
)
_FINISHING = Terms(
    "has finished",
    "unfinished",
    "no record finished",
    "has finished no records yet",
    "with a start offset",
)


def terms_of(group_type: str) -> Terms:
    """Return the words for a type of group: a share group has no commits, it finishes records."""
    return _FINISHING if group_type.lower() == SHARE else _READING


def since(behind: Behind | None, now_ms: int, terms: Terms = _READING) -> str:
    """Return since when a partition is behind, or that it keeps up; "" if its lag is not known."""
    if behind is None or behind.lag is None:
        return ""
    if behind.since_ms is None and behind.from_start and behind.lag:
        return "not enough samples yet"
    if behind.since_ms is None:
        return "keeps up" if behind.lag else f"{terms.has_read} all records"
    if behind.from_start:
        words = f"behind since before {{{behind.since_ms}}}, the console's first sample"
    else:
        words = f"behind for {lasting(now_ms - behind.since_ms)}, since {{{behind.since_ms}}}"
    unmoved = behind.unmoved_since_ms
    if unmoved is not None and now_ms - unmoved >= _UNMOVED_MS:
        words += f"; {terms.no_commit} for {lasting(now_ms - unmoved)}"
    return words


def group_words(
    rows: Sequence[Standing],
    worst: Behind | None,
    unread_ms: Mapping[Partition, int],
    now_ms: int,
    terms: Terms = _READING,
) -> str:
    """Return since when a group is behind, and the age of its oldest unread record."""
    if not any(row.lag for row in rows):
        return _without_lag(rows, terms)
    said = since(worst, now_ms, terms)
    oldest = min(unread_ms.values(), default=None)
    if oldest is None or now_ms - oldest < FRESH_MS:
        return said
    waits = (
        f"its oldest {terms.unread} record was written {{{oldest}}}, {lasting(now_ms - oldest)} ago"
    )
    return f"{said}; {waits}" if said else waits


def _without_lag(rows: Sequence[Standing], terms: Terms) -> str:
    """Return the text about a group with no known lag above 0."""
    with_offset = [row for row in rows if row.committed is not None]
    if not with_offset:
        return terms.no_offsets
    if any(row.lag is None for row in with_offset):
        return f"{terms.has_read} all records of the partitions whose lag is known"
    if len(with_offset) < len(rows):
        return f"{terms.has_read} all records of the partitions {terms.with_offset}"
    return f"{terms.has_read} all records"


def lasting(span_ms: int) -> str:
    """Return a span of time as text: `40 s`, `23 min`, `1 h 5 min`."""
    seconds = max(span_ms, 0) // 1000
    if seconds < 60:
        return f"{seconds} s"
    hours, minutes = divmod(seconds // 60, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
