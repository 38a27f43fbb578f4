"""Changes to the security of a listener while a node runs.

Owns which keys of a listener may change (its TLS, and the JAAS text of a mechanism that it offers),
and what a listener's security comes to: dynamic configs of the one node above its file. Both halves
of a listener read the same keys; of controllers' a node that is only a broker has the client half
alone. It opens no store: whether a new one can be loaded says a
`broker.config.dynamic.SecurityValidator`.

Follows KIP-226 and what a running Kafka 4.3 takes. Unlike there, a JAAS text that cannot be read is
refused, and so is a key of a listener that would change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping

from broker.config.applied_keys import is_of_node
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_KEYS, LISTENER_PREFIX, key_of
from broker.config.security.listener_keys import listener_prefix
from broker.config.security.listeners import one_listener
from broker.config.security_settings import ListenerSecurity, MechanismSettings
from broker.config.values import BrokerConfig
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError

_JAAS = "sasl.jaas.config"

_log = logging.getLogger(f"ottla.{__name__}")


def changed_listeners(
    config: BrokerConfig,
    before: Mapping[str, str],
    after: Mapping[str, str],
    set_now: Collection[str],
) -> list[str]:
    """The name of each listener that a change concerns. Raises ConfigError where a key or its
    value is wrong. `set_now`: keys that were named, also with the same value:
    the files behind them may have changed."""
    names = [one for one in {**before, **after} if one.startswith(LISTENER_PREFIX)]
    touched = [one for one in names if one in set_now or before.get(one) != after.get(one)]
    for name in touched:
        if name in after and not is_of_node(config, name):
            _check(config, name, after[name])
    return _concerned(config, touched)


def security_in_force(
    config: BrokerConfig, image: MetadataImage, listener: str
) -> ListenerSecurity:
    """One listener's: dynamic configs of this node above its file. What another release wrote and
    this one cannot read is left out, with a warning, so that it does not stop a node."""
    dynamic = image.config(ResourceType.BROKER, str(config.node_id))
    try:
        return _in_force(config, dynamic, listener)
    except ConfigError as error:
        _log.warning("dynamic configs of listener %s are left out: %s", listener, error)
        return config.listener_security[listener]


def security_changes(
    config: BrokerConfig, delta: MetadataDelta, image: MetadataImage
) -> Iterator[ListenerSecurity]:
    """What the replay of `delta` makes of the server half of each listener in
    `replayed_listeners`."""
    for listener in replayed_listeners(config, delta):
        if listener in config.listener_security:
            yield security_in_force(config, image, listener)


def replayed_listeners(config: BrokerConfig, delta: MetadataDelta) -> list[str]:
    """The name of each listener that has, or had, dynamic security, where `delta` changes this
    node's configs.

    Also where all texts are the same: whoever sets a key anew wants its file to be read again.
    """
    resource = (int(ResourceType.BROKER), str(config.node_id))
    if resource not in delta.changed_configs:
        return []
    names = {**delta.image.configs.get(resource, {}), **delta.changed_configs[resource]}
    return _concerned(config, names)


def is_security(config: BrokerConfig, name: str) -> bool:
    """Whether a dynamic config changes the security of one of this node's listeners."""
    return bool(_concerned(config, [name]))


def _in_force(config: BrokerConfig, dynamic: Mapping[str, str], listener: str) -> ListenerSecurity:
    own = {name: text for name, text in dynamic.items() if _concerns(name, listener, config)}
    protocol = config.listener_security[listener].security_protocol
    return one_listener({**config.originals, **own}, listener, protocol)


def _concerned(config: BrokerConfig, names: Collection[str]) -> list[str]:
    return [
        listener
        for listener in _listeners(config)
        if any(_concerns(name, listener, config) for name in names)
    ]


def _listeners(config: BrokerConfig) -> list[str]:
    """Of which this node has a half."""
    return list(dict.fromkeys([*config.listener_security, *config.controller_listener_names[:1]]))


def _concerns(name: str, listener: str, config: BrokerConfig) -> bool:
    """Whether a dynamic config changes the security of this listener."""
    prefix = listener_prefix(listener)
    if not name.startswith(prefix):
        return False
    return _is_changeable(name.removeprefix(prefix), config, listener)


def _is_changeable(rest: str, config: BrokerConfig, listener: str) -> bool:
    server = config.listener_security.get(listener)
    client = config.controller_security  # of the one listener that may have no other half
    if rest.startswith("ssl."):
        tls = client.tls if server is None else server.tls
        return rest in BROKER_CONFIG_DEF and tls is not None
    offered: Collection[MechanismSettings]
    if server is not None:
        offered = () if server.sasl is None else server.sasl.mechanisms
    else:
        offered = () if client.mechanism is None else (client.mechanism,)
    return rest in [f"{one.name.lower()}.{_JAAS}" for one in offered]


def _check(config: BrokerConfig, name: str, text: str) -> None:
    """Raise ConfigError for a key of a listener that cannot change, or whose value is wrong."""
    listeners = _listeners(config)
    listener = next((one for one in listeners if name.startswith(listener_prefix(one))), None)
    if listener is None:
        known = ", ".join(map(listener_prefix, listeners))
        raise ConfigError(name, f"{name}: this node has no such listener (it has {known})")
    if not _concerns(name, listener, config):
        raise ConfigError(name, _why_not(name, listener, config))
    if text.startswith("${"):
        raise ConfigError(
            name, f"{name}: config providers are asked at a start only; set the value"
        )


def _why_not(name: str, listener: str, config: BrokerConfig) -> str:
    key = key_of(name)
    server = config.listener_security.get(listener)
    protocol = (config.controller_security if server is None else server).security_protocol
    if key is None or key not in LISTENER_KEYS:
        return f"unknown configuration key {name}"
    if key.startswith("ssl."):
        return f"{name}: listener {listener} is {protocol}, without TLS"
    if key == _JAAS:
        return f"{name}: listener {listener} does not offer this mechanism"
    return (
        f"Cannot update these configs dynamically: [{name}] "
        "(Ottla takes them from its configuration file, at a start)"
    )
