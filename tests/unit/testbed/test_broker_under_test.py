"""One broker under test: started once, stopped, started again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest

from broker.config.values import BrokerConfig
from broker.process.server import ServerPorts
from controller.metadata.image import MetadataImage
from ground.filesystem import LocalFilesystem
from testbed import broker_under_test
from testbed.broker_under_test import BrokerUnderTest, NotStarted
from testbed.faults.full_disk import FillableFilesystem
from testbed.unsynced_filesystem import UnsyncedFilesystem


@dataclass
class EndPoint:
    port: int


class Server:
    def __init__(self, config: BrokerConfig, surroundings: ServerPorts) -> None:
        disk = surroundings.filesystem(0, ())
        assert isinstance(disk, FillableFilesystem)
        self.filesystem = type(disk._real)
        self.scheduler = surroundings.scheduler(asyncio.get_running_loop())
        self.node = SimpleNamespace(image=MetadataImage(features={"f": 1}))
        self.stopped = False

    async def start(self) -> list[EndPoint]:
        return [EndPoint(9092), EndPoint(1)]

    async def stop(self) -> None:
        self.stopped = True


CONFIG = cast(BrokerConfig, object())


@pytest.mark.parametrize(
    ("durable", "filesystem"), [(False, UnsyncedFilesystem), (True, LocalFilesystem)]
)
async def test_its_life(
    monkeypatch: pytest.MonkeyPatch, durable: bool, filesystem: type[LocalFilesystem]
) -> None:
    monkeypatch.setattr(broker_under_test, "Server", Server)
    one = BrokerUnderTest(asyncio.get_running_loop(), lambda code: None)
    await one.stop()
    for wanted in ("config", "server", "node", "sent", "faults", "initial_state"):
        with pytest.raises(NotStarted):
            getattr(one, wanted)
    assert await one.start(CONFIG, durable=durable, ahead_ms=5.0) == 9092
    server = cast(Server, one.server)
    assert one.config is CONFIG and one.node is server.node and server.filesystem is filesystem
    assert server.scheduler is one.clock and one.clock.ahead_ms == 5.0
    assert one.initial_state.features == {"f": 1}
    with pytest.raises(AssertionError, match="is running already"):
        await one.start(CONFIG)
    await one.stop()
    assert server.stopped
