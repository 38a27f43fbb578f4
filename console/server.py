"""The console's process: its socket, its link, its end.

uvicorn serves; it ends by Ctrl-C or SIGTERM, and when the broker that started it is gone, which it
notices at the end of its standard input.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import sys
import threading
from typing import NamedTuple

import uvicorn

from broker.config.start_error import StartError
from broker.process.descriptor_limit import raise_descriptor_limit
from broker.process.standard_streams import say
from client.cluster import ClusterClient
from console.application import application
from console.clusters import TIMEOUT_S, Clusters
from console.endpoints import Console
from console.gate import Gate, is_loopback
from console.login.logins import TOKEN, Login, PasswordLogin, TokenLogin
from console.login.passwords import PasswordFile
from console.login.token_file import checked_token, new_token, token_in
from console.options import ConsoleOptions
from console.views import AT_START, ENDPOINTS

CONNECTIONS_MAX = 4096
"""The most connections of all tabs; others are answered with status 503."""
TOKEN_VARIABLE = "OTTLA_CONSOLE_TOKEN"
"""The environment variable of the token."""
_STOP_S = 2


class _Server(uvicorn.Server):
    """A server that another thread can end, as a signal does."""

    def end(self) -> None:
        """End the server."""
        self.should_exit = True


def run(options: ConsoleOptions, *, while_stdin: bool = False) -> None:
    """Serve until a signal, or with `while_stdin` until standard input ends. Raises StartError."""
    clusters = Clusters(
        lambda addresses: ClusterClient(
            options.bootstrap_server,
            options.command_config,
            TIMEOUT_S,
            known_addresses=addresses,
            advises_start=not addresses,
        )
    )
    with clusters.taken() as cluster:  # a wrong address fails now
        cluster.metadata([])  # and if that broker dies, the others are known
    login, where = login_of(options)
    listening = listening_at(options.host, options.port)
    port = listening.getsockname()[1]
    gate = Gate(
        login,
        port,
        host=options.host,
        allowed_hosts=options.allowed_hosts,
        allow_writes=options.allow_writes,
        behind_tls=options.behind_tls,
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
        proxy_headers=is_behind_proxy(options),
    )
    server = _Server(config)
    raise_descriptor_limit()  # a tab is a connection or more
    if while_stdin:
        threading.Thread(target=_watch_stdin, args=(server,), daemon=True).start()
    warning = exposure_warning(options)
    if warning is not None:
        say(f"ottla: warning: {warning}", error=True)
    if where.note:
        say(f"ottla: {where.note}")
    say(f"ottla: the console is at {link(options.host, port, where.token)}")
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn has stopped by then
        server.run([listening])


class Where(NamedTuple):
    """The login as it is printed at the start: a token for the link, or a note without a secret."""

    token: str | None
    note: str


def login_of(options: ConsoleOptions) -> tuple[Login, Where]:
    """Return the login that the options ask for. A token file is made if it is missing.

    Raises StartError.
    """
    if options.password_file is not None:
        if options.token_file is not None:
            raise StartError("--token-file and --password-file are both given: leave one out")
        users = PasswordFile(options.password_file)
        note = f"log in to the console as a user of {options.password_file}"
        return PasswordLogin(users), Where(None, note)
    if options.token_file is not None:
        token = token_in(options.token_file)
        note = f"log in to the console with the token in {options.token_file}"
        return TokenLogin(token), Where(None, note)
    if options.token is not None:
        token = checked_token(options.token, TOKEN_VARIABLE)
        return TokenLogin(token), Where(None, f"log in to the console with {TOKEN_VARIABLE}")
    token = new_token()
    return TokenLogin(token), Where(token, "")


def is_behind_proxy(options: ConsoleOptions) -> bool:
    """Return whether the addresses of clients come from the headers of a proxy on this machine.

    Without a proxy, any local process could send failed logins from made-up addresses.
    """
    return options.behind_tls or bool(options.allowed_hosts)


def exposure_warning(options: ConsoleOptions) -> str | None:
    """Return what is unsafe about a console that other machines can reach without TLS."""
    if is_loopback(options.host) or options.behind_tls:
        return None
    writes = ", and change the cluster with such a login" if options.allow_writes else ""
    return (
        f"the console listens at {options.host} without TLS, so others on the network can read its "
        f"logins and records{writes}: put a proxy with TLS before it, and pass --behind-tls"
    )


def link(host: str, port: int, token: str | None) -> str:
    """Return the address for a browser on this machine, with the token if there is one."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    query = "" if token is None else f"?{TOKEN}={token}"
    return f"http://{shown}:{port}/{query}"


def listening_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens at this address. Raises StartError."""
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
