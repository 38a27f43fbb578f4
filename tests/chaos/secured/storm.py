"""Many raw connections at once: what each sends, and what comes back until the broker closes.

Owns the sockets. Never: what the bytes mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Sequence

AT_ONCE = 100
ENDS_WITHIN_S = 90.0


class NotClosed(AssertionError):
    """The broker has not closed a connection in time."""


async def _one(port: int, data: bytes, tls: ssl.SSLContext | None) -> bytes:
    name = None if tls is None else "localhost"
    received = b""
    writer = None
    try:
        async with asyncio.timeout(ENDS_WITHIN_S):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=tls, server_hostname=name, limit=1 << 20
            )
            writer.write(data)
            while chunk := await reader.read(1 << 16):
                received += chunk
    except TimeoutError:
        raise NotClosed(f"{received!r} to {data[:200]!r}") from None
    except (ConnectionError, ssl.SSLError):
        pass
    finally:
        if writer is not None:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
    return received


def storm(
    port: int, sent: Sequence[bytes], tls: ssl.SSLContext | None = None, at_once: int = AT_ONCE
) -> list[bytes]:
    """What came to each of these; NotClosed where one is still open after its time."""

    async def run() -> list[bytes]:
        places = asyncio.Semaphore(at_once)

        async def take(data: bytes) -> bytes:
            async with places:
                return await _one(port, data, tls)

        return await asyncio.gather(*(take(data) for data in sent))

    return asyncio.run(run())


def answers_in(received: bytes) -> list[bytes]:
    """The frames, without their sizes. AssertionError for a rest."""
    found = []
    while received:
        size = int.from_bytes(received[:4])
        assert len(received) >= 4 + size, received
        found.append(received[4 : 4 + size])
        received = received[4 + size :]
    return found
