"""A start as an operation."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

import pytest

from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.testing.as_new import AsNew
from broker.testing.operations import lifecycle
from broker.testing.served import Served
from controller.metadata.image import MetadataImage


class Broker:
    def __init__(self) -> None:
        self.started: list[tuple[BrokerConfig, bool, float]] = []
        self.as_new = AsNew.of(MetadataImage(features={"f": 1}))

    async def start(
        self, config: BrokerConfig, *, durable: bool, ahead_ms: float, as_new: AsNew | None
    ) -> int:
        self.started.append((config, durable, ahead_ms))
        self.as_new = as_new or self.as_new
        return 9092


@pytest.fixture(autouse=True)
def formatted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(lifecycle, "configure_logging", lambda level, style: None)
    monkeypatch.setattr(lifecycle, "format_folders", lambda config, name: found.append(name))
    return found


async def test_start(formatted: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    broker = Broker()
    told = await lifecycle.start(
        cast(Served, broker), {"properties": {"num.partitions": "3"}, "cluster_id": None}
    )
    as_new = told.pop("as_new")
    assert told == {"port": 9092, "node_id": 1, "pid": os.getpid()}
    assert as_new["features"] == {"f": 1}
    again = {"properties": {}, "as_new": {**as_new, "features": {"f": 2}}}
    assert (await lifecycle.start(cast(Served, Broker()), again))["as_new"] == again["as_new"]
    ((config, durable, ahead_ms),) = broker.started
    assert config.num_partitions == 3 and not durable and formatted == [] and ahead_ms == 0
    assert "is ready: connect to port 9092" in capsys.readouterr().out


async def test_a_node_of_several_is_formatted_for_its_cluster(formatted: list[str]) -> None:
    broker = Broker()
    args = {
        "properties": {"node.id": "2"},
        "cluster_id": "the cluster",
        "durable": True,
        "ahead_ms": 5,
    }
    await lifecycle.start(cast(Served, broker), args)
    assert formatted == ["the cluster"] and broker.started[0][1:] == (True, 5.0)


@pytest.mark.parametrize(
    ("args", "partitions"),
    [
        ({}, (1, 1)),
        ({"cluster_id": "the cluster"}, (3, 3)),
        ({"durable": True}, (50, 50)),
        ({"properties": {"offsets.topic.num.partitions": "7"}}, (7, 1)),
    ],
)
async def test_internal_topics_are_small_where_the_data_go_with_the_test(
    args: dict[str, object], partitions: tuple[int, int]
) -> None:
    broker = Broker()
    await lifecycle.start(cast(Served, broker), {"properties": {}, **args})
    ((config, _, _),) = broker.started
    found = config.offsets_topic_num_partitions, config.transaction_state_log_num_partitions
    assert found == partitions


async def test_a_wrong_key_is_a_line() -> None:
    with pytest.raises(StartError, match="did you mean num.partitions"):
        await lifecycle.start(cast(Served, Broker()), {"properties": {"num.partions": "3"}})


async def test_it_stands_where_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.chdir(".")
    place = {"folder": str(tmp_path), "environment": {}, "path": ["/of/the/tests"]}
    await lifecycle.start(cast(Served, Broker()), {"properties": {}, "place": place})
    assert Path.cwd() == tmp_path and sys.path[-1] == "/of/the/tests" and os.environ == {}


async def test_ping() -> None:
    assert await lifecycle.ping(cast(Served, Broker()), {}) == {"pid": os.getpid()}
