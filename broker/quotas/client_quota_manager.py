"""One kind of quota for all clients of a node: the usage of each client, and how long it must wait.

Owns one measurement for each group of clients that share a quota. If no quota is set, nothing is
measured. A measurement that equals a new one is dropped after `KEPT_MS` without use. At most
`max_clients` are kept; beyond that, the least recently used is dropped. (Kafka keeps each for an
hour, without a limit.)

Never waits, mutes a connection, or reads a clock: times are monotonic milliseconds.

Follows Kafka's `ClientQuotaManager`, `ClientRequestQuotaManager` and
`ControllerMutationQuotaManager` (KIP-13, KIP-55, KIP-124, KIP-219, KIP-599).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from broker.quotas.limits import ClientEntity, CustomTags, QuotaLimits, Tags
from broker.quotas.measured import UNLIMITED, MeasuredRate, MeasuredTokens, MeasuredUsage
from broker.quotas.sampled_rate import Window
from broker.quotas.throttle_times import ThrottleTimes

KEPT_MS = 60_000
"""The span of the average throttle time, which is the default of Kafka's metrics."""
_SWEEP_AT_ONCE = 4


class QuotaKind(Enum):
    """A kind of quota: Kafka's name of it in metrics, and the key of its limit."""

    PRODUCE = "Produce", "producer_byte_rate"
    FETCH = "Fetch", "consumer_byte_rate"
    REQUEST = "Request", "request_percentage"
    CONTROLLER_MUTATION = "ControllerMutation", "controller_mutation_rate"

    @property
    def metric_group(self) -> str:
        """The kind's name in Kafka's metrics, such as `Produce`."""
        return self.value[0]

    @property
    def key(self) -> str:
        """The key of the kind's limit in the metadata, such as `producer_byte_rate`."""
        return self.value[1]


class Measurement(NamedTuple):
    """The metrics of the clients that share one quota."""

    tags: Tags | CustomTags
    level: float
    """The measured value: a rate per second, a percentage, or tokens."""
    throttle_ms: float
    """The average throttle time in milliseconds."""


class _ClientUsage:
    """The usage of the clients that share one quota."""

    __slots__ = ("limit", "measured", "throttled", "used_ms")

    def __init__(self, measured: MeasuredUsage, limit: float) -> None:
        self.measured = measured
        self.limit = limit
        self.used_ms = 0.0
        self.throttled = ThrottleTimes()


class ClientQuotaManager:
    """The quotas of one kind, such as the produce rate, for all clients of a node."""

    def __init__(
        self, kind: QuotaKind, window: Window, limits: QuotaLimits, max_clients: int = 100_000
    ) -> None:
        self.kind = kind
        self._window = window
        self._limits = limits
        self._max_clients = max_clients
        # The least recently used client comes first.
        self._clients: dict[Tags | CustomTags, _ClientUsage] = {}

    # --- limits ----------------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether any client may be limited."""
        return self._limits.any_set

    def put(self, entity: ClientEntity, limit: float | None) -> None:
        """Set the limit of an entity per second; None removes it. The usage so far is kept."""
        if self._limits.put(entity, limit):
            self._renew_limits()

    def _renew_limits(self) -> None:
        """Set the present limit of each measured client, whose usage is kept."""
        for tags, client in self._clients.items():
            client.limit = self._limit(tags)

    def _limit(self, tags: Tags | CustomTags) -> float:
        """Return the limit per second for these tags; UNLIMITED if no quota limits them."""
        limit = self._limits.limit(tags)
        return UNLIMITED if limit is None else limit

    def limits(self, principal: str, client_id: str) -> bool:
        """Return whether a quota limits this client."""
        limits = self._limits
        return limits.any_set and limits.limit(limits.tags_of(principal, client_id)) is not None

    # --- usage -----------------------------------------------------------------------------------

    def record(self, principal: str, client_id: str, value: float, now_ms: float) -> int:
        """Record a client's use of `value`. Return the milliseconds that it must wait; 0 if it is
        within its quota, or if no quota is set.

        A controller mutation that must wait is not recorded.
        """
        if not self._limits.any_set:
            return 0
        client = self._usage_of(principal, client_id, now_ms)
        if self.kind is QuotaKind.CONTROLLER_MUTATION:
            wait_ms = client.measured.throttle_ms(now_ms, client.limit)
            if not wait_ms:
                client.measured.record(value, now_ms, client.limit)
            return wait_ms
        client.measured.record(value, now_ms, client.limit)
        return client.measured.throttle_ms(now_ms, client.limit)

    def take(self, principal: str, client_id: str, value: float, now_ms: float) -> int:
        """Record a use of `value`, even if the client must wait. Return the wait in ms, or 0."""
        if not self._limits.any_set:
            return 0
        client = self._usage_of(principal, client_id, now_ms)
        client.measured.record(value, now_ms, client.limit)
        return client.measured.throttle_ms(now_ms, client.limit)

    def record_only(self, principal: str, client_id: str, value: float, now_ms: float) -> None:
        """Record a client's use of `value`; the client waits for it with its next request.

        A negative value takes back what was recorded but not sent.
        """
        if self._limits.any_set:
            client = self._usage_of(principal, client_id, now_ms)
            client.measured.record(value, now_ms, client.limit)

    def most_at_once(self, principal: str, client_id: str, now_ms: float) -> float:
        """Return the value above which a client is over its quota, even if it used nothing before.

        Return infinity if no quota limits it.
        """
        if not self._limits.any_set:
            return float("inf")
        limit = self._usage_of(principal, client_id, now_ms).limit
        if limit == UNLIMITED:
            return float("inf")
        window = self._window
        return limit * (window.num - 1) * (window.size_ms // 1000)

    def forget(self) -> None:
        """Drop all measurements."""
        self._clients.clear()

    def throttled(self, principal: str, client_id: str, wait_ms: int, now_ms: float) -> None:
        """Record for the metrics that a client must wait."""
        self._usage_of(principal, client_id, now_ms).throttled.record(wait_ms, now_ms)

    def _usage_of(self, principal: str, client_id: str, now_ms: float) -> _ClientUsage:
        """Return the usage of the client's quota, created if it is new, and mark it as used at
        `now_ms`.

        Renews all limits if a custom class says that they changed. A new usage also drops old ones.
        """
        if self._limits.changed_by_itself():
            self._renew_limits()
        tags = self._limits.tags_of(principal, client_id)
        clients = self._clients
        client = clients.pop(tags, None)
        if client is None:
            client = _ClientUsage(self._new_measurement(), self._limit(tags))
            self._sweep(now_ms)
        clients[tags] = client
        client.used_ms = now_ms
        return client

    def _new_measurement(self) -> MeasuredUsage:
        """Return a new, empty measurement of this kind."""
        if self.kind is QuotaKind.CONTROLLER_MUTATION:
            return MeasuredTokens(self._window)
        bounded = self.kind is QuotaKind.REQUEST
        return MeasuredRate(self._window, self._window.size_ms if bounded else None)

    def _sweep(self, now_ms: float) -> None:
        """Drop a few idle measurements that have not been used for KEPT_MS. At `max_clients`, also
        drop the least recently used measurement."""
        for tags in [tags for tags, _ in zip(self._clients, range(_SWEEP_AT_ONCE), strict=False)]:
            client = self._clients[tags]
            if now_ms - client.used_ms < KEPT_MS:
                break
            if client.measured.idle(now_ms, client.limit):
                del self._clients[tags]
        if len(self._clients) >= self._max_clients:
            del self._clients[next(iter(self._clients))]

    # --- for metrics -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._clients)

    def measurements(self, now_ms: float) -> Iterator[Measurement]:
        """Yield the metrics of all clients that are measured."""
        for tags, client in self._clients.items():
            level = client.measured.level(now_ms, client.limit)
            yield Measurement(tags, level, client.throttled.average_ms(now_ms))
