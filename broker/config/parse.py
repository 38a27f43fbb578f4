"""The parser of a node's configuration: from texts to typed and checked values.

Takes the keys that are set, under Kafka's names; every other key has its default. It reads no file
(`broker.config.file` does), and resolves no name.

Follows `kafka.server.KafkaConfig` and its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from broker.config.authorizer import authorizer_warnings
from broker.config.checks import check_all
from broker.config.endpoints import (
    NON_ROUTABLE_HOST,
    EndPoint,
    parse_endpoints,
    parse_protocol_map,
    parse_voters,
)
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX
from broker.config.listener_security import (
    PLAINTEXT_CLIENT,
    ListenerSecurity,
)
from broker.config.plugins import PRINCIPAL_BUILDER, SETTINGS_PREFIX, python_class
from broker.config.single_node_profile import PROFILE_NAME, single_node_texts
from broker.config.support import (
    ignored_keys,
    reject_unsupported_keys,
    unknown_key,
    unused_security,
)
from broker.config.synonyms import with_node_id
from broker.config.unknown_keys import ignores_unknown_keys, unknown_key_warnings
from broker.config.values import BrokerConfig, Originals
from ground.config_def import ConfigError, ConfigValue
from storage.log_config import server_defaults

_PLAINTEXT = "PLAINTEXT"
_SECURED_NAMES = {"SSL", "SASL_PLAINTEXT", "SASL_SSL"}
_PROTOCOL_MAP = "listener.security.protocol.map"
_CONTROLLER_NAMES = "controller.listener.names"
_REQUIRED = ("node.id", "process.roles", "controller.listener.names")
_ATTRIBUTES = frozenset(BrokerConfig._fields)


def parse_config(
    texts: Mapping[str, str], profile_name: str | None = None, warnings: Iterable[str] = ()
) -> BrokerConfig:
    """Return the configuration with these keys set and Kafka's defaults for the others, all
    checked. Raises ConfigError with one clear line.

    `warnings` come before the configuration's own.
    """
    texts = with_node_id(texts)
    unknown = _checked_unknown_keys(texts)
    values = _parsed(texts)
    reject_unsupported_keys(texts)
    attributes: dict[str, Any] = {
        attribute: value
        for name, value in values.items()
        if (attribute := BROKER_CONFIG_DEF[name].attribute) in _ATTRIBUTES
    }
    attributes.update(
        originals=Originals(texts),
        profile_name=profile_name,
        warnings=(
            *warnings,
            *unknown_key_warnings(unknown, unknown_key),
            *ignored_keys(texts),
            *authorizer_warnings(texts),
        ),
        **_listener_fields(values, texts),
        **_folder_fields(values),
        **_log_defaults(texts),
        max_connections_per_ip_overrides=_per_ip(
            cast(str, values["max.connections.per.ip.overrides"])
        ),
    )
    attributes["warnings"] += attributes.pop("security_warnings")
    config = BrokerConfig(**attributes)
    check_all(config)
    return config


def _checked_unknown_keys(texts: Mapping[str, str]) -> list[str]:
    """Return the unknown keys to ignore. Raises ConfigError if they may not be ignored."""
    is_known = known_keys(texts)
    unknown = [name for name in texts if not is_known(name)]
    if not ignores_unknown_keys(texts) and unknown:
        raise unknown_key(unknown[0])
    return unknown


def accepted_keys(texts: Mapping[str, str]) -> Callable[[str], bool]:
    """Return a function that says whether a configuration with `texts` may have a key, known or
    not."""
    try:
        if ignores_unknown_keys(texts):
            return lambda _name: True
    except ConfigError:
        pass  # the value is a fault of its own
    return known_keys(texts)


def known_keys(texts: Mapping[str, str]) -> Callable[[str], bool]:
    """Return a function that says whether a key is known in a configuration with `texts`."""
    free = (LISTENER_PREFIX, SETTINGS_PREFIX, *_provider_prefixes(texts))
    return lambda name: name in BROKER_CONFIG_DEF or name.startswith(free)


def single_node_config(
    overrides: Mapping[str, str] | None = None, warnings: Iterable[str] = ()
) -> BrokerConfig:
    """Return the single-node profile with `overrides`. Raises ConfigError."""
    return parse_config(single_node_texts(overrides or {}), PROFILE_NAME, warnings)


def with_overrides(config: BrokerConfig, overrides: Mapping[str, str]) -> BrokerConfig:
    """Return the configuration of the same node, with other values of some keys.

    Raises ConfigError.
    """
    return parse_config({**config.originals, **overrides}, config.profile_name)


def _provider_prefixes(texts: Mapping[str, str]) -> list[str]:
    """Return the prefixes of the keys of each config provider."""
    names = texts.get("config.providers", "").split(",")
    return [
        f"config.providers.{name.strip()}.{kind}"
        for name in names
        if name.strip()
        for kind in ("class", "param.")
    ]


def _listener_fields(
    values: Mapping[str, ConfigValue], texts: Mapping[str, str]
) -> dict[str, object]:
    """Return the BrokerConfig fields that follow from listeners, roles and the quorum's voters.

    Raises ConfigError if a listener's name, protocol or security is wrong.
    """
    names = tuple(
        name.upper() for name in cast(tuple[str, ...], values["controller.listener.names"])
    )
    entries = cast(tuple[str, ...], values["listeners"])
    protocols = _protocols(values, names, entries, is_mapped=_PROTOCOL_MAP in texts)
    listeners = parse_endpoints("listeners", entries, protocols)
    if "controller" not in cast(tuple[str, ...], values["process.roles"]):
        _check_controllers(names, protocols)  # otherwise they are among `listeners`
    advertised_entries = cast(tuple[str, ...] | None, values["advertised.listeners"])
    advertised = (
        listeners
        if advertised_entries is None
        else parse_endpoints("advertised.listeners", advertised_entries, protocols)
    )
    inter_broker = _inter_broker(values, protocols, texts)
    voters = parse_voters(cast(tuple[str, ...], values["controller.quorum.voters"]))
    return {
        "controller_listener_names": names,
        "listeners": listeners,
        "advertised_listeners": tuple(
            endpoint for endpoint in advertised if endpoint.listener_name not in names
        ),
        "advertised_controller_listeners": tuple(_of_controllers(names, listeners, advertised)),
        "inter_broker_listener_name": inter_broker,
        "controller_quorum_voters": voters,
        **_security(texts, listeners, protocols, inter_broker, names, _is_alone(values)),
    }


def _of_controllers(
    names: Sequence[str], listeners: Sequence[EndPoint], advertised: Sequence[EndPoint]
) -> Iterator[EndPoint]:
    """Yield the advertised endpoint of each controller listener, which is its own address if
    `advertised.listeners` lacks it.

    The wildcard host is replaced by None. Kafka: `effectiveAdvertisedControllerListeners`.
    """
    advertised_by_name = {endpoint.listener_name: endpoint for endpoint in advertised}
    for endpoint in listeners:
        if endpoint.listener_name in names:
            advertised_endpoint = advertised_by_name.get(endpoint.listener_name, endpoint)
            yield (
                replace(advertised_endpoint, host=None)
                if advertised_endpoint.host == NON_ROUTABLE_HOST
                else advertised_endpoint
            )


def _protocols(
    values: Mapping[str, ConfigValue],
    controllers: Sequence[str],
    entries: Sequence[str],
    is_mapped: bool,
) -> dict[str, str]:
    """Return the security protocol of each listener name. Controllers without one are PLAINTEXT if
    nothing is mapped or secured (KIP-801).

    `entries` are those of `listeners`. Raises ConfigError.
    """
    protocols = parse_protocol_map(cast(str, values[_PROTOCOL_MAP]))
    names = {*controllers, *(entry.partition("://")[0].strip().upper() for entry in entries)}
    if is_mapped or names & _SECURED_NAMES:
        return protocols
    # KIP-801: controller listeners are PLAINTEXT if no protocol is mapped and no listener secured.
    return {**dict.fromkeys(controllers, _PLAINTEXT), **protocols}


def _check_controllers(controllers: Sequence[str], protocols: Mapping[str, str]) -> None:
    """Check that each controller listener has a security protocol. Raises ConfigError."""
    for name in controllers:
        if name not in protocols:
            text = (
                f"Controller listener with name {name} defined in {_CONTROLLER_NAMES} not found in "
                f"{_PROTOCOL_MAP} (an explicit security mapping for each controller listener is "
                f"required if {_PROTOCOL_MAP} is non-empty, or if there are security protocols "
                "other than PLAINTEXT in use)"
            )
            raise ConfigError(_CONTROLLER_NAMES, text)


def _inter_broker(
    values: Mapping[str, ConfigValue], protocols: Mapping[str, str], texts: Mapping[str, str]
) -> str:
    """Return the listener between brokers, by its own name or by the name of its protocol. Raises
    ConfigError for a wrong name."""
    named = cast(str | None, values["inter.broker.listener.name"])
    if named is None:
        return cast(str, values["security.inter.broker.protocol"])
    _check_inter_broker(named.upper(), protocols, texts)
    return named.upper()


def _is_alone(values: Mapping[str, ConfigValue]) -> bool:
    """Return whether the node is a whole cluster, as far as its configuration shows."""
    roles = cast(tuple[str, ...], values["process.roles"])
    several = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
    return len(roles) == 2 and all(len(cast(tuple[str, ...], values[key])) < 2 for key in several)


def _security(
    texts: Mapping[str, str],
    listeners: Sequence[EndPoint],
    protocols: Mapping[str, str],
    inter_broker: str,
    controllers: Sequence[str],
    alone: bool,
) -> dict[str, object]:
    """Return the BrokerConfig fields for the security of the listeners and of this node's
    connections to other nodes, and `security_warnings`.

    Raises ConfigError.
    """
    used = {protocols.get(name, _PLAINTEXT) for name in controllers[:1]}
    used |= {endpoint.security_protocol for endpoint in listeners}
    set_by_listener = any(name.startswith(LISTENER_PREFIX) for name in texts)
    if used == {_PLAINTEXT} and not set_by_listener:
        builder = python_class(PRINCIPAL_BUILDER, texts.get(PRINCIPAL_BUILDER))
        return {
            "listener_security": {
                endpoint.listener_name: ListenerSecurity(
                    endpoint.listener_name, _PLAINTEXT, principal_builder=builder
                )
                for endpoint in listeners
            },
            "listener_limits": {},
            "inter_broker_security": PLAINTEXT_CLIENT,
            "controller_security": PLAINTEXT_CLIENT,
            "security_warnings": tuple(unused_security(texts, used)),
        }
    from broker.config.security.node import node_security  # not loaded by a node without security

    settings = node_security(texts, listeners, protocols, inter_broker, controllers, alone)
    unused = tuple(unused_security(texts, used))
    return {
        **settings,
        "security_warnings": (*cast(tuple[str, ...], settings["security_warnings"]), *unused),
    }


def _folder_fields(values: Mapping[str, ConfigValue]) -> dict[str, object]:
    """Return the BrokerConfig fields of the log folders. Without `metadata.log.dir`, the first
    folder has the metadata."""
    folders = cast(tuple[str, ...], values["log.dirs"] or values["log.dir"])
    metadata = cast(str | None, values["metadata.log.dir"])
    return {"log_dirs": folders, "metadata_log_dir": metadata or (folders[0] if folders else "")}


def _log_defaults(texts: Mapping[str, str]) -> dict[str, object]:
    """Return the topics' defaults and the BrokerConfig fields of logs that repeat them."""
    topic_defaults = server_defaults(texts)
    return {
        "topic_defaults": topic_defaults,
        "log_retention_ms": topic_defaults["retention.ms"],
        "log_roll_ms": topic_defaults["segment.ms"],
        "log_roll_jitter_ms": topic_defaults["segment.jitter.ms"],
    }


def _parsed(texts: Mapping[str, str]) -> dict[str, ConfigValue]:
    """Return the value of every key: its set value, or Kafka's default.

    Raises ConfigError if a value is wrong or a required key is missing.
    """
    values = BROKER_CONFIG_DEF.defaults()
    for name, text in texts.items():
        if name in BROKER_CONFIG_DEF:
            values[name] = BROKER_CONFIG_DEF[name].parse(text)
    for name in _REQUIRED:
        if name not in texts:
            sentence = f'Missing required configuration "{name}" which has no default value.'
            raise ConfigError(name, sentence)
    return values


def _check_inter_broker(
    listener: str, protocols: Mapping[str, str], originals: Mapping[str, str]
) -> None:
    """Raise ConfigError if `listener` has no protocol, or if both keys that choose it are set."""
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
    """Return the count of each host in `host:count,host:count`, without empty entries. Raises
    ConfigError if another entry is not of this form."""
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
