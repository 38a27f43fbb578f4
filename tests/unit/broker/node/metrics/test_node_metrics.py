from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from broker.config.parse import parse_config
from broker.metrics import Labels
from broker.process.formatting import format_folders
from broker.process.server import Server
from broker.quotas.client_quota_manager import QuotaKind
from protocol.messages import metadata_records as m
from tests.unit.broker.process.server_fixture import config
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records


async def test_values_are_read_from_their_owners_when_asked(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "2"}))
    await server.start()
    families = {f.name: f for f in server.node.metrics.families()}
    network = families["kafka_server_socket_server_metrics_connection_count"]
    assert [labels for labels, _ in network.samples] == [
        {"listener": "PLAINTEXT", "networkProcessor": "0"},
        {"listener": "PLAINTEXT", "networkProcessor": "1"},
    ]
    counted: dict[str, float] = {}
    for labels, value in families["kafka_network_requestmetrics_requests"].samples:
        named: Labels = labels
        counted[named["request"]] = value
    assert counted["Fetch"] == 0
    server.node.broker.requests.metrics[1].requests += 3
    server.node.broker.parts.groups.metrics.committed(3)
    again = {f.name: f for f in server.node.metrics.families()}
    samples = again["kafka_network_requestmetrics_requests"].samples
    assert ({"request": "Fetch"}, 3.0) in samples
    commits = again["kafka_server_group_coordinator_metrics_offset_commit"]
    assert commits.samples == (({}, 3.0),)
    by_protocol = again["kafka_server_group_coordinator_metrics_group_count"]
    assert by_protocol.samples == tuple(
        ({"protocol": protocol}, 0.0) for protocol in ("classic", "consumer", "share")
    )
    waiting = families["kafka_server_delayedoperationpurgatory_purgatorysize"].samples
    assert ({"delayedOperation": "Fetch"}, 0.0) in waiting
    assert ({"request": "OffsetForLeaderEpoch"}, 0.0) in samples
    assert families["kafka_controller_kafkacontroller_activecontrollercount"].samples == (({}, 1),)
    for name, value in (
        ("kafka_controller_kafkacontroller_offlinepartitionscount", 0),
        ("kafka_controller_kafkacontroller_preferredreplicaimbalancecount", 0),
        ("kafka_controller_kafkacontroller_activebrokercount", 1),
        ("kafka_controller_kafkacontroller_fencedbrokercount", 0),
        ("kafka_server_raft_metrics_current_leader", 1),
        ("kafka_server_raft_metrics_current_epoch", 1),
        ("kafka_server_replicamanager_isrshrinks", 0),
        ("kafka_server_replicamanager_isrexpands", 0),
        ("kafka_server_replicamanager_failedisrupdates", 0),
        ("kafka_server_replicamanager_offlinereplicacount", 0),
        ("kafka_controller_controllerstats_uncleanleaderelections", 0),
    ):
        assert families[name].samples == (({}, value),), name
    assert families["kafka_server_raft_metrics_high_watermark"].samples[0][1] > 0
    await server.stop()


async def test_connections_and_what_limits_them_are_counted(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"max.connections.per.ip": "1", "num.network.threads": "1"}))
    (endpoint,) = await server.start()
    _, first = await asyncio.open_connection("127.0.0.1", endpoint.port)
    refused, second = await asyncio.open_connection("127.0.0.1", endpoint.port)
    with contextlib.suppress(ConnectionError):
        assert await refused.read(1) == b""
    assert server.sockets is not None
    server.sockets.processors[0].expired += 1
    values = {f.name: f.samples for f in server.node.metrics.families()}
    name, labels = "kafka_server_socket_server_metrics", {"listener": "PLAINTEXT"}
    of_processor = {**labels, "networkProcessor": "0"}
    assert values[f"{name}_connection_count"] == ((of_processor, 1),)
    assert values[f"{name}_connection_creation"] == ((of_processor, 1),)
    assert values[f"{name}_connection_close"] == ((of_processor, 0),)
    assert values[f"{name}_expired_connections_killed_count"] == ((of_processor, 1),)
    assert values[f"{name}_throttled_connections"] == (({}, 0),)
    limited = {told["limit"]: value for told, value in values[f"{name}_connections_limited"]}
    assert limited == {
        "max.connections": 0,
        "max.connections.per.ip": 1,
        "max.connection.creation.rate": 0,
        "connection_creation_rate": 0,
    }
    unsent = values["kafka_network_requestchannel_responsequeuesize"]
    assert unsent == (({}, 0), ({"processor": "0"}, 0))
    first.close()
    second.close()
    await server.stop()


async def test_clients_software_their_bytes_and_who_is_muted_are_shown(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "1"}))
    (endpoint,) = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    asked = bytes([0, 18, 0, 0, 0, 0, 0, 7, 255, 255])  # ApiVersions v0
    writer.write(len(asked).to_bytes(4) + asked)
    size = int.from_bytes(await reader.readexactly(4))
    await reader.readexactly(size)
    assert server.sockets is not None
    (connection,) = server.sockets.processors[0].connections()
    connection.context.runs_on("a-client", "1.2")
    connection.core.mark_in_progress()
    connection.core.answered(None, True)
    values = {f.name: f.samples for f in server.node.metrics.families()}
    name = "kafka_server_socket_server_metrics"
    labels = {"listener": "PLAINTEXT", "networkProcessor": "0"}
    assert values[f"{name}_incoming_byte"] == ((labels, 4 + len(asked)),)
    assert values[f"{name}_outgoing_byte"] == ((labels, 4 + size),)
    assert values[f"{name}_muted_connections"] == ((labels, 1),)
    software = {"clientSoftwareName": "a-client", "clientSoftwareVersion": "1.2"}
    assert values[f"{name}_connections"] == ((software | labels, 1),)
    writer.close()
    await server.stop()


async def test_a_controller_alone_shows_its_listener(tmp_path: Path) -> None:
    keys = {
        "process.roles": "controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "listeners": "CONTROLLER://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "num.network.threads": "1",
    }
    format_folders(parse_config(keys), "jk6M3w4xSRu0i0cJm8WJpw")
    server = Server(parse_config(keys))
    await server.start()
    values = {f.name: f.samples for f in server.node.metrics.families()}
    of_processor = {"listener": "CONTROLLER", "networkProcessor": "0"}
    name = "kafka_server_socket_server_metrics_connection_count"
    assert values[name] == ((of_processor, 0),)
    blocked = values["kafka_network_acceptor_acceptorblockedpercent"]
    assert blocked == (({"listener": "CONTROLLER"}, 0),)
    asked = {told["request"] for told, _ in values["kafka_network_requestmetrics_requests"]}
    assert "BrokerHeartbeat" in asked and "Produce" not in asked
    await server.stop()


async def test_shares_are_between_nothing_and_all(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"num.network.threads": "2", "num.io.threads": "2"}))
    await server.start()
    assert server.sockets is not None
    values = {f.name: f.samples for f in server.node.metrics.families()}
    (handlers,) = values["kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent"]
    (loop,) = values["kafka_network_socketserver_networkprocessoravgidlepercent"]
    assert 0 < handlers[1] <= 1
    assert 0 <= loop[1] <= 1
    each = values["kafka_network_processor_idlepercent"]
    assert [labels for labels, _ in each] == [{"networkProcessor": str(n)} for n in range(2)]
    (blocked,) = values["kafka_network_acceptor_acceptorblockedpercent"]
    assert blocked == ({"listener": "PLAINTEXT"}, 0)
    used_s = server.sockets.busy_s
    while server.sockets.busy_s == used_s:
        pass
    await server.stop()


async def test_partitions_without_a_leader_or_their_first_replica_are_counted(
    tmp_path: Path,
) -> None:
    server = Server(config(tmp_path))
    await server.start()
    node = server.node
    made = image_of(
        broker_record(1),
        broker_record(2, fenced=True),
        *topic_records("t", bytes(16), [1, 2], [2, 1], [2, 1]),
        m.PartitionChangeRecord(0, bytes(16), leader=-1),
        m.PartitionChangeRecord(1, bytes(16), leader=1),
    )
    before, node.controller.loader.image = node.image, made
    values = {f.name: f.samples[0][1] for f in node.metrics.families() if f.samples}
    name = "kafka_controller_kafkacontroller"
    assert values[f"{name}_offlinepartitionscount"] == 1
    assert values[f"{name}_preferredreplicaimbalancecount"] == 2
    assert (values[f"{name}_activebrokercount"], values[f"{name}_fencedbrokercount"]) == (1, 1)
    node.controller.loader.image = before
    await server.stop()


async def test_unclean_elections_are_heard_of(tmp_path: Path) -> None:
    node = Server(config(tmp_path)).node
    records = topic_records("t", bytes(16), [2, 3], isr=[2])
    unclean = m.PartitionChangeRecord(0, bytes(16), leader=3, isr=[3], leader_recovery_state=1)
    for offset, image in enumerate((image_of(*records), image_of(*records, unclean))):
        node.controller.loader.load_snapshot(image)
        families = {family.name: family for family in node.metrics.families()}
        name = "kafka_controller_controllerstats_uncleanleaderelections"
        assert families[name].samples == (({}, offset),)


async def test_clients_with_a_quota_are_shown_with_kafkas_tags(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    await server.start()
    quotas = server.node.shared.quotas
    quotas.apply_image({(("user", "alice"),): {"producer_byte_rate": 100.0}})
    manager = quotas.managers[QuotaKind.PRODUCE]
    manager.record("User:alice", "c", 1000, quotas.now_ms())
    manager.throttled("User:alice", "c", 250, quotas.now_ms())
    families = {f.name: f for f in server.node.metrics.families()}
    tags = {"user": "alice", "client_id": ""}
    ((labels, wait_ms),) = families["kafka_server_produce_throttle_time"].samples
    assert labels == tags
    assert wait_ms == pytest.approx(250)
    ((labels, rate),) = families["kafka_server_produce_byte_rate"].samples
    assert labels == tags
    assert 90 < rate <= 100
    for name in (
        "kafka_server_fetch_byte_rate",
        "kafka_server_request_request_time",
        "kafka_server_controllermutation_tokens",
        "kafka_server_controllermutation_throttle_time",
    ):
        assert families[name].samples == (), name
    await server.stop()
