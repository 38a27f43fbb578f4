"""The addresses on which a node listens, those that it advertises, and those of the controllers.

Parses `listeners`, `advertised.listeners`, `listener.security.protocol.map` and
`controller.quorum.voters`. Resolves no name and opens no socket.

Follows `org.apache.kafka.server.network.EndPoint` parsing in `SocketServerConfigs`, and
`org.apache.kafka.raft.QuorumConfig`; KIP-103 (several listeners), KIP-595 (voters).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ground.config_def import ConfigError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
NON_ROUTABLE_HOST = "0.0.0.0"
_PORT_MAX = 65535
# NAME://host:port, NAME://:port and NAME://[v6]:port
_ENDPOINT = re.compile(r"([A-Za-z0-9_.-]*)://\[?([0-9a-zA-Z\-%._:]*?)\]?:(-?[0-9]+)")
_VOTER = re.compile(r"\[?([0-9a-zA-Z\-%._:]+?)\]?:([0-9]+)")


@dataclass(frozen=True, slots=True)
class EndPoint:
    """A listener. `host` is None for all interfaces (`PLAINTEXT://:9092`).

    In an advertised endpoint a None host means this machine's own name, which the caller looks up.
    """

    listener_name: str
    security_protocol: str
    host: str | None
    port: int

    def __str__(self) -> str:
        host = self.host or ""
        return f"{self.listener_name}://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """The limits of a listener from `listener.name.<name>.`; None if it sets none."""

    max_connections: int | None = None
    num_network_threads: int | None = None
    max_connection_creation_rate: int | None = None
    """The largest number of new connections a second."""


@dataclass(frozen=True, slots=True)
class QuorumVoter:
    """A controller of `controller.quorum.voters`."""

    node_id: int
    host: str
    port: int


def parse_protocol_map(text: str) -> dict[str, str]:
    """Return the security protocol of each listener name. Raises ConfigError."""
    name = "listener.security.protocol.map"
    protocols = {}
    for entry in text.split(","):
        if not entry.strip():
            continue
        listener, colon, protocol = entry.strip().rpartition(":")
        if not colon:
            raise ConfigError.invalid(name, text, f"'{entry.strip()}' is not NAME:PROTOCOL")
        if protocol.strip().upper() not in SECURITY_PROTOCOLS:
            sentence = f"Invalid security protocol `{protocol.strip()}` defined in {name}"
            raise ConfigError(name, sentence)
        protocols[listener.strip().upper()] = protocol.strip().upper()
    return protocols


def parse_endpoints(
    key: str, entries: Sequence[str], protocols: Mapping[str, str]
) -> tuple[EndPoint, ...]:
    """Return the endpoints of `key`, each with its protocol. Raises ConfigError."""
    endpoints = []
    for entry in entries:
        match = _ENDPOINT.fullmatch(entry)
        if not match or not 0 <= int(match[3]) <= _PORT_MAX:
            reason = f"It is not NAME://host:port with a port of 0 to {_PORT_MAX}"
            raise ConfigError.invalid(key, entry, reason)
        listener = match[1].upper()
        if listener not in protocols:
            reason = (
                f"No security protocol defined for listener {listener} "
                "in listener.security.protocol.map"
            )
            raise ConfigError.invalid(key, entry, reason)
        endpoints.append(EndPoint(listener, protocols[listener], match[2] or None, int(match[3])))
    _check_names_differ(key, endpoints)
    return tuple(endpoints)


def check_ports_differ(key: str, endpoints: Sequence[EndPoint]) -> None:
    """Check that no listeners share a port, except a pair of an IPv4 and an IPv6 address. Port 0 is
    not compared.

    Raises ConfigError.
    """
    hosts_by_port: dict[int, list[str | None]] = {}
    for endpoint in endpoints:
        if endpoint.port == 0:
            continue
        hosts = hosts_by_port.setdefault(endpoint.port, [])
        hosts.append(endpoint.host)
        if len(hosts) > 2 or len(hosts) == 2 and not _differ_in_family(*hosts):
            shown = ", ".join(str(shared) for shared in endpoints if shared.port == endpoint.port)
            reason = (
                "Each listener must have a different port, unless exactly one of two has an IPv4 "
                "address and the other an IPv6 address"
            )
            raise ConfigError.invalid(key, shown, reason)


def parse_voters(entries: Sequence[str]) -> tuple[QuorumVoter, ...]:
    """Return the voters of the quorum. Raises ConfigError."""
    name = "controller.quorum.voters"
    form = "Each entry should be in the form `{id}@{host}:{port}`."
    voters: dict[int, QuorumVoter] = {}
    for entry in entries:
        node_id, at, address = entry.partition("@")
        if not at:
            raise ConfigError(name, f"Invalid configuration value for {name}. {form}")
        if not re.fullmatch(r"[0-9]+", node_id):
            text = f"{name}: Failed to parse voter ID as an integer from {node_id}"
            raise ConfigError(name, text)
        match = _VOTER.fullmatch(address)
        if not match or int(match[2]) > _PORT_MAX:
            text = f"Failed to parse host name from entry {entry} for the configuration {name}."
            raise ConfigError(name, f"{text} {form}")
        if match[1] == NON_ROUTABLE_HOST:
            raise ConfigError(name, f"{name}: Host string ({match[1]}) is not routeable")
        voters[int(node_id)] = QuorumVoter(int(node_id), match[1], int(match[2]))
    return tuple(voters.values())


def parse_servers(entries: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return host and port of each of `controller.quorum.bootstrap.servers`. Raises ConfigError."""
    name = "controller.quorum.bootstrap.servers"
    servers = []
    for entry in entries:
        match = _VOTER.fullmatch(entry)
        if not match or not 0 < int(match[2]) <= _PORT_MAX:
            raise ConfigError.invalid(name, entry, "It is not host:port")
        servers.append((match[1], int(match[2])))
    return tuple(servers)


def _check_names_differ(key: str, endpoints: Sequence[EndPoint]) -> None:
    """Raise ConfigError if two endpoints have the same listener name."""
    names = [endpoint.listener_name for endpoint in endpoints]
    twice = [endpoint for endpoint in endpoints if names.count(endpoint.listener_name) > 1]
    if twice:
        shown = ", ".join(map(str, twice))
        raise ConfigError.invalid(key, shown, "Each listener must have a different name")


def _differ_in_family(first: str | None, second: str | None) -> bool:
    """Return True if one host is an IPv4 address and the other an IPv6 address."""
    if first is None or second is None:
        return False
    return (":" in first) != (":" in second) and _is_address(first) and _is_address(second)


def _is_address(host: str) -> bool:
    return ":" in host or re.fullmatch(r"[0-9]+(\.[0-9]+){3}", host) is not None
