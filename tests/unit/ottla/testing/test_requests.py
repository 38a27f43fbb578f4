"""A request as a client sent it."""

from __future__ import annotations

from ottla.testing.records import Record
from ottla.testing.requests import request_from
from tests.unit.ottla.testing.asked import PRODUCE


def test_a_produce_has_records() -> None:
    request = request_from(PRODUCE)
    assert (request.api, request.client_id, request.prepared) == ("Produce", "app", True)
    headers = (("h", b"1"),)
    assert request.records == [
        Record("t", 2, 0, 1, b"k", b"a", headers),
        Record("t", 2, 1, 1, b"k", b"b", headers),
    ]


def test_others_have_none() -> None:
    assert request_from({**PRODUCE, "api": "Fetch", "request": {"topics": []}}).records == []
    unread = request_from({**PRODUCE, "request": None, "error": "too long"})
    assert (unread.records, unread.fields, unread.error) == ([], None, "too long")
