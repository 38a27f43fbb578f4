"""What is in force on a node: its file, above it what is set for all brokers, above both its own.

Never: refuses a change (`broker.config.dynamic`), or applies one (`broker.node.reconfiguration`).
What another release wrote and this one cannot read is left out, so that it does not stop a start;
so is what contradicts the rest.

Follows KIP-226 and Kafka's `DynamicBrokerConfig`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from broker.config.applied_keys import TOPIC_DEFAULTS, is_of_node
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, key_of
from broker.config.parse import with_overrides
from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError, ConfigValue
from storage.log_config import server_defaults

_log = logging.getLogger(f"ottla.{__name__}")


def dynamic_texts(image: MetadataImage, node_id: int) -> dict[str, str]:
    """What is set for all brokers, and for this one above it."""
    return {
        **image.config(ResourceType.BROKER, ""),
        **image.config(ResourceType.BROKER, str(node_id)),
    }


def config_in_force(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """`config`, which is the file's, with all that this node applies of its dynamic configs but the
    security of its listeners (`secured_config`) and defaults of topics (`topic_defaults`). The same
    object where nothing is set."""
    return with_dynamic(config, dynamic_texts(image, config.node_id))


def with_dynamic(config: BrokerConfig, texts: Mapping[str, str]) -> BrokerConfig:
    """The same for these dynamic configs."""
    applied = {
        name: text
        for name, text in texts.items()
        if is_of_node(config, name) and is_valid(name, text)
    }
    while applied:
        try:
            return with_overrides(config, applied)
        except ConfigError as error:  # of one broker and of all of them, each alone is right
            _log.warning("dynamic configs are left out: %s", error)
            at_fault = [name for name in applied if name == error.name] or list(applied)
            applied = {name: text for name, text in applied.items() if name not in at_fault}
    return config


def topic_defaults(config: BrokerConfig, image: MetadataImage) -> Mapping[str, ConfigValue]:
    """Defaults of topic configs on this broker: its file, and dynamic configs above it."""
    dynamic = {
        name: text
        for name, text in dynamic_texts(image, config.node_id).items()
        if name in TOPIC_DEFAULTS and is_valid(name, text)
    }
    return server_defaults({**config.originals, **dynamic}) if dynamic else config.topic_defaults


def secured_config(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """`config` with what is in force for the security of its listeners, both halves of it: dynamic
    configs of this node above the file. To be told of each listener that changes, and to keep the
    others where one cannot be read: `broker.config.security.changes.security_changes`."""
    dynamic = image.config(ResourceType.BROKER, str(config.node_id))
    if not any(name.startswith(LISTENER_PREFIX) for name in dynamic):
        return config
    try:
        return with_listeners(config, dynamic)
    except ConfigError as error:
        _log.warning("dynamic configs of listeners are left out: %s", error)
        return config


def with_listeners(config: BrokerConfig, dynamic: Mapping[str, str]) -> BrokerConfig:
    """`config` with the security of its listeners from dynamic configs above it. Raises
    ConfigError."""
    from broker.config.security.changes import is_security

    own = {name: text for name, text in dynamic.items() if is_security(config, name)}
    return with_overrides(config, own) if own else config


def is_valid(name: str, text: str) -> bool:
    """Whether a value of a known key, or of one behind a listener's prefix, can be read."""
    key = key_of(name)
    try:
        assert key is not None
        BROKER_CONFIG_DEF[key].parse(text)
    except ConfigError:
        return False
    return True
