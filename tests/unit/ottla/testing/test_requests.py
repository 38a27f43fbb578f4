"""A request without records. One with them: `tests/compat/testing`."""

from __future__ import annotations

from ottla.testing.requests import request_from

PRODUCE = {
    "node_id": 1,
    "number": 1,
    "api": "Produce",
    "version": 9,
    "client_id": "app",
    "correlation_id": 7,
    "connection": "c",
    "principal": "User:ANONYMOUS",
    "time_ms": 17,
    "size": 100,
    "prepared": True,
}


def test_others_have_no_records() -> None:
    fetch = {**PRODUCE, "api": "Fetch", "request": {"topics": []}, "error": None}
    assert request_from(fetch).records == []
    unread = request_from({**PRODUCE, "request": None, "error": "too long"})
    assert (unread.records, unread.fields, unread.error) == ([], None, "too long")
