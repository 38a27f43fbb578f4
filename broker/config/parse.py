"""The configuration of one node: texts in, typed and checked values out.

`BrokerConfig` takes the keys that somebody set, under Kafka's names, and offers every key as a
snake_case attribute: `num.network.threads` is `config.num_network_threads`. Keys that are worked
out of several (`log.dirs` of `log.dir`, `log.retention.ms` of hours) have the value in force.

It reads no file (`broker.command.cli` does), looks nothing up and never changes after it is made.

Follows `kafka.server.KafkaConfig` 4.3 and its defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import cast

from broker.config.checks import check_all
from broker.config.endpoints import (
    EndPoint,
    QuorumVoter,
    parse_endpoints,
    parse_protocol_map,
    parse_voters,
)
from broker.config.keys import BROKER_CONFIG_DEF, BrokerConfigFields
from broker.config.single_node_profile import PROFILE_NAME, single_node_texts
from broker.config.support import ignored_keys, refuse_what_is_not_served, unknown_key
from storage.config_def import ConfigError, ConfigValue
from storage.log_config import LogConfig, server_defaults

_PLAINTEXT = "PLAINTEXT"
_REQUIRED = ("node.id", "process.roles", "controller.listener.names")


class BrokerConfig(BrokerConfigFields):
    """One node's configuration, in force. Raises ConfigError with one clear line.

    Durations end in their unit (`_ms`, `_seconds`, `_minutes`, `_hours`), sizes in `_bytes`.
    """

    originals: Mapping[str, str]
    """What was set, by Kafka's names, a profile's values included."""
    profile_name: str | None
    """The named profile whose values apply below what was set; None for a file."""
    warnings: tuple[str, ...]
    """Lines that a start prints: what was said of the file, and keys of no effect."""
    topic_defaults: Mapping[str, ConfigValue]
    """Defaults of topic configs that this server gives, by topic config name."""
    log_config: LogConfig
    """The log configuration of a topic that overrides nothing."""

    listeners: tuple[EndPoint, ...]
    """What this node binds, controller listeners included."""
    advertised_listeners: tuple[EndPoint, ...]
    """What clients are told; controller listeners left out. A host may be None, see EndPoint."""
    listener_security_protocol_map: Mapping[str, str]
    inter_broker_listener_name: str
    controller_quorum_voters: tuple[QuorumVoter, ...]
    """As set; where only `controller.quorum.bootstrap.servers` is, empty until they are known."""
    log_dirs: tuple[str, ...]
    """Folders of logs, as written; the shell makes them absolute."""
    metadata_log_dir: str
    """The folder of `__cluster_metadata`: `metadata.log.dir`, else the first of `log.dirs`."""
    log_retention_ms: int
    log_roll_ms: int
    log_roll_jitter_ms: int
    log_flush_interval_ms: int
    max_connections_per_ip_overrides: Mapping[str, int]

    def __init__(
        self,
        texts: Mapping[str, str],
        profile_name: str | None = None,
        warnings: Iterable[str] = (),
    ) -> None:
        for name in texts:
            if name not in BROKER_CONFIG_DEF:
                raise unknown_key(name)
        values = _parsed(texts)
        refuse_what_is_not_served(texts)
        for name, value in values.items():
            self.__dict__[BROKER_CONFIG_DEF[name].attribute] = value
        self.__dict__["originals"] = dict(texts)
        self.__dict__["profile_name"] = profile_name
        self.__dict__["warnings"] = (*warnings, *ignored_keys(texts))
        self._set_listeners(values)
        self._set_folders(values)
        self._set_log_defaults(texts)
        overrides = cast(str, values["max.connections.per.ip.overrides"])
        self.__dict__["max_connections_per_ip_overrides"] = _per_ip(overrides)
        check_all(self)

    @classmethod
    def single_node(
        cls, overrides: Mapping[str, str] | None = None, warnings: Iterable[str] = ()
    ) -> BrokerConfig:
        """The named single-node profile, with `overrides` above it."""
        return cls(single_node_texts(overrides or {}), PROFILE_NAME, warnings)

    def with_overrides(self, overrides: Mapping[str, str]) -> BrokerConfig:
        """The same node with some keys set otherwise."""
        return BrokerConfig({**self.originals, **overrides}, self.profile_name)

    def with_voters(self, voters: Sequence[QuorumVoter]) -> BrokerConfig:
        """The same node, whose quorum was found out (`broker.node.quorum_discovery`)."""
        found = copy(self)
        found.__dict__["controller_quorum_voters"] = tuple(voters)
        return found

    @property
    def is_broker(self) -> bool:
        """Whether this node serves clients."""
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        """Whether this node is one of the quorum."""
        return "controller" in self.process_roles

    @property
    def controller_listeners(self) -> tuple[EndPoint, ...]:
        """The part of `listeners` on which controllers talk."""
        names = self.controller_listener_names
        return tuple(one for one in self.listeners if one.listener_name in names)

    @property
    def broker_listeners(self) -> tuple[EndPoint, ...]:
        """The part of `listeners` that clients and brokers connect to."""
        names = self.controller_listener_names
        return tuple(one for one in self.listeners if one.listener_name not in names)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a BrokerConfig never changes; use with_overrides() to set {name}")

    def _set_listeners(self, values: Mapping[str, ConfigValue]) -> None:
        names = tuple(
            name.upper() for name in cast(tuple[str, ...], values["controller.listener.names"])
        )
        protocol_map = cast(str, values["listener.security.protocol.map"])
        protocols = parse_protocol_map(protocol_map)
        if "listener.security.protocol.map" not in self.originals:
            # KIP-801: unless somebody mapped anything, controller listeners are plain text.
            protocols = {**dict.fromkeys(names, _PLAINTEXT), **protocols}
        listeners = parse_endpoints(
            "listeners", cast(tuple[str, ...], values["listeners"]), protocols
        )
        given = cast(tuple[str, ...] | None, values["advertised.listeners"])
        advertised = (
            listeners
            if given is None
            else parse_endpoints("advertised.listeners", given, protocols)
        )
        for endpoint in listeners:
            if endpoint.security_protocol != _PLAINTEXT:
                text = f"{endpoint} is {endpoint.security_protocol}"
                raise ConfigError("listeners", f"listeners: {text}, which is not supported yet")
        inter_broker = cast(str | None, values["inter.broker.listener.name"])
        if inter_broker is not None:
            _check_inter_broker(inter_broker.upper(), protocols, self.originals)
        self.__dict__.update(
            controller_listener_names=names,
            listener_security_protocol_map=protocols,
            listeners=listeners,
            advertised_listeners=tuple(
                endpoint for endpoint in advertised if endpoint.listener_name not in names
            ),
            inter_broker_listener_name=(inter_broker or _PLAINTEXT).upper(),
            controller_quorum_voters=parse_voters(
                cast(tuple[str, ...], values["controller.quorum.voters"])
            ),
        )

    def _set_folders(self, values: Mapping[str, ConfigValue]) -> None:
        folders = cast(tuple[str, ...], values["log.dirs"] or values["log.dir"])
        metadata = cast(str | None, values["metadata.log.dir"])
        self.__dict__["log_dirs"] = folders
        self.__dict__["metadata_log_dir"] = metadata or (folders[0] if folders else "")

    def _set_log_defaults(self, texts: Mapping[str, str]) -> None:
        topic_defaults = server_defaults(texts)
        self.__dict__.update(
            topic_defaults=topic_defaults,
            log_config=LogConfig.from_overrides({}, topic_defaults),
            log_retention_ms=topic_defaults["retention.ms"],
            log_roll_ms=topic_defaults["segment.ms"],
            log_roll_jitter_ms=topic_defaults["segment.jitter.ms"],
            log_flush_interval_ms=topic_defaults["flush.ms"],
        )


def _parsed(texts: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Every key's value: what was set, else Kafka's default."""
    values = BROKER_CONFIG_DEF.defaults()
    for name, text in texts.items():
        values[name] = BROKER_CONFIG_DEF[name].parse(text)
    for name in _REQUIRED:
        if name not in texts:
            sentence = f'Missing required configuration "{name}" which has no default value.'
            raise ConfigError(name, sentence)
    return values


def _check_inter_broker(
    listener: str, protocols: Mapping[str, str], originals: Mapping[str, str]
) -> None:
    key = "inter.broker.listener.name"
    if listener not in protocols:
        text = (
            f"Listener with name {listener} defined in {key} not found in "
            "listener.security.protocol.map."
        )
        raise ConfigError(key, text)
    if "security.inter.broker.protocol" in originals:
        text = f"Only one of {key} and security.inter.broker.protocol should be set."
        raise ConfigError(key, text)


def _per_ip(text: str) -> dict[str, int]:
    """`host:count,host:count` → the count of each host."""
    name = "max.connections.per.ip.overrides"
    counts = {}
    for entry in text.split(","):
        if not entry.strip():
            continue
        host, _, count = entry.strip().rpartition(":")
        if not host or not count.strip().isdecimal():
            raise ConfigError.invalid(name, text, f"'{entry.strip()}' is not host:count")
        counts[host.strip().strip("[]")] = int(count)
    return counts
