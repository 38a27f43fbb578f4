"""Who is traced, and that nobody else pays for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.requests.tracer import (
    CLIENT_PREFIX,
    COPIES_MAX,
    TRACES_MAX,
    FollowerFetchTimes,
    Tracer,
)
from protocol.api_keys import ApiKey
from tests.unit.broker.apis.produce.produce_fixture import Broker, Client, batch, request
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.requests.trace_fixture import Clock, asks, traced, tracer


@pytest.mark.parametrize(
    ("client_id", "api", "is_traced"),
    [
        ("ottla-trace-me", ApiKey.PRODUCE, True),
        ("ottla-trace-", ApiKey.FETCH, True),
        ("ottla-trace", ApiKey.PRODUCE, False),
        ("my-ottla-trace-me", ApiKey.PRODUCE, False),
        (None, ApiKey.FETCH, False),
        ("ottla-trace-me", ApiKey.METADATA, False),
    ],
)
def test_who_is_traced(client_id: str | None, api: ApiKey, is_traced: bool) -> None:
    context = asks()
    context.api_key, context.client_id = int(api), client_id
    assert (tracer().request(context, 9, None) is not None) == is_traced


def test_a_fetch_is_told_of_once_it_gives_records() -> None:
    keeper, context = tracer(), asks()
    context.api_key = int(ApiKey.FETCH)
    trace = traced(keeper, context)
    trace.waits("Fetch", 500)
    assert keeper.changes_since(0) == []
    trace.keep()
    assert keeper.changes_since(0) == [trace]


def test_the_last_ones_are_kept(tmp_path: Path) -> None:
    keeper = tracer()
    traces = [traced(keeper) for _ in range(TRACES_MAX + 2)]
    for one in traces:
        one.begins()
        one.woken(expired=False)
    assert keeper.changes_since(0) == traces[2:]
    partition = Replicas(str(tmp_path)).create("t")
    for offset in range(COPIES_MAX + 1):
        keeper.record_copy(partition, offset, FollowerFetchTimes(2, 1.0, 2.0))
    copies = [one.report() for one in keeper.changes_since(traces[-1].revision)]
    assert [one["first_offset"] for one in copies] == list(range(1, COPIES_MAX + 1))
    assert copies[-1]["revision"] == keeper.revision
    assert (copies[0]["kind"], copies[0]["leader"], copies[0]["topic"]) == ("copy", 2, "t")


def test_who_is_traced_goes_the_general_way_each_time_and_others_theirs(tmp_path: Path) -> None:
    broker = Broker(tmp_path, prepares=True)
    broker.replicas.create("t")
    keeper = Tracer(Clock(), lambda: 0, lambda *_: "")
    broker.handler.trace_by(keeper)
    client, other = Client(broker), Client(broker)
    for _ in range(3):
        client.send(request(batch(client), client_id=CLIENT_PREFIX + "x"))
        other.send(request(batch(other)))
    assert client.at_once == [False] * 3
    assert other.at_once == [False, True, True]
    names = [
        [one["name"] for one in trace.report()["stations"]] for trace in keeper.changes_since(0)
    ]
    assert names == [["appended", "high_watermark"]] * 3
    assert [trace.report()["bytes"] > 60 for trace in keeper.changes_since(0)] == [True] * 3


def test_without_a_tracer_nobody_is(tmp_path: Path) -> None:
    broker = Broker(tmp_path, prepares=True)
    broker.replicas.create("t")
    client = Client(broker)
    for _ in range(2):
        client.send(request(batch(client), client_id=CLIENT_PREFIX + "x"))
    assert client.at_once == [False, True]
