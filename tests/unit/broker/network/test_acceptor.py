"""What the Acceptor does where no descriptor is left for connections; the rest of it is tested with
its server."""

from __future__ import annotations

import pytest

from tests.unit.broker.network.conftest import Rig, until, waits_of


async def test_without_descriptors_new_clients_wait_and_the_others_are_served(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("broker.network.acceptor._ACCEPT_PAUSE_S", 0.02)
    most = 2
    server = await rig.serve(room=lambda: most - server.connection_count)
    waits = waits_of(server.quotas)
    first, second = await rig.client(server), await rig.client(server)
    assert await first.ask(b"1") == b"1" and await second.ask(b"2") == b"2"
    third = await rig.client(server)
    third.send(b"3")
    await until(lambda: len(waits) > 3)
    assert server.connection_count == 2
    assert await first.ask(b"still here") == b"still here"
    (line,) = [one.getMessage() for one in caplog.records if "descriptor" in one.message]
    assert "2 connections are open" in line and "ulimit -n" in line
    # One that leaves makes room at once, and so does whatever else gives a descriptor back.
    second.close()
    assert await third.receive() == b"3"
    fourth = await rig.client(server)
    fourth.send(b"4")
    most = 3
    assert await fourth.receive() == b"4"
