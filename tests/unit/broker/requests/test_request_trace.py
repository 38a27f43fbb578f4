"""What a trace keeps of a request, and that this has an end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from broker.requests.request_trace import (
    CLIENT_ID_MAX,
    STATIONS_MAX,
    RequestTrace,
    StationName,
)
from storage.log.file_records import FileRecords
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.requests.trace_fixture import asks, traced, tracer


def stations(trace: RequestTrace) -> list[tuple[str, float]]:
    return [(one["name"], one["at_s"]) for one in trace.report()["stations"]]


def test_stations_are_told_in_the_order_of_their_times_whoever_told_first() -> None:
    trace = traced(tracer())
    trace.came(90.0, 95.0)
    trace.waits("Produce", 1000)
    trace.woken(expired=False)
    trace.answered(101.5, 104.0, leaves=True)
    trace.sent(105.0, 106.0)
    assert stations(trace) == [
        ("received", 90.0),
        ("taken", 95.0),
        ("decoded", 101.0),
        ("handled", 101.5),
        ("waits", 102.0),
        ("woken", 103.0),
        ("answered", 104.0),
        ("sending", 105.0),
        ("sent", 106.0),
    ]
    assert trace.report()["over"]


def test_one_that_is_answered_during_its_call_has_no_station_for_its_return() -> None:
    trace = traced(tracer())
    trace.came(90.0, None)
    trace.answered(103.0, 103.0, leaves=False)
    assert [name for name, _ in stations(trace)] == ["received", "taken", "decoded", "answered"]
    assert trace.is_over


def test_it_has_an_end_and_says_what_it_left_out() -> None:
    trace = traced(tracer(), asks("ottla-trace-" + "x" * 1000))
    for _ in range(STATIONS_MAX + 3):
        trace.add(StationName.READ)
    told = trace.report()
    assert (len(told["stations"]), told["left_out"]) == (STATIONS_MAX, 3)
    assert len(told["client_id"]) == CLIENT_ID_MAX
    json.dumps(told)


def test_each_change_has_a_revision_of_its_own() -> None:
    keeper = tracer()
    one, other = traced(keeper), traced(keeper)
    one.add(StationName.DECODED)
    assert keeper.changes_since(0) == [one]
    seen = keeper.revision
    assert keeper.changes_since(seen) == []
    other.add(StationName.DECODED)
    assert keeper.changes_since(seen) == [other]


def test_an_append_has_its_place_in_the_segment_and_the_time_since_it_began(
    tmp_path: Path,
) -> None:
    keeper, replicas = tracer(), Replicas(str(tmp_path))
    partition = replicas.create("t")
    replicas.append("t", b"before")
    size = partition.log.active.size
    trace = traced(keeper)
    trace.begins()
    batch = replicas.batch(b"a", b"b")
    info: Any = partition.append_as_leader(batch, 1, replicas.scheduler.wall_ms(), trace=trace)
    (appended, committed) = trace.report()["stations"]
    assert appended == {
        "name": "appended",
        "at_s": 102.0,
        "since_s": 101.0,
        "topic": "t",
        "partition": 0,
        "first_offset": 1,
        "last_offset": 2,
        "leader_epoch": partition.leader_epoch,
        "bytes": len(batch),
        "segment": 0,
        "position": size,
    }
    assert (committed["name"], committed["offset"]) == ("high_watermark", 3)
    assert info.first_offset == 1 and partition.append_tracker is None


def test_a_producer_that_tries_again_has_no_second_place(tmp_path: Path) -> None:
    keeper, replicas = tracer(), Replicas(str(tmp_path))
    partition = replicas.create("t")
    how: dict[str, object] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    now_ms = replicas.scheduler.wall_ms()
    partition.append_as_leader(replicas.batch(b"a", **how), 1, now_ms)
    trace = traced(keeper)
    partition.append_as_leader(replicas.batch(b"a", **how), 1, now_ms, trace=trace)
    (appended,) = trace.report()["stations"]
    assert appended["duplicate"] and "position" not in appended
    assert not len(keeper.appends)


def test_a_slice_says_where_it_lies_and_how_it_leaves(tmp_path: Path) -> None:
    keeper, replicas = tracer(), Replicas(str(tmp_path))
    partition = replicas.create("t")
    replicas.append("t", b"a")
    replicas.append("t", b"b")
    read = partition.read(1, 1000, 0, True)
    assert isinstance(read.records, FileRecords)
    for protocol, plain in (("SASL_PLAINTEXT", True), ("SASL_SSL", False)):
        trace = traced(keeper, asks(protocol=protocol))
        trace.read(partition, 1, read.records, 2, (1.0, 2.0))
        (station,) = trace.report()["stations"]
        assert (station["since_s"], station["at_s"], station["segment"]) == (1.0, 2.0, 0)
        assert station["position"] == read.records.position > 0
        assert station["way"] == f"{read.size} {plain}"
    trace.read(partition, 2, b"", 2, (1.0, 2.0))
    assert "way" not in trace.report()["stations"][1]
