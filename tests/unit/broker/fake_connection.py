"""What a request handler is given, without a network: who asks, and the way back."""

from __future__ import annotations

from typing import Any

from broker.network.server.request_channel import ConnectionContext


class Connection(ConnectionContext):
    """A client's connection, as handlers know it."""

    def __init__(self, listener_name: str = "PLAINTEXT") -> None:
        super().__init__("c1", listener_name, "PLAINTEXT", "127.0.0.1", 50_000)


class Reply(list[Any]):
    """The answers to one request: at most one, unless a test is about just that."""

    closed = False
    error: BaseException | None = None

    def __call__(self, parts: Any) -> None:
        self.append(parts)

    def keep(self, frame: memoryview) -> memoryview:
        return memoryview(bytes(frame))

    def fail(self, error: BaseException) -> None:
        self.error = error
        self.closed = True

    def close(self) -> None:
        self.closed = True
