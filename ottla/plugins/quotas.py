"""Who shares a quota, and how much it is: the class that a quota callback extends.

As Kafka's `ClientQuotaCallback` (KIP-257).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class QuotaType(Enum):
    """What is limited, by the key of its quota."""

    PRODUCE = "producer_byte_rate"
    """Bytes a second."""
    FETCH = "consumer_byte_rate"
    """Bytes a second."""
    REQUEST = "request_percentage"
    """Percent of the event loop's time."""
    CONTROLLER_MUTATION = "controller_mutation_rate"
    """Partitions that are created or deleted, a second."""


class QuotaEntity(NamedTuple):
    """Whom `kafka-configs` sets a quota for."""

    user: str | None
    """The name; None: the default of users; empty: the quota is not of a user."""
    client_id: str | None
    """The same for the client id."""


class ClientQuotaCallback(ABC):
    """Decides whose use is added up, and what it may be (`client.quota.callback.class`).

    It is asked on the event loop, for each request: whatever it does, all clients wait for. No
    request is answered as prepared while it is there. One that raises limits nobody.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first question. `settings` are those of the node."""

    @abstractmethod
    def metric_tags(self, quota: QuotaType, principal: str, client_id: str) -> Mapping[str, str]:
        """What a client's use is added to: who has the same tags shares one quota. They also name
        its metrics. `principal` with its type, as `User:alice`."""

    @abstractmethod
    def limit(self, quota: QuotaType, tags: Mapping[str, str]) -> float | None:
        """What those with these tags may take a second, more than 0; None: any amount."""

    def update(self, quota: QuotaType, entity: QuotaEntity, limit: float) -> None:  # noqa: B027
        """A quota was set in the metadata."""

    def remove(self, quota: QuotaType, entity: QuotaEntity) -> None:  # noqa: B027
        """A quota was removed from the metadata."""

    def reset_required(self, quota: QuotaType) -> bool:
        """Whether limits are others than when they were last asked for. It is asked at each
        request; then all of them are asked for again."""
        return False
