"""A traced Fetch is answered as any other, and its stations are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.requests.context import RequestContext
from broker.requests.request_trace import RequestTrace
from controller.authorization.rights import UNLIMITED
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.unit.broker.apis.fetch.fetch_fixture import MIB, Fetch
from tests.unit.broker.requests.trace_fixture import asks, tracer


class TracedFetch(Fetch):
    """The API on a folder; a trace of each request."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keeper = tracer()
        self.replicas.create("t")

    def ask(self, offset: int, max_wait_ms: int = 500, min_bytes: int = 1) -> RequestTrace:
        asked = [FetchPartition(0, fetch_offset=offset, partition_max_bytes=MIB)]
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=MIB,
            topics=[FetchTopic("t", partitions=asked)],
        )
        context = RequestContext(1, 12, 1, "ottla-trace-x", "here", "L", "c", UNLIMITED)
        context.trace = self.keeper.request(context, 50, None)
        assert context.trace is not None
        self.api.handle(context, request, self.answers.append)
        return context.trace


def told(trace: RequestTrace) -> list[tuple[Any, ...]]:
    return [
        (one["name"], one["bytes"] > 0, one["offset"]) if "bytes" in one else (one["name"],)
        for one in trace.report()["stations"]
    ]


@pytest.fixture
def fetch(tmp_path: Path) -> TracedFetch:
    return TracedFetch(tmp_path)


def test_what_is_there_is_read_at_once(fetch: TracedFetch) -> None:
    fetch.replicas.append("t", b"v")
    trace = fetch.ask(0)
    assert told(trace) == [("read", True, 0)]
    assert fetch.one().high_watermark == 1
    assert fetch.keeper.changes_since(0) == [trace]


def test_one_that_waits_is_woken_by_what_is_enough_for_it(fetch: TracedFetch) -> None:
    trace = fetch.ask(0, min_bytes=100)
    assert told(trace) == [("read", False, 0), ("waits",)]
    fetch.replicas.append("t", b"v")
    assert told(trace)[2:] == [] and not fetch.answers  # a look that was not enough
    fetch.replicas.append("t", b"v" * 50)
    assert told(trace)[2:] == [("woken",), ("read", True, 0)]
    woken, read = trace.report()["stations"][2:]
    assert woken["at_s"] == read["since_s"] < read["at_s"]
    assert len(fetch.answers) == 1


def test_a_wait_may_end_with_what_there_is(fetch: TracedFetch) -> None:
    trace = fetch.ask(0, min_bytes=10_000)
    fetch.replicas.append("t", b"v")
    fetch.replicas.scheduler.run_for(600)
    assert told(trace)[2:] == [("expired",), ("read", True, 0)]
    assert fetch.keeper.changes_since(0) == [trace]


def test_one_that_gives_nothing_is_nothing_to_tell_of(fetch: TracedFetch) -> None:
    trace = fetch.ask(0)
    fetch.replicas.scheduler.run_for(600)
    assert told(trace)[2:] == [("expired",), ("read", False, 0)]
    assert len(fetch.answers) == 1 and fetch.keeper.changes_since(0) == []


def test_an_error_is_answered_and_no_slice(fetch: TracedFetch) -> None:
    assert told(fetch.ask(99)) == []
    assert fetch.one().error_code != 0
    assert asks().trace is None
