"""Clients that begin and do not go on take no more of a real process than the keys say.

A short form of `python -m tests.chaos.stalled_connections`, which has 200 senders and 300 readers.
"""

from __future__ import annotations

from tests.chaos.stalled_connections import (
    FRAME_BYTES,
    MB,
    TRIPS,
    LoadResult,
    offset_readers,
    record_readers,
    senders,
)

SLACK_BYTES = 24 * MB
"""What answers of 2 MB take while they are handled, and what an allocator
keeps."""


def grown(found: LoadResult) -> int:
    return found.most - found.before


def test_slow_senders_hold_what_they_have_sent_and_are_not_closed() -> None:
    """40 that announce 4 GB. One frame of 100 MB may be received at a time."""
    found = senders(40, 1.5, {"queued.max.request.bytes": str(FRAME_BYTES + 10 * MB)})
    assert grown(found) < SLACK_BYTES, str(found)
    assert found.alive == 40
    assert len(found.trips_ms) >= TRIPS


def test_answers_that_are_not_read_stay_within_their_bound() -> None:
    """40 that would hold 70 MB of answers."""
    limit = 10 * MB
    found = offset_readers(40, 1.5, {"ottla.queued.max.response.bytes": str(limit)})
    assert grown(found) < limit + SLACK_BYTES, str(found)
    assert 2 <= found.alive <= limit // MB, str(found)


def test_records_that_are_not_read_take_no_memory() -> None:
    """40 that have asked for 2 GB, each within one answer."""
    found = record_readers(40, 1, {"ottla.queued.max.response.bytes": str(MB)})
    assert grown(found) < SLACK_BYTES, str(found)
    assert found.alive == 40
