"""Dynamic configs of a running node: the configuration in force, and its users.

Owns the configuration in force. Never interprets a key: each part of the node applies the whole
configuration to itself. The security of listeners is changed in another way
(`broker.node.security.guards`), and so are the defaults of topics
(`broker.replication.replica_manager`). Follows Kafka's `DynamicBrokerConfig` (KIP-226).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.config.in_force import config_in_force
from broker.config.values import BrokerConfig
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType

Reconfigure = Callable[[BrokerConfig], None]
"""A function that applies a configuration; it also runs if its own keys have not changed."""

_log = logging.getLogger(f"ottla.{__name__}")


class Reconfiguration:
    """The dynamic configuration of a node."""

    def __init__(self, config: BrokerConfig) -> None:
        """Start with the configuration of the file."""
        self._file = config
        self._parts: list[Reconfigure] = []
        self.config = config
        """The configuration in force."""

    def add(self, *parts: Reconfigure) -> None:
        """Call each function at every change from now on.

        Call it now, too, if the configuration in force already differs from the file.
        """
        self._parts += parts
        if self.config is not self._file:
            for part in parts:
                part(self.config)

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Call the functions of `add` with the new configuration, if dynamic configs of this
        broker, or of all brokers, have changed it. An error of a function is logged."""
        own_names = ("", str(self._file.node_id))
        kind = int(ResourceType.BROKER)
        if not any((kind, name) in delta.changed_configs for name in own_names):
            return
        config = config_in_force(self._file, image)
        if config == self.config:
            return
        self.config = config
        for part in self._parts:
            try:
                part(config)
            except Exception:  # noqa: BLE001  the other parts still get the change
                _log.exception("a change of this node's configs did not take effect")
