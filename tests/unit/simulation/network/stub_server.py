"""A server that keeps what it is asked, and answers when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ground.sim_scheduler import SimScheduler


class StubServer:
    """See `sim_server_end.SimServer`."""

    def __init__(self, world: SimScheduler, address: str = "broker-1") -> None:
        self.world = world
        self.address = address
        self.life = 1
        self.dark = False
        self.is_listening = True
        self.asked: list[tuple[bytes, Any]] = []
        self.views: list[memoryview] = []
        self.contexts: list[Any] = []
        self.closed: list[str] = []

    def listens(self, port: int) -> bool:
        return self.is_listening

    def listener_name(self, port: int) -> str:
        return "PLAINTEXT"

    def arrive(self, callback: Callable[[], None]) -> None:
        callback()

    def run_later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        self.world.call_later(delay_ms, callback)

    def handle(self, port: int, context: Any, frame: memoryview, reply: Any) -> None:
        self.asked.append((bytes(frame), reply))
        self.views.append(frame)
        self.contexts.append(context)

    def connection_closed(self, port: int, connection_id: str) -> None:
        self.closed.append(connection_id)
