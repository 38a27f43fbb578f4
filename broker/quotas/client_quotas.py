"""The quotas of one node: the limits that the metadata sets, and the throttle time of each request.

Owns one `ClientQuotaManager` for each kind and the connection rates of addresses, and applies the
quotas of each new image. A request of a client with a quota gets a `RequestLimits`, which is used
for that request only.

A request uses time of one thread, the loop's, from its frame to its answer. The request quota is a
percentage of that time (Kafka's is of all handler and network threads). The client's throttle time
is the longest wait of all kinds. A Fetch that must wait gets no records, and its bytes do not
count. Controller mutations over the quota are rejected in versions that have the error; in older
versions they are executed.

Never mutes a connection, makes a response, or reads a clock of its own.

Follows Kafka's `QuotaFactory`, `RequestHandlerHelper` and `ClientQuotaMetadataManager` (KIP-219,
KIP-599).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Protocol

from broker.quotas.client_quota_manager import ClientQuotaManager, QuotaKind
from broker.quotas.ip_connection_rates import IpConnectionRates
from broker.quotas.limits import NO_NAME, ClientEntity, QuotaLimits, SetLimits
from broker.quotas.sampled_rate import Window
from controller.metadata.client_quotas import CLIENT_ID, IP, USER, ClientQuotas, QuotaEntity
from protocol.api_keys import ApiKey
from protocol.ip_address import ip_address
from protocol.message import Message

CONNECTION_RATE = "connection_creation_rate"
_STRICT_FROM = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.CREATE_PARTITIONS: 3}
"""The versions from which a request over the quota is rejected; only these APIs have mutations."""
_NODE_APIS = (ApiKey.WRITE_TXN_MARKERS,)
"""APIs that only nodes send to each other; they have no quota."""
_THROTTLE_FIELD = "throttle_time_ms"
"""The response field with the throttle time; nearly all responses have it."""
_NOTHING: Mapping[str, float] = {}


class QuotaClient(Protocol):
    """The client that sent a request."""

    @property
    def principal(self) -> str: ...


class NodeQuotas:
    """The quotas of one node."""

    def __init__(
        self,
        window: Window,
        controller_window: Window,
        now_ms: Callable[[], float],
        limits: Callable[[QuotaKind], QuotaLimits] = lambda _kind: SetLimits(),
        max_clients: int = 100_000,
    ) -> None:
        """Create quotas without limits. `now_ms` is monotonic. `limits` makes the limits of one
        kind of quota.

        `max_clients` is the most clients, and the most addresses, that are measured per kind.
        """

        def manager(kind: QuotaKind) -> ClientQuotaManager:
            """Return the manager of one kind, with the controller's window for mutations."""
            mutations = kind is QuotaKind.CONTROLLER_MUTATION
            kind_window = controller_window if mutations else window
            return ClientQuotaManager(kind, kind_window, limits(kind), max_clients)

        self.managers = {kind: manager(kind) for kind in QuotaKind}
        self.addresses = IpConnectionRates(window, max_clients)
        self.enabled = False
        self.now_ms = now_ms
        self._set: ClientQuotas = {}
        self._limits_by_spelling: dict[str | None, dict[str | None, float]] = {}
        """Address → each spelling that a quota has of it, with its limit."""
        self._listeners: list[Callable[[], None]] = []
        self._update_enabled()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` each time a quota is set, changed or removed."""
        self._listeners.append(listener)

    # --- limits ----------------------------------------------------------------------------------

    def apply_image(self, quotas: ClientQuotas) -> None:
        """Apply the quotas of a new image, and notify the listeners if they changed."""
        before, self._set = self._set, quotas
        if quotas is before:
            return
        for entity in {**before, **quotas}:
            old, new = before.get(entity, _NOTHING), quotas.get(entity, _NOTHING)
            if old is not new:
                self._put(entity, old, new)
        self._update_enabled()
        for listener in self._listeners:
            listener()

    def _update_enabled(self) -> None:
        """Set `enabled` to whether any quota of clients is set; those of addresses do not count."""
        self.enabled = any(manager.enabled for manager in self.managers.values())

    def _put(self, entity: QuotaEntity, old: Mapping[str, float], new: Mapping[str, float]) -> None:
        """Set the new connection rate of an address, or a client's new limit in the manager of each
        kind that changed."""
        names = dict(entity)
        if IP in names:
            self._put_address(names[IP], new.get(CONNECTION_RATE))
            return
        client = ClientEntity(names.get(USER, NO_NAME), names.get(CLIENT_ID, NO_NAME))
        for kind, manager in self.managers.items():
            if old.get(kind.key) != new.get(kind.key):
                manager.put(client, _number(new.get(kind.key)))

    def _put_address(self, name: str | None, limit: float | None) -> None:
        """Limit the connections per second of an address, or with None of all others. If quotas
        spell an address in several ways, the lowest limit counts.

        A name that is no IP address is ignored. The limit None removes the quota of this spelling.
        """
        address = None if name is None else ip_address(name)
        if name is not None and address is None:
            return
        limits = self._limits_by_spelling.setdefault(address, {})
        limits.pop(name, None)
        if (number := _number(limit)) is not None:
            limits[name] = number
        self.addresses.put(address, min(limits.values(), default=None))
        if not limits:
            del self._limits_by_spelling[address]

    def forget(self) -> None:
        """Drop all measurements; the limits stay."""
        for manager in self.managers.values():
            manager.forget()
        self.addresses.forget()

    # --- requests --------------------------------------------------------------------------------

    def of(
        self, asker: QuotaClient, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> RequestLimits | None:
        """Return the limits for a request of `size` bytes, whose time counts from now; None if no
        quota limits it.

        No quota limits a request that only nodes send (WriteTxnMarkers).
        """
        principal, client_id = asker.principal, client_id or ""
        managers = self.managers
        limiting = [
            manager
            for manager in (managers[QuotaKind.REQUEST], self._manager_of_api(api_key))
            if manager is not None and manager.limits(principal, client_id)
        ]
        if not limiting or api_key in _NODE_APIS:
            return None
        strict = api_version >= _STRICT_FROM.get(api_key, 0)  # type: ignore[call-overload]
        return RequestLimits(self.now_ms, limiting, principal, client_id, size, strict)

    def of_controller(
        self, asker: QuotaClient, client_id: str | None, api_key: int, api_version: int
    ) -> RequestLimits | None:
        """Return the limits for a request to a controller, where only mutations are limited.

        Return None if no quota limits it.
        """
        if not self.enabled or api_key not in _STRICT_FROM:
            return None
        limits = self.of(asker, client_id, api_key, api_version, 0)
        return None if limits is None else limits.of_mutations()

    def _manager_of_api(self, api_key: int) -> ClientQuotaManager | None:
        """Return the manager of an API's own quota, besides the request quota. Return None if the
        API has no such quota."""
        if api_key == ApiKey.PRODUCE:
            return self.managers[QuotaKind.PRODUCE]
        if api_key in (ApiKey.FETCH, ApiKey.SHARE_FETCH):
            return self.managers[QuotaKind.FETCH]
        if api_key in _STRICT_FROM:
            return self.managers[QuotaKind.CONTROLLER_MUTATION]
        return None


class RequestLimits:
    """The limits of one request of a client (`broker.requests.context.RequestQuota`)."""

    __slots__ = (
        "_begun_ms",
        "_client_id",
        "_exempt",
        "_managers",
        "_now_ms",
        "_principal",
        "_recorded_ms",
        "_size",
        "_strict",
        "_spent_ms",
        "_waits",
    )

    def __init__(
        self,
        now_ms: Callable[[], float],
        managers: list[ClientQuotaManager],
        principal: str,
        client_id: str,
        size: int,
        strict: bool,
    ) -> None:
        """Begin to measure the time of a request of `size` bytes. `managers` are those of the
        quotas that limit it; if `strict`, mutations over the quota are rejected."""
        self._now_ms = now_ms
        self._managers = {manager.kind: manager for manager in managers}
        self._principal = principal
        self._client_id = client_id
        self._size = size
        self._strict = strict
        self._exempt = False
        self._begun_ms: float | None = now_ms()
        """The start of the request; None after it was handled."""
        self._recorded_ms: float | None = None
        """The part of the request's time that is recorded already; None before the answer."""
        self._waits: dict[QuotaKind, float] = {}
        """The time until which the client must wait, by the kind of quota that it exceeded."""
        self._spent_ms = 0.0

    def of_mutations(self) -> RequestLimits | None:
        """Return limits for controller mutations only; None if no quota limits those."""
        mutations = self._managers.get(QuotaKind.CONTROLLER_MUTATION)
        if mutations is None:
            return None
        client = self._principal, self._client_id
        return RequestLimits(self._now_ms, [mutations], *client, self._size, self._strict)

    def exempt(self) -> None:
        """Exempt this request from all quotas, because another node sent it."""
        self._exempt = True

    def most_fetched(self) -> float:
        """Return the bytes above which any response would be throttled; infinity if no Fetch quota
        limits the client."""
        manager = self._managers.get(QuotaKind.FETCH)
        if manager is None:
            return float("inf")
        return manager.most_at_once(self._principal, self._client_id, self._now_ms())

    def fetched(self, size: int) -> int:
        """Record the request's time and a Fetch of `size` bytes. Return the milliseconds that the
        client must wait, or 0.

        If it must wait, the response has no records, and the bytes do not count. An exempt request
        records nothing.
        """
        if self._exempt:
            return 0
        now_ms = self._now_ms()
        self._record_time(now_ms)
        self._record(QuotaKind.FETCH, size, now_ms)
        wait_ms = self._wait_ms(now_ms)
        manager = self._managers.get(QuotaKind.FETCH)
        if wait_ms and manager is not None:
            manager.record_only(self._principal, self._client_id, -size, now_ms)
        return wait_ms

    def take_partitions(self, count: int) -> bool:
        """Record the creation or deletion of `count` partitions. Return False if it must be
        rejected; then it is not recorded. Older versions are never rejected: they only wait."""
        manager = self._managers.get(QuotaKind.CONTROLLER_MUTATION)
        if manager is None:
            return True
        now_ms = self._now_ms()
        take = manager.record if self._strict else manager.take
        wait_ms = take(self._principal, self._client_id, count, now_ms)
        if wait_ms:
            self._waits[QuotaKind.CONTROLLER_MUTATION] = now_ms + wait_ms
        return not (wait_ms and self._strict)

    def answered(self, response: Message | None) -> int:
        """Record the request's time and the bytes of a Produce. Put the throttle time into the
        response, and return it in milliseconds.

        `response` is None if the client gets none. An exempt request records nothing and returns 0.
        """
        if self._exempt:
            return 0
        now_ms = self._now_ms()
        if response is not None:
            self._record_time(now_ms)
        self._record(QuotaKind.PRODUCE, self._size, now_ms)
        wait_ms = self._wait_ms(now_ms)
        if response is not None and _THROTTLE_FIELD in response.__slots__:
            # The controller may have set a throttle time in the answer to a forwarded request.
            wait_ms = max(wait_ms, getattr(response, _THROTTLE_FIELD))
            setattr(response, _THROTTLE_FIELD, wait_ms)
        if wait_ms:
            kind = max(self._waits, key=self._waits.__getitem__, default=QuotaKind.REQUEST)
            manager = self._managers.get(kind)
            if manager is not None:
                manager.throttled(self._principal, self._client_id, wait_ms, now_ms)
        return wait_ms

    def handled(self) -> None:
        """End the measurement of the request's time, after its handler has returned.

        Time since the answer is recorded now, but the client waits for it with its next request.
        """
        now_ms, begun_ms, recorded_ms = self._now_ms(), self._begun_ms, self._recorded_ms
        self._begun_ms = None
        if begun_ms is None:
            return
        self._spent_ms = now_ms - begun_ms
        manager = self._managers.get(QuotaKind.REQUEST)
        if manager is not None and recorded_ms is not None and not self._exempt:
            more = _percent(self._spent_ms - recorded_ms)
            manager.record_only(self._principal, self._client_id, more, now_ms)

    def _record_time(self, now_ms: float) -> None:
        """Record the request's time until now against its quota, once."""
        if self._recorded_ms is None:
            spent_ms = self._spent_ms if self._begun_ms is None else now_ms - self._begun_ms
            self._recorded_ms = spent_ms
            self._record(QuotaKind.REQUEST, _percent(spent_ms), now_ms)

    def _record(self, kind: QuotaKind, value: float, now_ms: float) -> None:
        """Record `value` in the kind's quota, if that limits the request. Keep the time until which
        the client must wait for it."""
        manager = self._managers.get(kind)
        if manager is not None:
            wait_ms = manager.record(self._principal, self._client_id, value, now_ms)
            if wait_ms:
                self._waits[kind] = now_ms + wait_ms

    def _wait_ms(self, now_ms: float) -> int:
        """Return how long the client must still wait for its longest quota, in ms."""
        return max(0, round(max(self._waits.values(), default=0) - now_ms))


class MutationQuotas:
    """The quotas of requests to a controller (`broker.requests.context.Quotas`)."""

    def __init__(self, quotas: NodeQuotas) -> None:
        self._quotas = quotas

    @property
    def enabled(self) -> bool:
        """Whether any quota is set."""
        return self._quotas.enabled

    def of(
        self, asker: QuotaClient, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> RequestLimits | None:
        """Return the limits for a request's controller mutations; None if no quota limits those."""
        return self._quotas.of_controller(asker, client_id, api_key, api_version)


def _percent(ms: float) -> float:
    """Return a time as a percentage of one thread's second."""
    return ms / 10


def _number(limit: float | None) -> float | None:
    """Return the limit; None if it is NaN, which Kafka's records can contain and which limits
    nothing.
    """
    return None if limit is None or isnan(limit) else limit
