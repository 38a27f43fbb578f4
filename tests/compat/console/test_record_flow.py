"""One real broker, one record with acks=all and a consumer that waits for it: their stations, in
order, with times that do not go back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from client.cluster import ClusterClient
from console.flow import sending
from console.flow.sending import RecordToSend, send
from console.flow.trace_reader import NodeTraces, ask

DEADLINE_S = 60
WAIT_MS = 30_000
"""How long the consumer waits at most: longer than a busy machine takes to write a record."""


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_a_record_flows(
    ottla_broker_factory: Callable[..., Any], acks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "WAIT_MS", WAIT_MS)
    broker = ottla_broker_factory(properties={"ottla.trace.requests": "true"})
    broker.topic("flows", configs={"cleanup.policy": "compact"})
    (topic,) = _topics(broker.bootstrap_servers)
    began_s = time.monotonic()

    def connect(client_id: str) -> ClusterClient:
        return ClusterClient(broker.bootstrap_servers, None, DEADLINE_S, client_id)

    record = RecordToSend(topic, 0, acks, b"hello")
    for offset in range(2):
        sent = send(connect, record, int(time.time() * 1000))
        assert (sent.offset, sent.leader, sent.consumed) == (offset, 1, True)
    told = _all_over(str(broker.data_dir), 4)
    ended_s = time.monotonic()
    for api, stations in ((one["api"], one["stations"]) for one in told.traces):
        times = [one["at_s"] for one in stations]
        assert began_s <= times[0] and times == sorted(times) and times[-1] <= ended_s, api
        assert all(one.get("since_s", times[0]) <= one["at_s"] for one in stations)
    writes = [one["stations"] for one in told.traces if one["api"] == "Produce"]
    leaves = ["answered", "sending", "sent"] if acks else ["answered"]
    for stations in writes:
        names = [one["name"] for one in stations]
        assert names == ["received", "taken", "decoded", "appended", "high_watermark", *leaves]
    first, second = (_station(stations, "appended") for stations in writes)
    assert (first["first_offset"], first["segment"], first["position"]) == (0, 0, 0)
    assert (second["first_offset"], second["position"]) == (1, first["bytes"])
    assert _station(writes[1], "high_watermark")["offset"] == 2
    for stations, write in zip(_reads(told), writes, strict=True):
        _check_read(stations, write)


def _check_read(stations: list[dict[str, Any]], write: list[dict[str, Any]]) -> None:
    """A Fetch that waited for record was written, or came too late to wait."""
    names = [one["name"] for one in stations]
    waited = ["read", "waits", "handled", "woken", "read"] if "waits" in names else ["read"]
    whole = ["received", "taken", "decoded", *waited, "answered", "sending", "sent"]
    assert names == whole
    appended, read = _station(write, "appended"), stations[names.index("answered") - 1]
    assert (read["position"], read["bytes"]) == (appended["position"], appended["bytes"])
    assert read["way"] == "in one call"
    committed_s = _station(write, "high_watermark")["at_s"]
    assert read["at_s"] > committed_s, "consumers see nothing before it is committed"
    if "waits" in names:
        waits, woken = _station(stations, "waits"), _station(stations, "woken")
        assert (waits["purgatory"], waits["longest_ms"]) == ("Fetch", WAIT_MS)
        assert waits["at_s"] < committed_s < woken["at_s"]


def _reads(told: NodeTraces) -> list[list[dict[str, Any]]]:
    return [one["stations"] for one in told.traces if one["api"] == "Fetch"]


def _station(stations: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = [one for one in stations if one["name"] == name]
    return found


def _topics(servers: str) -> list[str]:
    with ClusterClient(servers, None) as cluster:
        return [
            one.name for one in cluster.metadata(None).topics if one.name and "flows" in one.name
        ]


def _all_over(folder: str, count: int) -> NodeTraces:
    """What the broker tells, once so many requests are over."""
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        told = ask(folder)
        if len(told.traces) >= count and all(one["over"] for one in told.traces):
            return told
        assert time.monotonic() < deadline_s, told
        time.sleep(0.02)
