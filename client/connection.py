"""How a command reaches a cluster: addresses, security settings, and reasons for no response.

Owns no connection (`client.cluster` does). A failed connection is a `StartError` of one line.
Errors in responses are not handled here (`client.refusals`).
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
"""The timeout of a request: long enough for the election of a controller."""

Address = tuple[str, int]
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def parse_addresses(text: str) -> list[Address]:
    """Return the addresses in `host:port,host:port`. The default port is DEFAULT_PORT.

    Raises StartError if the text has another form or no address.
    """
    addresses = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        host, colon, port = entry.rpartition(":")
        if not colon or entry.endswith("]"):
            host, port = entry, str(DEFAULT_PORT)
        is_host = host and "/" not in host and not host.isdecimal()
        if not is_host or not port.isdecimal() or not 0 < int(port) < 65536:
            scheme, slashes, _ = entry.partition("://")
            without = f", without {scheme}://" if slashes else ""
            raise StartError(f"--bootstrap-server {text}: write it as host:port,host:port{without}")
        addresses.append((host.strip("[]"), int(port)))
    if not addresses:
        raise StartError("--bootstrap-server names no address: write it as host:port")
    return addresses


def in_turn(named: Sequence[Address], known: Sequence[Address]) -> list[Address]:
    """Return the addresses in the order in which to try them.

    First comes the first of `known`, which answered last time, then the addresses that the user
    named, then the other known brokers.
    """
    return list(dict.fromkeys([*known[:1], *named, *known[1:]]))


def command_guard(command_config: str | None) -> ClientGuard:
    """Return the guard that secures a command's connections, from a file of client properties.

    `command_config` None: plaintext. Prints the file's warnings to standard error. Raises
    StartError for a file that cannot be read or is invalid.
    """
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
    """Return the reason, as text, why a broker was not reached or did not answer."""
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    return guard.explain(error, host)


START_ADVICE = "; start one with: ottla serve"
"""The advice for a user of a command if no broker listens on this machine; a port may follow."""


class Unanswered:
    """The addresses that did not answer, each with the reason.

    If all of them are ports of this machine that no process listens on, the error has the command
    that starts a broker, unless not `advises_start`: a cluster that ran before is not started so.
    """

    def __init__(self, timeout_s: float, guard: ClientGuard, *, advises_start: bool = True) -> None:
        self._timeout_s = timeout_s
        self._guard = guard
        self._advises_start = advises_start
        self._refusals: list[str] = []
        self._ports: list[int] = []
        """The ports of this machine that refused the connection."""

    def add(self, address: Address, error: Exception) -> None:
        """Add an address that did not answer, with the reason that `error` gives."""
        host, port = address
        reason = explain(error, self._timeout_s, self._guard, host)
        if isinstance(error, TimeoutError):
            reason += ": is a Kafka broker there?"
        self._refusals.append(f"{host}:{port}: {reason}")
        if isinstance(error, ConnectionRefusedError) and host in _THIS_MACHINE:
            self._ports.append(port)

    def error(self, verdict: str = "no broker answers") -> StartError:
        """Return a StartError of one line that begins with `verdict` and names each address with
        its reason. The caller raises it."""
        advice = ""
        if self._advises_start and self._ports and len(self._ports) == len(self._refusals):
            port = "" if DEFAULT_PORT in self._ports else f" --port {self._ports[0]}"
            advice = f"{START_ADVICE}{port}"
        return StartError(f"{verdict} ({'; '.join(self._refusals)}){advice}")
