"""The configuration in force on a node: its file, and dynamic configs on top.

A config of all brokers takes precedence over the file, and the broker's own over both. Never
rejects a change (`broker.config.dynamic`), or applies one (`broker.node.reconfiguration`). A value
from another release that this one cannot read is left out, so that it does not prevent a start. A
value that contradicts the rest is left out, too.

Follows KIP-226 and Kafka's `DynamicBrokerConfig`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from broker.config.applied_keys import TOPIC_DEFAULTS, is_of_node
from broker.config.group_configs import within_limits
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, key_of
from broker.config.parse import with_overrides
from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError, ConfigValue
from storage.log_config import server_defaults

_log = logging.getLogger(f"ottla.{__name__}")


def dynamic_texts(image: MetadataImage, node_id: int) -> dict[str, str]:
    """Return the dynamic configs of all brokers, with those of this broker on top."""
    return {
        **image.config(ResourceType.BROKER, ""),
        **image.config(ResourceType.BROKER, str(node_id)),
    }


def config_in_force(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """Return `config`, which is the file's, with the dynamic configs that this node applies.

    The security of its listeners (`secured_config`) and defaults of topics (`topic_defaults`) are
    left out. Return the same object if nothing is set.
    """
    return with_dynamic(config, dynamic_texts(image, config.node_id))


def with_dynamic(config: BrokerConfig, texts: Mapping[str, str]) -> BrokerConfig:
    """Return `config` with these dynamic configs, as in `config_in_force`. Log at WARNING those
    that contradict the rest, and leave them out."""
    applied = {
        name: _limited(config, name, text)
        for name, text in texts.items()
        if is_of_node(config, name) and is_valid(name, text)
    }
    while applied:
        try:
            return with_overrides(config, applied)
        except ConfigError as error:  # configs of one broker and of all, each valid by itself
            _log.warning("dynamic configs are left out: %s", error)
            at_fault = [name for name in applied if name == error.name] or list(applied)
            applied = {name: text for name, text in applied.items() if name not in at_fault}
    return config


def _limited(config: BrokerConfig, name: str, text: str) -> str:
    """Return a value within the server's limits. Log at WARNING if it is not the value that was
    set."""
    in_force = within_limits(config, name, text)
    if in_force != text:
        _log.warning("%s=%s is beyond the limit: %s is in force", name, text, in_force)
    return in_force


def topic_defaults(config: BrokerConfig, image: MetadataImage) -> Mapping[str, ConfigValue]:
    """Return the defaults of topic configs on this broker: dynamic configs above its file."""
    dynamic = {
        name: text
        for name, text in dynamic_texts(image, config.node_id).items()
        if name in TOPIC_DEFAULTS and is_valid(name, text)
    }
    return server_defaults({**config.originals, **dynamic}) if dynamic else config.topic_defaults


def secured_config(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """Return `config` with the security of listeners in force, from this node's dynamic configs.

    If one of them cannot be read, log that and leave out all. To learn of each listener that
    changes, and to keep the others if one cannot be read, use
    `broker.config.security.changes.security_changes`.
    """
    dynamic = image.config(ResourceType.BROKER, str(config.node_id))
    if not any(name.startswith(LISTENER_PREFIX) for name in dynamic):
        return config
    try:
        return with_listeners(config, dynamic)
    except ConfigError as error:
        _log.warning("dynamic configs of listeners are left out: %s", error)
        return config


def with_listeners(config: BrokerConfig, dynamic: Mapping[str, str]) -> BrokerConfig:
    """Return `config` with dynamic configs of the security of its listeners. Raises ConfigError."""
    from broker.config.security.changes import is_security

    own = {name: text for name, text in dynamic.items() if is_security(config, name)}
    return with_overrides(config, own) if own else config


def is_valid(name: str, text: str) -> bool:
    """Return whether a value can be read. `name` is a known key, alone or after a listener's
    prefix."""
    key = key_of(name)
    try:
        assert key is not None
        BROKER_CONFIG_DEF[key].parse(text)
    except ConfigError:
        return False
    return True
