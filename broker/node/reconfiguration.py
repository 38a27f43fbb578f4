"""Dynamic configs of a running node: what is in force, and who is told when it changes.

Owns the configuration in force. Never: knows what a key does: each part of the node says what it
makes of the whole. The security of listeners has a way of its own (`broker.node.security.guards`),
and so do the defaults of topics (`broker.replication.replica_manager`). Follows Kafka's
`DynamicBrokerConfig` (KIP-226).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.config.in_force import config_in_force
from broker.config.values import BrokerConfig
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType

Reconfigure = Callable[[BrokerConfig], None]
"""Makes a configuration take effect; also called where what it looks at is as before."""

_log = logging.getLogger(f"ottla.{__name__}")


class Reconfiguration:
    """Of one node."""

    def __init__(self, config: BrokerConfig) -> None:
        """`config` is the file's."""
        self._file = config
        self._parts: list[Reconfigure] = []
        self.config = config
        """What is in force."""

    def add(self, *parts: Reconfigure) -> None:
        """Tell each of every change from now on; at once, where something is other than in the
        file."""
        self._parts += parts
        if self.config is not self._file:
            for part in parts:
                part(self.config)

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Metadata was replayed."""
        ours = ("", str(self._file.node_id))
        kind = int(ResourceType.BROKER)
        if not any((kind, name) in delta.changed_configs for name in ours):
            return
        config = config_in_force(self._file, image)
        if config == self.config:
            return
        self.config = config
        for part in self._parts:
            try:
                part(config)
            except Exception:  # noqa: BLE001  the other parts are told nevertheless
                _log.exception("a change of this node's configs did not take effect")
