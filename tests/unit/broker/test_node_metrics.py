from __future__ import annotations

from pathlib import Path

from broker.metrics import Labels
from broker.server import Server
from tests.unit.broker.test_server import config


async def test_values_are_read_from_their_owners_when_asked(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "2"}))
    await server.start()
    families = {f.name: f for f in server.node.metrics.families()}
    network = families["kafka_network_processor_connections"]
    assert [labels for labels, _ in network.samples] == [
        {"networkProcessor": "0"},
        {"networkProcessor": "1"},
    ]
    counted: dict[str, float] = {}
    for labels, value in families["kafka_network_requestmetrics_requests"].samples:
        named: Labels = labels
        counted[named["request"]] = value
    assert counted["FETCH"] == 0
    server.node.requests.metrics[1].requests += 3
    again = {f.name: f for f in server.node.metrics.families()}
    samples = again["kafka_network_requestmetrics_requests"].samples
    assert ({"request": "FETCH"}, 3.0) in samples
    assert families["kafka_server_delayedoperationpurgatory_fetch_size"].samples == (({}, 0.0),)
    await server.stop()
