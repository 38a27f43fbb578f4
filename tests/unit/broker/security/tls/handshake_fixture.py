"""A handshake between two contexts in memory, for tests: who refuses, and what was agreed."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Handshake:
    """What came of it. An error of None: that half is content."""

    client: ssl.SSLObject
    server: ssl.SSLObject
    client_error: ssl.SSLError | None = None
    server_error: ssl.SSLError | None = None

    @property
    def works(self) -> bool:
        return self.client_error is None and self.server_error is None


def shake_hands(
    client: ssl.SSLContext,
    server: ssl.SSLContext,
    *,
    host: str | None = "localhost",
    session: ssl.SSLSession | None = None,
) -> Handshake:
    """Both halves to the end: the handshake, then a byte each way. The first error ends it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_half = client.wrap_bio(to_client, to_server, server_hostname=host, session=session)
    server_half = server.wrap_bio(to_server, to_client, server_side=True)
    found = Handshake(client_half, server_half)
    client_steps = [
        client_half.do_handshake,
        lambda: client_half.write(b"?"),
        lambda: client_half.read(1),
    ]
    server_steps = [
        server_half.do_handshake,
        lambda: server_half.read(1),
        lambda: server_half.write(b"!"),
    ]
    for _ in range(20):
        found.client_error = found.client_error or _run(client_steps)
        found.server_error = found.server_error or _run(server_steps)
        if not client_steps and not server_steps:
            return found
    if found.works:
        raise AssertionError("the handshake does not end")
    return found


def _run(steps: list[Callable[[], object]]) -> ssl.SSLError | None:
    """Take steps until one has to wait; the error of one that fails, which ends this half."""
    while steps:
        try:
            steps[0]()
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLError as error:
            steps.clear()
            return error
        del steps[0]
    return None
