"""The class that a quota callback extends: it decides which clients share a quota, and its limit.

It is Kafka's `ClientQuotaCallback` (KIP-257).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class QuotaType(Enum):
    """The kind of use that is limited; the value is the key of its quota."""

    PRODUCE = "producer_byte_rate"
    """Bytes per second that clients produce."""
    FETCH = "consumer_byte_rate"
    """Bytes per second that clients fetch."""
    REQUEST = "request_percentage"
    """Percent of the event loop's time that requests take."""
    CONTROLLER_MUTATION = "controller_mutation_rate"
    """Partitions per second that are created or deleted."""


class QuotaEntity(NamedTuple):
    """The user and client id for which `kafka-configs` sets a quota."""

    user: str | None
    """The user's name. None: the default of all users. Empty: the quota does not depend on the
    user."""
    client_id: str | None
    """The client id, with the same meanings of None and empty."""


class ClientQuotaCallback(ABC):
    """The class that `client.quota.callback.class` names. It decides which clients share a quota,
    and the quota's limit.

    The broker calls it on the event loop for each request, so all clients wait while it runs. While
    such a class is set, the broker uses no prepared answers (see `Authorizer.remembered`). If the
    class raises, the request is not limited.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings: the value of each key in its file. Does nothing unless a
        subclass overrides it. The broker calls this once, before the first request; if it raises,
        the node does not start."""

    @abstractmethod
    def metric_tags(self, quota: QuotaType, principal: str, client_id: str) -> Mapping[str, str]:
        """Return the tags of the quota to which a client's use is added. Clients with equal tags
        share one quota. The tags also name the quota's metrics. `principal` includes its type:
        `User:alice`."""

    @abstractmethod
    def limit(self, quota: QuotaType, tags: Mapping[str, str]) -> float | None:
        """Return how much the clients with these tags may use per second, more than 0, in the unit
        of `quota`. None, like an invalid value, sets no limit."""

    def update(self, quota: QuotaType, entity: QuotaEntity, limit: float) -> None:  # noqa: B027
        """Receive the value of a quota that was set or changed in the metadata; `limit` is in the
        unit of `quota`. Does nothing unless a subclass overrides it."""

    def remove(self, quota: QuotaType, entity: QuotaEntity) -> None:  # noqa: B027
        """Receive the news that a quota was removed from the metadata. Does nothing unless a
        subclass overrides it."""

    def reset_required(self, quota: QuotaType) -> bool:
        """Return whether limits have changed since the broker last called `limit`; the default is
        False. The broker calls this for each request, and after True calls `limit` again for all
        tags."""
        return False
