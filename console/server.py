"""The console's process: its socket, its link, its end.

uvicorn serves; it ends by Ctrl-C or SIGTERM, and when the broker that started it is gone, which it
notices at the end of its standard input.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import socket
import sys
import threading

import uvicorn

from broker.config.start_error import StartError
from broker.process.descriptor_limit import raise_descriptor_limit
from broker.process.standard_streams import say
from client.cluster import ClusterClient
from console.application import application
from console.clusters import TIMEOUT_S, Clusters
from console.endpoints import Console
from console.gate import TOKEN, Gate
from console.options import ConsoleOptions
from console.views import AT_START, ENDPOINTS

CONNECTIONS_MAX = 4096
"""Of all tabs; whoever comes then is told 503."""
TOKEN_BYTES = 24
_STOP_S = 2


class _Server(uvicorn.Server):
    """One that ends when it is told to, as by a signal."""

    def end(self) -> None:
        """From any thread."""
        self.should_exit = True


def run(options: ConsoleOptions, *, while_stdin: bool = False) -> None:
    """Serve until a signal; `while_stdin`: or until standard input ends. Raises StartError."""
    clusters = Clusters(
        lambda known: ClusterClient(
            options.bootstrap_server,
            options.command_config,
            TIMEOUT_S,
            known_addresses=known,
            advises_start=not known,
        )
    )
    with clusters.taken() as cluster:  # whoever mistyped an address is told now
        cluster.metadata([])  # and if that broker dies, the others are known
    listening = listening_at(options.host, options.port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(TOKEN_BYTES)
    gate = Gate(
        token,
        port,
        host=options.host,
        allowed_hosts=options.allowed_hosts,
        allow_writes=options.allow_writes,
    )
    console = Console(options, clusters)
    for kind in AT_START:
        console.state(kind)
    app = application(console, gate, ENDPOINTS)
    config = uvicorn.Config(
        app,
        access_log=False,  # the token is in the first address
        log_level="warning",
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=_STOP_S,
        server_header=False,
    )
    server = _Server(config)
    raise_descriptor_limit()  # a tab is a connection or more
    if while_stdin:
        threading.Thread(target=_watch_stdin, args=(server,), daemon=True).start()
    say(f"ottla: the console is at {link(options.host, port, token)}")
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has stopped by then
        server.run([listening])


def link(host: str, port: int, token: str) -> str:
    """What is opened in a browser."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/?{TOKEN}={token}"


def listening_at(host: str, port: int) -> socket.socket:
    """A socket there. Raises StartError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # the link can be opened as soon as it is printed
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            reason = (
                "another process uses this port: choose another with --port, or 0 for a free one"
            )
        else:
            reason = error.strerror or str(error)
        raise StartError(f"the console cannot listen on {host}:{port}: {reason}") from error
    return listening


def _watch_stdin(server: _Server) -> None:
    while sys.stdin.buffer.read(1):
        pass
    server.end()
