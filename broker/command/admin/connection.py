"""How a command reaches a cluster: the addresses, how it gets in, the questions that it puts.

The first of the addresses that answers is asked all; any broker passes on what the controller has
to decide. Owns one connection. What goes wrong on the way is one line, `StartError`; what an answer
says is the command's own business (`broker.command.admin.refusals`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from broker.config.start_error import StartError
from broker.network.blocking_client import ApiNotServed, BlockingClient, Request
from broker.process.standard_streams import say
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError

DEFAULT_PORT = 9092
TIMEOUT_S = 30.0
"""Of a change: a controller may be elected meanwhile."""

Address = tuple[str, int]
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def parse_addresses(text: str) -> list[Address]:
    """`host:port,host:port`; the port may be left out. Raises StartError."""
    addresses = []
    for entry in filter(None, (one.strip() for one in text.split(","))):
        host, colon, port = entry.rpartition(":")
        if not colon or entry.endswith("]"):
            host, port = entry, str(DEFAULT_PORT)
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise StartError(f"--bootstrap-server {text}: write it as host:port,host:port")
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise StartError("--bootstrap-server names no address: write it as host:port")
    return addresses


def command_guard(command_config: str | None) -> ClientGuard:
    """How a command gets into listeners, by a file of client properties. Raises StartError."""
    if command_config is None:
        return PLAINTEXT_GUARD
    from broker.config.file import load_client_security
    from broker.node.client_guards import asking_guard
    from storage.config_def import ConfigError

    security, warnings = load_client_security(command_config)
    for warning in warnings:
        say(f"ottla: warning: {warning}", error=True)
    try:
        return asking_guard(security, "", os.urandom, lambda: time.time_ns() // 1_000_000)
    except ConfigError as error:
        raise StartError(f"{command_config}: {error}") from error


def explain(error: Exception, timeout_s: float, guard: ClientGuard, host: str) -> str:
    """Why a broker was not reached, or did not answer."""
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    return guard.explain(error, host)


class Unanswered:
    """Which addresses did not answer, and why. Where nobody listens on this machine, with the
    command that changes that."""

    def __init__(self, timeout_s: float, guard: ClientGuard) -> None:
        self._timeout_s = timeout_s
        self._guard = guard
        self._refusals: list[str] = []
        self._ports: list[int] = []
        """Those of this machine where nobody listens."""

    def add(self, address: Address, error: Exception) -> None:
        """That one did not answer."""
        host, port = address
        reason = explain(error, self._timeout_s, self._guard, host)
        self._refusals.append(f"{host}:{port}: {reason}")
        if isinstance(error, ConnectionRefusedError) and host in _THIS_MACHINE:
            self._ports.append(port)

    def error(self, verdict: str = "no broker answers") -> StartError:
        """One line."""
        advice = ""
        if self._ports and len(self._ports) == len(self._refusals):
            port = "" if DEFAULT_PORT in self._ports else f" --port {self._ports[0]}"
            advice = f"; start one with: ottla serve{port}"
        return StartError(f"{verdict} ({'; '.join(self._refusals)}){advice}")


class AdminClient:
    """A connection to a cluster; `with AdminClient(servers, config) as cluster: cluster.call(…)`.

    Every call raises StartError where no answer comes.
    """

    def __init__(
        self, bootstrap_servers: str, command_config: str | None, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Connect to the first address that answers."""
        self._timeout_s = timeout_s
        addresses = parse_addresses(bootstrap_servers)
        self._guard = command_guard(command_config)
        self._host, self._client = self._connected(addresses)

    def _connected(self, addresses: Sequence[Address]) -> tuple[str, BlockingClient]:
        unanswered = Unanswered(self._timeout_s, self._guard)
        for host, port in addresses:
            try:
                return host, BlockingClient(host, port, self._timeout_s, guard=self._guard)
            except (OSError, ProtocolError) as error:
                unanswered.add((host, port), error)
        raise unanswered.error()

    def call(self, request: Request) -> Any:
        """The answer to `request`."""
        name = ApiKey(request.API_KEY).name.title().replace("_", "")
        try:
            return self._client.call(request)
        except ApiNotServed as error:
            raise StartError(
                f"what answers there has no {name}: is it a broker's port, of Ottla or of Apache "
                "Kafka 3.9 or later?"
            ) from error
        except (OSError, ProtocolError) as error:
            reason = explain(error, self._timeout_s, self._guard, self._host)
            raise StartError(
                f"{name} was sent and not answered ({reason}); whether it was done is not known"
            ) from error

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()
