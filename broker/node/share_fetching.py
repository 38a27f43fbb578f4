"""The share groups at this broker's partition leaders, created when they are first needed.

Many brokers never see a share group, so the start loads none of these modules. They are created
with the first ShareFetch or ShareAcknowledge. Until then, no connection has a session.

Owns the connections between these parts and the rest of the node. Never decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from broker.apis.cluster_view import ImageSource
from broker.config.values import BrokerConfig
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.version import SHARE_VERSION
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.share.share_partition_manager import SharePartitionManager
    from broker.share.share_partitions import Bury, StateStore

SHARE_FETCH_KEYS = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
"""The APIs whose modules are loaded with the first request for one of them."""


class NodeShareFetching:
    """The share groups at the partition leaders of a broker."""

    def __init__(
        self,
        config: BrokerConfig,
        metadata: ImageSource,
        replicas: ReplicaManager,
        store: Callable[[], StateStore],
        bury: Callable[[], Bury],
    ) -> None:
        """Create nothing yet. `store()` returns the port to the share coordinators, `bury()` the
        writer of dead letters; both are called at the first use."""
        self._config = config
        self._metadata = metadata
        self._replicas = replicas
        self._store = store
        self._bury = bury
        self._begun = False

    @cached_property
    def manager(self) -> SharePartitionManager:
        """The sessions and share-partitions of this broker, created at the first use."""
        # Brokers without share groups do not load these modules.
        from broker.share.delivery.settings import GroupDeliverySettings
        from broker.share.share_partition_manager import ShareOutside, SharePartitionManager

        self._begun = True
        settings = GroupDeliverySettings(self._config, lambda: self._metadata.image)
        return SharePartitionManager(
            ShareOutside(
                self._replicas,
                self._store(),
                settings.of,
                self._bury(),
                self._share_version,
                self._config.group_share_max_share_sessions,
            )
        )

    @property
    def begun_manager(self) -> SharePartitionManager | None:
        """The manager if it was created already, else None."""
        return self.manager if self._begun else None

    def apis(self, answers: SlicedAnswers) -> list[Api]:
        """Return the APIs of SHARE_FETCH_KEYS; their modules load now."""
        from broker.apis.share_fetch.acknowledge_api import ShareAcknowledgeApi
        from broker.apis.share_fetch.api import ShareFetchApi

        return [
            *ShareFetchApi(self._config, self.manager, self._replicas, answers).apis(),
            *ShareAcknowledgeApi(self.manager, self._replicas, answers).apis(),
        ]

    def _share_version(self) -> int:
        """Return the finalized feature level of `share.version`, 0 if there is none."""
        return self._metadata.image.features.get(SHARE_VERSION, 0)

    def connection_closed(self, connection_id: str) -> None:
        """Close the share session of a client's connection, which has closed."""
        if self._begun:
            self.manager.connection_closed(connection_id)

    def metadata_changed(self) -> None:
        """End all sessions if the cluster has no share groups any more."""
        if self._begun:
            self.manager.metadata_changed()
