"""The shell around a node, on real sockets: start, answer, stop, and what stops a start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from signal import SIGTERM
from types import SimpleNamespace
from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import BlockingClient
from broker.node.control.lifecycle import BrokerLifecycle
from broker.process import node_sockets, port_holder
from broker.process import server as process_server
from broker.process.server import CLIENTS_QUIET_S, Server, _serve
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.tools.waiting import LIMIT_S, wait_until_async
from tests.unit.broker.network.server.virtual_time import VirtualTime
from tests.unit.broker.process.server_fixture import config


async def until(holds: Callable[[], bool]) -> None:
    await wait_until_async(holds, "what the server is to do", pause_s=0.001)


async def ask(port: int, request: Any, version: int) -> Any:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(encode_request(request, version, 1, "test"))
    size = int.from_bytes(await reader.readexactly(4), "big")
    frame = memoryview(await reader.readexactly(size))
    writer.close()
    await writer.wait_closed()
    return decode_response(ApiKey(request.API_KEY), frame, version)[1]


async def test_a_server_advertises_the_port_it_bound_and_answers_on_it(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    assert (endpoint.host, endpoint.listener_name) == ("127.0.0.1", "PLAINTEXT")
    assert endpoint.port == server.sockets.ports["PLAINTEXT"] != 0
    assert (await ask(endpoint.port, ApiVersionsRequest("t", "1"), 3)).error_code == 0
    (broker,) = (await ask(endpoint.port, MetadataRequest(topics=[]), 9)).brokers
    assert (broker.host, broker.port) == (endpoint.host, endpoint.port)
    await server.stop()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


async def test_each_listener_has_its_own_address_and_advertises_its_own(tmp_path: Path) -> None:
    listeners = "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    settings = {
        "listeners": listeners,
        "advertised.listeners": "INSIDE://inside.example:1,OUTSIDE://outside.example:2",
        "listener.security.protocol.map": (
            "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "INSIDE",
    }
    server = Server(config(tmp_path, **settings))
    said = [(one.host, one.port) for one in await server.start()]
    assert said == [("inside.example", 1), ("outside.example", 2)]
    told = {}
    for name, port in server.sockets.ports.items():
        (broker,) = (await ask(port, MetadataRequest(topics=[]), 12)).brokers
        told[name] = (broker.host, broker.port)
    assert told == {"INSIDE": ("inside.example", 1), "OUTSIDE": ("outside.example", 2)}
    await server.stop()


async def change(port: int, **texts: str) -> list[tuple[int, str | None]]:
    """Set dynamic configs of node 1."""
    configs = [AlterableConfig(key.replace("_", "."), 0, text) for key, text in texts.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(4, "1", configs)])
    answer = await ask(port, request, 1)
    return [(one.error_code, one.error_message) for one in answer.responses]


async def changed_as_asked(server: Server) -> None:
    await until(lambda: server.io_pool.size == 10)
    assert server.background_pool.size == 12
    assert server.cleaner._pool.size == 2
    assert server.node.logs._settings.num_recovery_threads_per_data_dir == 3
    rules = server.node.shared.environment.producers
    assert (rules.expiration_ms, rules.verifies) == (5000, False)
    assert server.sockets is not None
    (acceptor,) = server.sockets.acceptors
    assert len(acceptor.processors) == 4
    quotas = server.sockets.quotas
    assert quotas.max_connections == 50
    await until(lambda: quotas.max_connections_per_ip == 40)
    assert quotas.limits_rate("PLAINTEXT")


async def test_configs_change_while_it_runs_and_stay_over_a_restart(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    changed = {
        "num_io_threads": "10",
        "background_threads": "12",
        "num_network_threads": "4",
        "log_cleaner_threads": "2",
        "num_recovery_threads_per_data_dir": "3",
        "producer_id_expiration_ms": "5000",
        "transaction_partition_verification_enable": "false",
        "max_connections": "50",
        "max_connections_per_ip": "40",
        "listener_name_plaintext_max_connection_creation_rate": "60",
    }
    assert await change(endpoint.port, **changed) == [(0, None)]
    await changed_as_asked(server)
    await server.stop()
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    await changed_as_asked(server)
    ((code, text),) = await change(endpoint.port, num_io_threads="21")
    assert code == 42
    assert "double the current value 10" in (text or "")
    await server.stop()


async def test_an_address_that_connects_too_often_is_sent_away(tmp_path: Path) -> None:
    """Its connection is taken, and closed after a while without an answer."""
    server = Server(config(tmp_path, **{"quota.window.num": "2"}))
    (endpoint,) = await server.start()
    quotas = server.node.shared.quotas
    quotas.apply_image({(("ip", "127.0.0.1"),): {"connection_creation_rate": 2.0}})
    # All three are there when the server looks: it takes them in one turn.
    waiting = [socket.create_connection(("127.0.0.1", endpoint.port)) for _ in range(3)]
    made = [await asyncio.open_connection(sock=one) for one in waiting]
    async with asyncio.timeout(LIMIT_S):
        with contextlib.suppress(ConnectionError):
            assert await made[2][0].read() == b""
    quotas.apply_image({})
    made.append(await asyncio.open_connection("127.0.0.1", endpoint.port))
    assert not made[3][0].at_eof()
    for _, writer in made:
        writer.close()
    await server.stop()


async def test_a_stop_answers_parked_requests_first(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    port = endpoint.port
    await ask(port, MetadataRequest([MetadataRequestTopic(name="t")]), 9)
    replicas = server.node.broker.parts.replicas
    await until(lambda: replicas.partition("t", 0) is not None)
    wanted = FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=100)])
    poll = FetchRequest(max_wait_ms=3_600_000, min_bytes=1, max_bytes=100, topics=[wanted])
    asked = asyncio.create_task(ask(port, poll, 11))
    await until(lambda: len(replicas.fetch_purgatory) > 0)
    async with asyncio.timeout(LIMIT_S):
        await server.stop()
    assert (await asked).responses[0].partitions[0].error_code == 0


async def test_a_broker_with_others_serves_on_until_its_clients_are_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    question = encode_request(MetadataRequest(topics=[]), 9, 1, "test")

    async def answered() -> None:
        writer.write(question)
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

    await answered()
    monkeypatch.setattr(server.node.broker, "others_may_lead", lambda: True)
    monkeypatch.setattr(server.node.broker, "hand_over", lambda done: done())
    assert server.sockets is not None
    clock = VirtualTime(server.sockets, monkeypatch)
    pauses_s: list[float] = []

    async def sleep(seconds: float) -> None:
        """Let the client ask in the midst of each of the first four pauses, which are a little
        longer than they should be."""
        pauses_s.append(seconds)
        clock.run_for(seconds * 500 + 1)
        if len(pauses_s) <= 4:
            await answered()
        clock.run_for(seconds * 500)

    of_server = SimpleNamespace(**{**vars(asyncio), "sleep": sleep})
    monkeypatch.setattr(process_server, "asyncio", of_server)
    monkeypatch.setattr(process_server, "time", SimpleNamespace(monotonic=clock.seconds))
    await answered()
    await server.stop()
    assert len(pauses_s) == 5 and pauses_s[0] == pytest.approx(CLIENTS_QUIET_S)
    assert await reader.read() == b""
    writer.close()


async def test_no_client_keeps_a_broker_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.process.server.CLIENTS_LEAVE_S", 0.3)
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    monkeypatch.setattr(server.node.broker, "others_may_lead", lambda: True)
    monkeypatch.setattr(server.node.broker, "hand_over", lambda done: done())

    answered = asyncio.Event()
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    question = encode_request(MetadataRequest(topics=[]), 9, 1, "test")

    async def ask_on() -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                writer.write(question)
                await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
                answered.set()

    asking = asyncio.create_task(ask_on())
    async with asyncio.timeout(LIMIT_S):
        await answered.wait()
        await server.stop()
        await asking
    writer.close()


async def test_a_port_in_use_stops_the_start_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = Server(config(tmp_path, taken.getsockname()[1]))
        with pytest.raises(StartError, match="is another broker running"):
            await server.start()
        await server.stop()


async def test_a_port_of_root_stops_the_start_with_the_way_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bind(*_: object) -> None:
        raise PermissionError(13, "cannot listen on PLAINTEXT://localhost:80")

    monkeypatch.setattr(node_sockets, "bind", bind)
    with pytest.raises(StartError, match="localhost:80; .* needs root.* --port PORT$"):
        await node_sockets.check_listeners(config(tmp_path, 80))


async def test_who_has_a_port_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_holder, "holder_of_port", lambda port: f"process 7 (on {port})")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(config(tmp_path, port))
        with pytest.raises(StartError, match=rf"it is held by process 7 \(on {port}\)\. For"):
            await server.start()
        await server.stop()


async def test_of_two_ports_that_are_taken_the_one_that_stopped_the_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller's is bound first, wherever `listeners` has it."""
    monkeypatch.setattr(port_holder, "holder_of_port", lambda port: f"process 7 (on {port})")
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        broker, controller = one.getsockname()[1], two.getsockname()[1]
        listeners = f"PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}"
        server = Server(config(tmp_path, listeners=listeners))
        text = (
            rf"CONTROLLER://127.0.0.1:{controller} .* held by process 7 \(on {controller}\)\. For"
        )
        with pytest.raises(StartError, match=text):
            await server.start()
        await server.stop()


async def test_a_controller_registers_where_it_is_advertised(tmp_path: Path) -> None:
    places = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://outside:19093",
        "controller.quorum.voters": "1@127.0.0.1:9093",
    }
    server = Server(config(tmp_path, **places))
    registered = asyncio.Event()
    server.node.controller.add_listener(
        lambda _delta, image: registered.set() if image.controllers else None
    )
    await server.start()
    async with asyncio.timeout(LIMIT_S):
        await registered.wait()
    endpoint = server.node.image.controllers[1].endpoints["CONTROLLER"]
    assert (endpoint.host, endpoint.port) == ("outside", 19093)
    await server.stop()


async def test_a_folder_in_use_stops_the_start(tmp_path: Path) -> None:
    first = Server(config(tmp_path))
    await first.start()
    with pytest.raises(StartError, match="another process is using this directory"):
        Server(config(tmp_path))
    await first.stop()


async def test_metadata_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    await server.start()
    await server.stop()
    (tmp_path / "__cluster_metadata-0" / "quorum-state").write_text("{")
    with pytest.raises(StartError, match="quorum-state is damaged"):
        Server(config(tmp_path))


async def test_metrics_are_served_on_a_port_of_their_own(tmp_path: Path) -> None:
    server = Server(config(tmp_path, **{"ottla.metrics.port": "0"}))
    (endpoint,) = await server.start()
    await ask(endpoint.port, ApiVersionsRequest("t", "1"), 3)
    assert server._metrics_server is not None
    reader, writer = await asyncio.open_connection("localhost", server._metrics_server.port)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert 'kafka_network_requestmetrics_requests_total{request="ApiVersions"} 1.0' in text
    assert "kafka_server_replicamanager_leadercount 0.0" in text
    await server.stop()


async def test_metrics_have_the_names_that_are_asked_for(tmp_path: Path) -> None:
    keys = {"ottla.metrics.names": "both", "ottla.metrics.internal.topics": "false"}
    server = Server(config(tmp_path, **{"ottla.metrics.port": "0"}, **keys))
    await server.start()
    assert server._metrics_server is not None
    reader, writer = await asyncio.open_connection("localhost", server._metrics_server.port)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    for name in ("raft_metrics_current_epoch", "raftmetrics_current_epoch"):
        assert f"\nkafka_server_{name} " in text
    assert "\nkafka_server_brokertopicmetrics_bytesinpersec 0.0" in text
    shows = server.node.metrics.shows
    assert shows("orders") and not shows("__consumer_offsets")
    await server.stop()


async def test_it_is_ready_between_its_start_and_its_stop(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    assert server.why_not_ready() == "starting"
    await server.start()
    assert server.why_not_ready() is None
    await server.stop()
    assert server.why_not_ready() == "stopping"


BROKER_ONLY = {
    "process.roles": "broker",
    "node.id": "2",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
}


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (BROKER_ONLY, "is not formatted"),
        ({"controller.quorum.voters": "1@h:1,2@h:2"}, "is not formatted"),
        ({"metadata.log.dir": "/proc/nowhere"}, r"/proc/nowhere.* \(metadata.log.dir\)"),
        ({"log.dirs": "/proc/nowhere"}, r"/proc/nowhere.* \(log.dirs\)"),
    ],
)
async def test_a_node_that_could_never_serve_is_refused_in_one_line(
    tmp_path: Path, overrides: dict[str, str], names: str
) -> None:
    with pytest.raises(StartError, match=names):
        Server(config(tmp_path, **overrides))


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        (
            {"listeners": "PLAINTEXT://no.such.host.invalid:0,CONTROLLER://127.0.0.1:0"},
            "no.such.host.invalid:0 \\(listeners\\)",
        ),
        (
            {"max.connections.per.ip.overrides": "no.such.host.invalid:3"},
            "max.connections.per.ip.overrides: no.such.host.invalid",
        ),
    ],
)
async def test_a_host_that_does_not_exist_is_named_with_its_key(
    tmp_path: Path, overrides: dict[str, str], names: str
) -> None:
    server = Server(config(tmp_path, **overrides))
    with pytest.raises(StartError, match=names) as refused:
        await server.start()
    assert "another broker" not in str(refused.value)
    await server.stop()


async def test_a_signal_before_the_node_is_up_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that never ends: the controller does not answer."""
    monkeypatch.setattr(BrokerLifecycle, "register", lambda *_: os.kill(os.getpid(), SIGTERM))
    said: list[object] = []
    async with asyncio.timeout(LIMIT_S):
        await _serve(config(tmp_path), said.append)
    assert said == []
    assert not (tmp_path / ".kafka_cleanshutdown").exists(), "its logs were never opened"
    server = Server(config(tmp_path))  # the folder is free again
    await server.stop()


async def test_a_stop_is_told_once_it_begins(tmp_path: Path) -> None:
    told: list[str] = []

    def ready(_endpoints: object) -> None:
        told.append("ready")
        os.kill(os.getpid(), SIGTERM)

    async with asyncio.timeout(LIMIT_S):
        await _serve(
            config(tmp_path),
            ready,
            lambda: told.append("stopping"),
            lambda *_: told.append("found something"),
        )
    assert told == ["ready", "stopping"]


async def test_a_start_tells_what_the_one_before_has_left(tmp_path: Path) -> None:
    server = Server(config(tmp_path))
    (endpoint,) = await server.start()
    topics = CreateTopicsRequest([CreatableTopic(name, 2, 1) for name in ("a", "b")])

    def create() -> None:
        with BlockingClient("127.0.0.1", endpoint.port, LIMIT_S) as client:
            client.call(topics)

    await asyncio.to_thread(create)
    assert server.node.broker is not None
    logs = server.node.broker.logs
    await until(lambda: len(logs.logs) == 4)
    await server.stop()
    found: list[tuple[int, int]] = []

    def ready(_endpoints: object) -> None:
        os.kill(os.getpid(), SIGTERM)

    async with asyncio.timeout(LIMIT_S):
        await _serve(config(tmp_path), ready, on_found=lambda *one: found.append(one))
    assert found == [(2, 0)]
