"""What the page asks about records is answered: pages, one record, its bytes, finds, what comes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from client.records import reading
from client.refusals import Leaderless, Refused
from console.endpoints import BadAsk, Console, Download, NotHere
from console.messages import exports, tail_endpoint
from console.messages.endpoints import ENDPOINTS
from console.messages.exporting import ExportStatus
from console.messages.search_endpoint import SEARCHES_MAX, Searches
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.list_offsets import ListOffsetsResponse
from tests.unit.client.records.batches import packed
from tests.unit.client.scripted import (
    ScriptedCluster,
    ScriptedNode,
    offsets_of,
    topic_of,
)
from tests.unit.console.one_console import OneCluster, answer_of, ask

MESSAGES = "/api/topics/{topic}/messages"
RECORD = MESSAGES + "/{partition}/{offset}"
VALUES = [b'{"n": 3}', None, b"five", b"\x00\xff", b"x" * 5000, b"eight", b"nine"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "wait_for_answers", lambda clients, _: clients)
    monkeypatch.setattr(tail_endpoint, "LOOK_EVERY_S", 0.0)


def fetched(_request: Any) -> FetchResponse:
    """The batch of offsets 3 to 9, whatever is asked for."""
    batch = packed([(b"k", value) for value in VALUES], 3, headers=(("h", b"v"),))
    data = PartitionData(0, 0, 10, 10, records=memoryview(batch))
    return FetchResponse(responses=[FetchableTopicResponse("t", partitions=[data])])


@pytest.fixture
def console() -> Console:
    node = ScriptedNode([fetched] * 9)
    cluster = ScriptedCluster([topic_of("t")], {"ListOffsetsRequest": offsets_of}, {1: node})
    return OneCluster(cluster)


def asked(console: Console, path: str, **values: str) -> Any:
    return answer_of(ENDPOINTS, path)(console, ask(topic="t", **values))


def test_a_page_has_so_many_records_at_most(console: Console) -> None:
    later = asked(console, MESSAGES, order="oldest", **{"from": "8"})
    assert [one["offset"] for one in later["records"]] == [8, 9]
    assert later["cursor"] is None
    with pytest.raises(BadAsk, match="count is 999"):
        asked(console, MESSAGES, count="999")


def test_one_record_and_more_of_it(console: Console) -> None:
    found = asked(console, RECORD, partition="0", offset="7")
    assert found["value"] == {"text": "x" * 5000, "size": 5000}
    with pytest.raises(NotHere, match="t-0 has no record at offset 2"):
        asked(console, RECORD, partition="0", offset="2")


def test_the_bytes_of_a_value(console: Console) -> None:
    path = RECORD + "/{part}"
    found = asked(console, path, partition="0", offset="6", part="value")
    assert found == Download("t-0-6.value", b"\x00\xff")
    assert asked(console, path, partition="0", offset="6", part="key").data == b"k"
    with pytest.raises(NotHere, match="is null"):
        asked(console, path, partition="0", offset="4", part="value")
    with pytest.raises(NotHere, match="a record has no tail"):
        asked(console, path, partition="0", offset="4", part="tail")


def test_a_search_and_no_more_than_so_many(console: Console) -> None:
    events = list(asked(console, "/api/topics/{topic}/search", q="ni"))
    assert [one["offset"] for event in events for one in event.get("finds", ())] == [9]
    assert events[-1]["ended"] == "end"
    room = console.state(Searches).room
    for _ in range(SEARCHES_MAX):
        assert room.acquire(blocking=False)
    with pytest.raises(Refused, match="searches are running"):
        next(asked(console, "/api/topics/{topic}/search", q="ni"))
    room.release()
    search = asked(console, "/api/topics/{topic}/search", q="ni")
    next(search)
    search.close()  # the tab is gone
    assert room.acquire(blocking=False)


def test_a_search_that_cannot_be_is_rejected_at_once(console: Console) -> None:
    for values in ({"q": "(", "regex": "1"}, {"q": ""}, {"q": "a", "count": "0"}):
        with pytest.raises(BadAsk):
            asked(console, "/api/topics/{topic}/search", **values)


EXPORT = "/api/topics/{topic}/export"
STATUS = "/api/exports/{export}"


def exported(console: Console, **values: str) -> list[Any]:
    """The records of an export as NDJSON."""
    file = answer_of(ENDPOINTS, EXPORT)(console, ask(topic="t", export="e", **values))
    assert (file.name, file.media_type) == ("t.ndjson", "application/x-ndjson")
    return [json.loads(line) for line in b"".join(file.pieces).splitlines()]


def test_an_export_of_all_and_of_what_matches(console: Console) -> None:
    assert [one["offset"] for one in exported(console)] == [3, 4, 5, 6, 7, 8, 9]
    assert answer_of(ENDPOINTS, STATUS)(console, ask(export="e"))["ended"] == "end"
    assert [one["offset"] for one in exported(console, q="ni")] == [9]
    assert [one["offset"] for one in exported(console, filter="value.n == 3 or offset > 8")] == [
        *(3, 9)
    ]
    assert [one["offset"] for one in exported(console, **{"from": "5", "to": "7"})] == [5, 6]


def test_an_export_of_the_newest_has_the_last_records(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "ExportStatus", partial(ExportStatus, records_max=2))
    assert [one["offset"] for one in exported(console, order="newest")] == [8, 9]
    assert [one["offset"] for one in exported(console)] == [3, 4]
    status = answer_of(ENDPOINTS, STATUS)(console, ask(export="e"))
    assert (status["records"], status["ended"]) == (2, "limit")


def test_an_export_that_cannot_be(console: Console) -> None:
    for values in (
        {"export": "e", "filter": "value ="},
        {"export": "e", "format": "xml"},
        {"export": "e", "partition": "9"},
        {"export": "/"},
        {},
    ):
        with pytest.raises(BadAsk):
            asked(console, EXPORT, **values)
    assert asked(console, STATUS, export="other")["records"] == 0


def test_a_cancelled_export_frees_its_slot(console: Console) -> None:
    room = console.state(Searches).room
    file = answer_of(ENDPOINTS, EXPORT)(console, ask(topic="t", export="cancelled"))
    for _ in range(SEARCHES_MAX - 1):
        assert room.acquire(blocking=False)
    with pytest.raises(Refused, match="searches are running"):
        exported(console)
    next(file.pieces)
    file.pieces.close()
    for name, reason in (("e", "searches are running"), ("cancelled", "was cancelled")):
        status = answer_of(ENDPOINTS, STATUS)(console, ask(export=name))
        assert status["ended"] == "failed" and reason in status["error"]
    assert room.acquire(blocking=False)


def grow(console: Console, *ends: int) -> None:
    """Let partition 0 of the cluster have these end offsets, one after the other."""
    coming = iter(ends)

    def growing(request: Any) -> ListOffsetsResponse:
        found = offsets_of(request)
        found.topics[0].partitions[0].offset = next(coming)
        return found

    with console.cluster() as cluster:
        assert isinstance(cluster, ScriptedCluster)
        cluster.answers["ListOffsetsRequest"] = growing


def test_a_tail(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(console, 8, 8, 8, 10)
    monkeypatch.setattr(tail_endpoint, "_HEARTBEAT_EVERY_S", 0.0)
    tail: Iterator[Any] = asked(console, "/api/topics/{topic}/tail")
    assert next(tail) == {"records": [], "dropped": 0, "cursor": "0:8"}
    assert next(tail) is None
    event = next(tail)
    assert [one["offset"] for one in event["records"]] == [8, 9]
    tail.close()


def test_a_tail_goes_on_from_the_cursor_of_a_hidden_tab(console: Console) -> None:
    grow(console, 10)
    tail: Iterator[Any] = asked(console, "/api/topics/{topic}/tail", cursor="0:8")
    event = next(tail)
    tail.close()
    assert [one["offset"] for one in event["records"]] == [8, 9]
    assert (event["resumed"], event["cursor"]) == (2, "0:10")
    with pytest.raises(BadAsk, match="cursor 8 is not valid"):
        asked(console, "/api/topics/{topic}/tail", cursor="8")


def test_a_tail_that_passes_records_without_a_match_says_how_far_it_is(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(console, 3, 3, 10)
    monkeypatch.setattr(tail_endpoint, "_HEARTBEAT_EVERY_S", 0.0)
    tail: Iterator[Any] = asked(console, "/api/topics/{topic}/tail", q="nothing")
    next(tail)
    assert next(tail) == {"records": [], "dropped": 0, "cursor": "0:10"}
    tail.close()


def test_what_has_a_leader_is_read_and_the_rest_is_named() -> None:
    def unled(*leaders: int) -> Console:
        node = ScriptedNode([fetched] * 9)
        topic = topic_of("t", list(leaders))
        return OneCluster(ScriptedCluster([topic], {"ListOffsetsRequest": offsets_of}, {1: node}))

    page = asked(unled(1, -1), MESSAGES, order="oldest")
    assert [one["offset"] for one in page["records"]] == [3, 4, 5, 6, 7, 8, 9]
    assert page["unled"] == [1]
    (*_, end) = asked(unled(1, -1), "/api/topics/{topic}/search", q="nine")
    assert (end["ended"], end["found"]) == ("end", 1)
    with pytest.raises(Refused, match="no leader for t-1: the file would lack these records"):
        exported(unled(1, -1))
    for path, values in ((MESSAGES, {}), (RECORD, {"offset": "4"})):
        with pytest.raises(Leaderless, match="no leader for t-1"):
            asked(unled(1, -1), path, partition="1", **values)
    tail = asked(unled(1, -1), "/api/topics/{topic}/tail")
    assert next(tail)["cursor"] == "0:10,1:-1"
    tail.close()
    tail = asked(unled(-1, -1, -1, -1), "/api/topics/{topic}/tail")
    assert next(tail)["waiting"] == "no leader for t-0, t-1, t-2 and 1 more"
    tail.close()


def test_a_tail_has_the_records_that_match(console: Console) -> None:
    grow(console, 3, 3, 10)
    tail: Iterator[Any] = asked(console, "/api/topics/{topic}/tail", q="i", parts="value")
    assert next(tail)["cursor"] == "0:3"
    assert [one["offset"] for one in next(tail)["records"]] == [5, 8, 9]
    tail.close()
    grow(console, 3, 3, 10)
    tail = asked(console, "/api/topics/{topic}/tail", q="ni", filter="offset > 8")
    next(tail)
    (record,) = next(tail)["records"]
    assert (record["offset"], record["match"]["texts"]) == (9, ["ni"])
    tail.close()
    for values in ({"q": "i", "parts": "other"}, {"filter": "value ="}):
        with pytest.raises(BadAsk):
            asked(console, "/api/topics/{topic}/tail", **values)


def test_a_record_and_its_batch(console: Console) -> None:
    found = asked(
        console, "/api/topics/{topic}/records/{partition}/{offset}", partition="0", offset="7"
    )
    assert found["record"]["value"] == {"text": "x" * 5000, "size": 5000}
    assert (found["batch"]["base_offset"], found["batch"]["records"]) == (3, 7)
    assert (found["previous"], found["next"], found["missing"]) == (6, 8, None)
    with pytest.raises(BadAsk, match="the topic has no partition 9"):
        asked(
            console, "/api/topics/{topic}/records/{partition}/{offset}", partition="9", offset="7"
        )
