"""Changes to the security of a listener while a node runs.

Owns which keys of a listener may change: its TLS, and the JAAS text of a mechanism that it offers.
Owns the resulting security of a listener: dynamic configs of the node above its file. Both halves
of a listener read the same keys. A node that is only a broker has just the client half of the
controllers' listener. This module opens no store: a `broker.config.dynamic.SecurityValidator`
checks whether a new one can be loaded.

Follows KIP-226 and what a running Kafka accepts. Unlike Kafka, it rejects a JAAS text that
cannot be read, and a key of a listener that would change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping

from broker.config.applied_keys import is_of_node
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_KEYS, LISTENER_PREFIX, key_of
from broker.config.security.listener_keys import listener_prefix
from broker.config.security.listeners import security_of_listener
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
    """Return the names of the listeners that a change affects.

    `set_now` are the keys that the request sets, even to the same value, because the files behind
    them may have changed. Raises ConfigError for a key that cannot change, or a value that names a
    config provider.
    """
    names = [name for name in {**before, **after} if name.startswith(LISTENER_PREFIX)]
    touched = [name for name in names if name in set_now or before.get(name) != after.get(name)]
    for name in touched:
        if name in after and not is_of_node(config, name):
            _check(config, name, after[name])
    return _concerned_listeners(config, touched)


def security_in_force(
    config: BrokerConfig, image: MetadataImage, listener: str
) -> ListenerSecurity:
    """Return the security of a listener in force: dynamic configs of this node above its file.

    If one of them, from another release, cannot be read, they are left out with a warning, so that
    they do not stop a node.
    """
    dynamic = image.config(ResourceType.BROKER, str(config.node_id))
    try:
        return _changed_security(config, dynamic, listener)
    except ConfigError as error:
        _log.warning("dynamic configs of listener %s are left out: %s", listener, error)
        return config.listener_security[listener]


def security_changes(
    config: BrokerConfig, delta: MetadataDelta, image: MetadataImage
) -> Iterator[ListenerSecurity]:
    """Yield the security in force of each of this node's listeners that are in
    `replayed_listeners`."""
    for listener in replayed_listeners(config, delta):
        if listener in config.listener_security:
            yield security_in_force(config, image, listener)


def replayed_listeners(config: BrokerConfig, delta: MetadataDelta) -> list[str]:
    """Return the names of the listeners with dynamic security, before or after `delta`.

    Return an empty list if `delta` does not change this node's configs. Listeners whose texts are
    all the same are included: a key that is set again means that its file should be read again.
    """
    resource = (int(ResourceType.BROKER), str(config.node_id))
    if resource not in delta.changed_configs:
        return []
    names = {**delta.image.configs.get(resource, {}), **delta.changed_configs[resource]}
    return _concerned_listeners(config, names)


def is_security(config: BrokerConfig, name: str) -> bool:
    """Return whether a dynamic config changes the security of one of this node's listeners."""
    return bool(_concerned_listeners(config, [name]))


def _changed_security(
    config: BrokerConfig, dynamic: Mapping[str, str], listener: str
) -> ListenerSecurity:
    """Return the listener's security with its changed keys.

    Raises ConfigError if they are wrong.
    """
    own = {name: text for name, text in dynamic.items() if _concerns(name, listener, config)}
    protocol = config.listener_security[listener].security_protocol
    return security_of_listener({**config.originals, **own}, listener, protocol)


def _concerned_listeners(config: BrokerConfig, names: Collection[str]) -> list[str]:
    """Return the listeners whose security one of these keys changes."""
    return [
        listener
        for listener in _listeners(config)
        if any(_concerns(name, listener, config) for name in names)
    ]


def _listeners(config: BrokerConfig) -> list[str]:
    """Return the listeners of which this node has at least one half."""
    return list(dict.fromkeys([*config.listener_security, *config.controller_listener_names[:1]]))


def _concerns(name: str, listener: str, config: BrokerConfig) -> bool:
    """Return whether a dynamic config changes the security of this listener: only a key that
    begins with the listener's prefix does."""
    prefix = listener_prefix(listener)
    if not name.startswith(prefix):
        return False
    return _is_changeable(name.removeprefix(prefix), config, listener)


def _is_changeable(rest: str, config: BrokerConfig, listener: str) -> bool:
    """Return True if a running node can change this TLS or JAAS key of the listener.

    `rest` is the key without the listener's prefix.
    """
    server = config.listener_security.get(listener)
    client = config.controller_security  # only the controllers' listener may lack the server half
    if rest.startswith("ssl."):
        tls = client.tls if server is None else server.tls
        return rest in BROKER_CONFIG_DEF and tls is not None
    offered: Collection[MechanismSettings]
    if server is not None:
        offered = () if server.sasl is None else server.sasl.mechanisms
    else:
        offered = () if client.mechanism is None else (client.mechanism,)
    return rest in [f"{mechanism.name.lower()}.{_JAAS}" for mechanism in offered]


def _check(config: BrokerConfig, name: str, text: str) -> None:
    """Check that a running node can change this key of a listener to `text`.

    Raises ConfigError if the key cannot change, or if `text` names a config provider.
    """
    listeners = _listeners(config)
    listener = next(
        (candidate for candidate in listeners if name.startswith(listener_prefix(candidate))), None
    )
    if listener is None:
        prefixes = ", ".join(map(listener_prefix, listeners))
        raise ConfigError(name, f"{name}: this node has no such listener (it has {prefixes})")
    if not _concerns(name, listener, config):
        raise ConfigError(name, _why_not_changeable(name, listener, config))
    if text.startswith("${"):
        raise ConfigError(
            name, f"{name}: config providers are asked at a start only; set the value"
        )


def _why_not_changeable(name: str, listener: str, config: BrokerConfig) -> str:
    """Return the text of the error for a key that a running node cannot change."""
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
