"""How a command reaches a cluster: the addresses, how it gets in, and why nobody answers.

Owns no connection (`client.cluster`). What goes wrong on the way is one line,
`StartError`; what an answer says is the command's own business (`client.refusals`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from broker.config.start_error import StartError
from broker.process.standard_streams import say
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard

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
        is_host = host and "/" not in host and not host.isdecimal()
        if not is_host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise StartError(f"--bootstrap-server {text}: write it as host:port,host:port")
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise StartError("--bootstrap-server names no address: write it as host:port")
    return addresses


def in_turn(named: Sequence[Address], known: Sequence[Address]) -> list[Address]:
    """Whom to ask, one after the other: that which answered before, the first of `known`; those
    named by the user; the other brokers that are known."""
    return list(dict.fromkeys([*known[:1], *named, *known[1:]]))


def command_guard(command_config: str | None) -> ClientGuard:
    """How a command gets into listeners, by a file of client properties. Raises StartError."""
    if command_config is None:
        return PLAINTEXT_GUARD
    from broker.config.file import load_client_security
    from broker.node.security.client_guards import asking_guard
    from ground.config_def import ConfigError

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
        if isinstance(error, TimeoutError):
            reason += ": is a Kafka broker there?"
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
