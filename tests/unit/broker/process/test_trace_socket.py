"""The socket of the traces: who may connect, what it tells, and that its file comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from broker.network import socket_calls
from broker.network.socket_calls import address_in
from broker.process import trace_socket
from broker.process.server import Server
from broker.process.trace_socket import (
    LINE_MAX_BYTES,
    READERS_MAX,
    SOCKET_NAME,
    TraceSocket,
)
from broker.requests.request_trace import StationName
from broker.requests.tracer import Tracer
from controller.storage_format import LogDirectories
from tests.tools.waiting import LIMIT_S, wait_until_async
from tests.unit.broker.process.server_fixture import config
from tests.unit.broker.requests.trace_fixture import traced, tracer

HAS_DESCRIPTORS = Path(socket_calls.DESCRIPTORS).is_dir()
STORAGE = LogDirectories("cluster", 3, {})


async def lines(folder: Path, said: bytes = b'{"since": 0}\n') -> list[dict[str, Any]]:
    with address_in(str(folder), SOCKET_NAME) as address:
        reader, writer = await asyncio.open_unix_connection(address)
    told: list[bytes] = []
    with contextlib.suppress(ConnectionError):  # one that is not let in may hear that first
        writer.write(said)
        told = (await reader.read()).splitlines()
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return [json.loads(line) for line in told]


async def started(folder: Path, keeper: Tracer | None = None) -> TraceSocket:
    shown = TraceSocket(keeper or tracer(), STORAGE)
    await shown.start(str(folder))
    return shown


async def test_it_tells_the_node_and_what_is_new(tmp_path: Path) -> None:
    keeper = tracer()
    shown = await started(tmp_path, keeper)
    for _ in range(40):
        traced(keeper).add(StationName.DECODED)
    (node, *traces) = await lines(tmp_path)
    assert (node["node_id"], node["cluster_id"], node["revision"]) == (3, "cluster", 40)
    assert [one["number"] for one in traces] == list(range(1, 41))
    newer = await lines(tmp_path, b'{"since": 38}\n')
    assert [one["number"] for one in newer[1:]] == [39, 40]
    shown.stop()


async def test_its_file_is_the_owners_and_goes_with_it(tmp_path: Path) -> None:
    shown = await started(tmp_path)
    path = tmp_path / SOCKET_NAME
    assert stat.S_ISSOCK(path.stat().st_mode) and stat.S_IMODE(path.stat().st_mode) == 0o600
    shown.stop()
    assert not path.exists()


async def test_one_of_a_process_that_died_makes_room(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / SOCKET_NAME))
    shown = await started(tmp_path)
    assert len(await lines(tmp_path)) == 1
    shown.stop()


async def test_anything_else_of_that_name_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / SOCKET_NAME).write_text("mine")
    with caplog.at_level(logging.WARNING):
        shown = await started(tmp_path)
    shown.stop()
    assert (tmp_path / SOCKET_NAME).read_text() == "mine"
    assert "is there, and no socket" in caplog.text


async def test_a_file_that_came_after_it_is_left_alone(tmp_path: Path) -> None:
    shown = await started(tmp_path)
    (tmp_path / SOCKET_NAME).unlink()
    (tmp_path / SOCKET_NAME).write_text("mine")
    shown.stop()
    assert (tmp_path / SOCKET_NAME).read_text() == "mine"


@pytest.mark.parametrize(
    "said",
    [b"\n", b"[]\n", b"{}\n", b'{"since": -1}\n', b'{"since": "0"}\n', b"x" * LINE_MAX_BYTES * 2],
)
async def test_who_says_something_else_is_told_nothing(tmp_path: Path, said: bytes) -> None:
    shown = await started(tmp_path)
    assert await lines(tmp_path, said) == []
    assert len(await lines(tmp_path)) == 1
    shown.stop()


async def test_a_few_may_look_at_once(tmp_path: Path) -> None:
    shown = await started(tmp_path)
    with address_in(str(tmp_path), SOCKET_NAME) as address:
        silent = [await asyncio.open_unix_connection(address) for _ in range(READERS_MAX)]
    assert await lines(tmp_path) == []
    for _, writer in silent:
        writer.close()
        await writer.wait_closed()
    await wait_until_async(lambda: lines(tmp_path), "room for another reader")
    shown.stop()


async def test_who_says_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_socket, "TIMEOUT_S", 0.05)
    shown = await started(tmp_path)
    with address_in(str(tmp_path), SOCKET_NAME) as address:
        reader, writer = await asyncio.open_unix_connection(address)
    async with asyncio.timeout(LIMIT_S):
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    shown.stop()


async def test_a_long_path_goes_by_the_folders_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / ("d" * 100)
    folder.mkdir()
    if HAS_DESCRIPTORS:
        shown = await started(folder)
        assert len(await lines(folder)) == 1
        shown.stop()
        assert not (folder / SOCKET_NAME).exists()
    monkeypatch.setattr(socket_calls, "DESCRIPTORS", str(tmp_path / "none"))
    with caplog.at_level(logging.WARNING):
        shown = await started(folder)
    shown.stop()
    assert "more than 103 bytes" in caplog.text and "shorter path" in caplog.text
    assert len(caplog.text.splitlines()) == 1


async def test_a_server_has_one_if_it_is_asked_for(tmp_path: Path) -> None:
    for asked in ("true", "false"):
        server = Server(config(tmp_path, **{"ottla.trace.requests": asked}))
        await server.start()
        assert (tmp_path / SOCKET_NAME).exists() == (asked == "true")
        await server.stop()
        assert not (tmp_path / SOCKET_NAME).exists()
