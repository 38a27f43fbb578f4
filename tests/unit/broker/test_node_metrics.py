from __future__ import annotations

from pathlib import Path

from broker.metrics import Labels
from broker.server import Server
from tests.unit.broker.test_server import config


async def test_values_are_read_from_their_owners_when_asked(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "2"}))
    await server.start()
    families = {f.name: f for f in server.node.metrics.families()}
    network = families["kafka_server_socket_server_metrics_connection_count"]
    assert [labels for labels, _ in network.samples] == [
        {"networkProcessor": "0"},
        {"networkProcessor": "1"},
    ]
    counted: dict[str, float] = {}
    for labels, value in families["kafka_network_requestmetrics_requests"].samples:
        named: Labels = labels
        counted[named["request"]] = value
    assert counted["Fetch"] == 0
    server.node.broker.requests.metrics[1].requests += 3
    again = {f.name: f for f in server.node.metrics.families()}
    samples = again["kafka_network_requestmetrics_requests"].samples
    assert ({"request": "Fetch"}, 3.0) in samples
    waiting = families["kafka_server_delayedoperationpurgatory_purgatorysize"].samples
    assert ({"delayedOperation": "Fetch"}, 0.0) in waiting
    assert ({"request": "OffsetForLeaderEpoch"}, 0.0) in samples
    assert families["kafka_controller_kafkacontroller_activecontrollercount"].samples == (({}, 1),)
    await server.stop()
