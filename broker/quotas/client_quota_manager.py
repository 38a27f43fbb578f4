"""One kind of quota for all clients of a node: what each has used, and how long it has to wait.

Owns what is measured, one measurement for each group of clients that share a quota. Where nobody
is limited, nobody is measured. A measurement that a new one would equal is let go of once it has
not been used for `KEPT_MS`; at most `max_clients` are kept, then the one that was used least
recently goes first. (Kafka keeps each for an hour, however many.)

Never waits, mutes a connection, or looks at a clock: times are monotonic milliseconds.

Follows Kafka's `ClientQuotaManager`, `ClientRequestQuotaManager` and
`ControllerMutationQuotaManager` (KIP-13, KIP-55, KIP-124, KIP-219, KIP-599).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from broker.quotas.limits import ClientEntity, CustomTags, Limits, Tags
from broker.quotas.measured import UNLIMITED, Measured, MeasuredRate, MeasuredTokens
from broker.quotas.sampled_rate import Window
from broker.quotas.throttle_times import ThrottleTimes

KEPT_MS = 60_000
"""That of the average throttle time: what Kafka's metrics have unless they are told otherwise."""
_SWEEP_AT_ONCE = 4


class QuotaKind(Enum):
    """What is limited: Kafka's name of the kind, and the key of its quota."""

    PRODUCE = "Produce", "producer_byte_rate"
    FETCH = "Fetch", "consumer_byte_rate"
    REQUEST = "Request", "request_percentage"
    CONTROLLER_MUTATION = "ControllerMutation", "controller_mutation_rate"

    @property
    def metric_group(self) -> str:
        return self.value[0]

    @property
    def key(self) -> str:
        return self.value[1]


class Measurement(NamedTuple):
    """Of those who share one quota."""

    tags: Tags | CustomTags
    level: float
    """What was measured: a rate a second, percent, or tokens."""
    throttle_ms: float
    """The average throttle time."""


class _Client:
    """Those who share one quota."""

    __slots__ = ("limit", "measured", "throttled", "used_ms")

    def __init__(self, measured: Measured, limit: float) -> None:
        self.measured = measured
        self.limit = limit
        self.used_ms = 0.0
        self.throttled = ThrottleTimes()


class ClientQuotaManager:
    """See the module."""

    def __init__(
        self, kind: QuotaKind, window: Window, limits: Limits, max_clients: int = 100_000
    ) -> None:
        self.kind = kind
        self._window = window
        self._limits = limits
        self._max_clients = max_clients
        # The one used least recently comes first.
        self._clients: dict[Tags | CustomTags, _Client] = {}

    # --- what is set -----------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether anybody might be limited."""
        return self._limits.any_set

    def put(self, entity: ClientEntity, limit: float | None) -> None:
        """Set a quota, a second; None removes it. What was used stays known."""
        if self._limits.put(entity, limit):
            self._refresh()

    def _refresh(self) -> None:
        for tags, client in self._clients.items():
            client.limit = self._limit(tags)

    def _limit(self, tags: Tags | CustomTags) -> float:
        limit = self._limits.limit(tags)
        return UNLIMITED if limit is None else limit

    def limits(self, principal: str, client_id: str) -> bool:
        """Whether a quota counts for a client."""
        limits = self._limits
        return limits.any_set and limits.limit(limits.tags_of(principal, client_id)) is not None

    # --- what is used ----------------------------------------------------------------------------

    def record(self, principal: str, client_id: str, value: float, now_ms: float) -> int:
        """A client has taken `value`; how many milliseconds it has to wait.

        Of controller mutations, one that has to wait has taken nothing.
        """
        if not self._limits.any_set:
            return 0
        client = self._client(principal, client_id, now_ms)
        if self.kind is QuotaKind.CONTROLLER_MUTATION:
            wait_ms = client.measured.throttle_ms(now_ms, client.limit)
            if not wait_ms:
                client.measured.record(value, now_ms, client.limit)
            return wait_ms
        client.measured.record(value, now_ms, client.limit)
        return client.measured.throttle_ms(now_ms, client.limit)

    def take(self, principal: str, client_id: str, value: float, now_ms: float) -> int:
        """The same, but all is taken, also by one that has to wait."""
        if not self._limits.any_set:
            return 0
        client = self._client(principal, client_id, now_ms)
        client.measured.record(value, now_ms, client.limit)
        return client.measured.throttle_ms(now_ms, client.limit)

    def record_only(self, principal: str, client_id: str, value: float, now_ms: float) -> None:
        """It has taken that; what it has to wait for it is said at its next request. Negative:
        it was not given what was recorded."""
        if self._limits.any_set:
            client = self._client(principal, client_id, now_ms)
            client.measured.record(value, now_ms, client.limit)

    def most_at_once(self, principal: str, client_id: str, now_ms: float) -> float:
        """More than this is over the quota, whatever was used before; infinite without one."""
        if not self._limits.any_set:
            return float("inf")
        limit = self._client(principal, client_id, now_ms).limit
        if limit == UNLIMITED:
            return float("inf")
        window = self._window
        return limit * (window.num - 1) * (window.size_ms // 1000)

    def forget(self) -> None:
        """Nobody has taken anything yet."""
        self._clients.clear()

    def throttled(self, principal: str, client_id: str, wait_ms: int, now_ms: float) -> None:
        """A client was told to wait: for the metrics."""
        self._client(principal, client_id, now_ms).throttled.record(wait_ms, now_ms)

    def _client(self, principal: str, client_id: str, now_ms: float) -> _Client:
        if self._limits.changed_by_itself():
            self._refresh()
        tags = self._limits.tags_of(principal, client_id)
        clients = self._clients
        client = clients.pop(tags, None)
        if client is None:
            client = _Client(self._measured(), self._limit(tags))
            self._sweep(now_ms)
        clients[tags] = client
        client.used_ms = now_ms
        return client

    def _measured(self) -> Measured:
        if self.kind is QuotaKind.CONTROLLER_MUTATION:
            return MeasuredTokens(self._window)
        bounded = self.kind is QuotaKind.REQUEST
        return MeasuredRate(self._window, self._window.size_ms if bounded else None)

    def _sweep(self, now_ms: float) -> None:
        """Let go of some that nobody has used, and make room for one."""
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
        """Of all that are known."""
        for tags, client in self._clients.items():
            level = client.measured.level(now_ms, client.limit)
            yield Measurement(tags, level, client.throttled.average_ms(now_ms))
