"""The quotas of one node: what the metadata sets, and what a request is told by them.

Owns one `ClientQuotaManager` for each kind and the connection rates of addresses, and takes over
what an image has set. A request of somebody whom a quota limits gets a `RequestLimits`, which is
good for that request only.

A request takes part of one thread's time, the loop's, from its frame to its answer; the quota is in
percent of that (Kafka's is of all handler and network threads). The larger of all waits is told,
and the client waits for that. A Fetch that has to wait gets nothing, and its bytes count for
nothing; controller mutations beyond the quota are refused from the versions on that know the error,
older ones are carried out.

Never mutes a connection, makes an answer, or looks at a clock of its own.

Follows Kafka's `QuotaFactory`, `RequestHandlerHelper` and `ClientQuotaMetadataManager` (KIP-219,
KIP-599).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isnan
from typing import Protocol

from broker.quotas.client_quota_manager import ClientQuotaManager, QuotaKind
from broker.quotas.ip_connection_rates import IpConnectionRates
from broker.quotas.limits import NO_NAME, ClientEntity, Limits, SetLimits
from broker.quotas.sampled_rate import Window
from controller.metadata.client_quotas import CLIENT_ID, IP, USER, ClientQuotas, QuotaEntity
from protocol.api_keys import ApiKey
from protocol.ip_address import ip_address
from protocol.message import Message

CONNECTION_RATE = "connection_creation_rate"
_STRICT_FROM = {ApiKey.CREATE_TOPICS: 6, ApiKey.DELETE_TOPICS: 5, ApiKey.CREATE_PARTITIONS: 3}
"""Versions from which on a refusal is told; requests of these APIs alone create or delete."""
_OF_NODES = (ApiKey.WRITE_TXN_MARKERS,)
"""What nodes ask each other takes nothing."""
_TOLD = "throttle_time_ms"
"""The field of an answer that tells how long its client has to wait; nearly all have it."""
_NOTHING: Mapping[str, float] = {}


class Client(Protocol):
    """Who asks."""

    @property
    def principal(self) -> str: ...


class NodeQuotas:
    """See the module."""

    def __init__(
        self,
        window: Window,
        controller_window: Window,
        now_ms: Callable[[], float],
        limits: Callable[[QuotaKind], Limits] = lambda _kind: SetLimits(),
        max_clients: int = 100_000,
    ) -> None:
        """`now_ms` is monotonic; `limits` make what says whose quota is how much."""

        def manager(kind: QuotaKind) -> ClientQuotaManager:
            mutations = kind is QuotaKind.CONTROLLER_MUTATION
            chosen = controller_window if mutations else window
            return ClientQuotaManager(kind, chosen, limits(kind), max_clients)

        self.managers = {kind: manager(kind) for kind in QuotaKind}
        self.addresses = IpConnectionRates(window, max_clients)
        self.enabled = False
        self.now_ms = now_ms
        self._set: ClientQuotas = {}
        self._limits_by_spelling: dict[str | None, dict[str | None, float]] = {}
        """Address → each name that a quota gives it, with its limit."""
        self._listeners: list[Callable[[], None]] = []
        self._look()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call it when a quota was set, changed or removed."""
        self._listeners.append(listener)

    # --- what is set -----------------------------------------------------------------------------

    def follow(self, quotas: ClientQuotas) -> None:
        """From now on by these, which an image has."""
        before, self._set = self._set, quotas
        if quotas is before:
            return
        for entity in {**before, **quotas}:
            old, new = before.get(entity, _NOTHING), quotas.get(entity, _NOTHING)
            if old is not new:
                self._put(entity, old, new)
        self._look()
        for listener in self._listeners:
            listener()

    def _look(self) -> None:
        self.enabled = any(manager.enabled for manager in self.managers.values())

    def _put(self, entity: QuotaEntity, old: Mapping[str, float], new: Mapping[str, float]) -> None:
        names = dict(entity)
        if IP in names:
            self._put_address(names[IP], new.get(CONNECTION_RATE))
            return
        client = ClientEntity(names.get(USER, NO_NAME), names.get(CLIENT_ID, NO_NAME))
        for kind, manager in self.managers.items():
            if old.get(kind.key) != new.get(kind.key):
                manager.put(client, _number(new.get(kind.key)))

    def _put_address(self, name: str | None, limit: float | None) -> None:
        """Limit an address: of quotas that name it in several spellings, the lowest counts."""
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
        """Nobody has taken anything yet; what is set stays."""
        for manager in self.managers.values():
            manager.forget()
        self.addresses.forget()

    # --- requests --------------------------------------------------------------------------------

    def of(
        self, asker: Client, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> RequestLimits | None:
        """For a request of so many bytes; None where nothing limits who sent it."""
        principal, client_id = asker.principal, client_id or ""
        managers = self.managers
        limiting = [
            manager
            for manager in (managers[QuotaKind.REQUEST], self._special(api_key))
            if manager is not None and manager.limits(principal, client_id)
        ]
        if not limiting or api_key in _OF_NODES:
            return None
        strict = api_version >= _STRICT_FROM.get(api_key, 0)  # type: ignore[call-overload]
        return RequestLimits(self.now_ms, limiting, principal, client_id, size, strict)

    def of_controller(
        self, asker: Client, client_id: str | None, api_key: int, api_version: int
    ) -> RequestLimits | None:
        """The same at a controller, where only mutations are limited."""
        if not self.enabled or api_key not in _STRICT_FROM:
            return None
        found = self.of(asker, client_id, api_key, api_version, 0)
        return None if found is None else found.of_mutations()

    def _special(self, api_key: int) -> ClientQuotaManager | None:
        """What limits requests of that API, beside their time."""
        if api_key == ApiKey.PRODUCE:
            return self.managers[QuotaKind.PRODUCE]
        if api_key == ApiKey.FETCH:
            return self.managers[QuotaKind.FETCH]
        if api_key in _STRICT_FROM:
            return self.managers[QuotaKind.CONTROLLER_MUTATION]
        return None


class RequestLimits:
    """One request of somebody whom a quota limits (`broker.requests.context.RequestQuota`)."""

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
        "_told_ms",
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
        self._now_ms = now_ms
        self._managers = {manager.kind: manager for manager in managers}
        self._principal = principal
        self._client_id = client_id
        self._size = size
        self._strict = strict
        self._exempt = False
        self._begun_ms: float | None = now_ms()
        """None: it is handled, and takes no more time."""
        self._recorded_ms: float | None = None
        """How much of its time counts already; None: none, and it was not answered yet."""
        self._waits: dict[QuotaKind, float] = {}
        """Until when it has to wait, by what it took too much of."""
        self._told_ms = 0.0

    def of_mutations(self) -> RequestLimits | None:
        """The same, but only partitions count."""
        mutations = self._managers.get(QuotaKind.CONTROLLER_MUTATION)
        if mutations is None:
            return None
        who = self._principal, self._client_id
        return RequestLimits(self._now_ms, [mutations], *who, self._size, self._strict)

    def exempt(self) -> None:
        """It is a node's, and takes nothing."""
        self._exempt = True

    def most_fetched(self) -> float:
        """Bytes above which an answer would have to wait in any case."""
        manager = self._managers.get(QuotaKind.FETCH)
        if manager is None:
            return float("inf")
        return manager.most_at_once(self._principal, self._client_id, self._now_ms())

    def fetched(self, size: int) -> int:
        """It would be given so many bytes: how many milliseconds it has to wait, without them."""
        if self._exempt:
            return 0
        now_ms = self._now_ms()
        self._take_time(now_ms)
        self._record(QuotaKind.FETCH, size, now_ms)
        wait_ms = self._wait_ms(now_ms)
        manager = self._managers.get(QuotaKind.FETCH)
        if wait_ms and manager is not None:
            manager.record_only(self._principal, self._client_id, -size, now_ms)
        return wait_ms

    def take_partitions(self, count: int) -> bool:
        """It creates or deletes partitions. False: it may not."""
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
        """That is its answer, and tells how long it has to wait; the milliseconds. None: it gets
        none."""
        if self._exempt:
            return 0
        now_ms = self._now_ms()
        if response is not None:
            self._take_time(now_ms)
        self._record(QuotaKind.PRODUCE, self._size, now_ms)
        wait_ms = self._wait_ms(now_ms)
        if response is not None and _TOLD in response.__slots__:
            # The controller may have said so, of a request that was passed on.
            wait_ms = max(wait_ms, getattr(response, _TOLD))
            setattr(response, _TOLD, wait_ms)
        if wait_ms:
            kind = max(self._waits, key=self._waits.__getitem__, default=QuotaKind.REQUEST)
            manager = self._managers.get(kind)
            if manager is not None:
                manager.throttled(self._principal, self._client_id, wait_ms, now_ms)
        return wait_ms

    def handled(self) -> None:
        """It is handled: what it takes from now on is others' time. Time since its answer counts
        at the client's next request."""
        now_ms, begun_ms, recorded_ms = self._now_ms(), self._begun_ms, self._recorded_ms
        self._begun_ms = None
        if begun_ms is None:
            return
        self._told_ms = now_ms - begun_ms
        manager = self._managers.get(QuotaKind.REQUEST)
        if manager is not None and recorded_ms is not None and not self._exempt:
            more = _percent(self._told_ms - recorded_ms)
            manager.record_only(self._principal, self._client_id, more, now_ms)

    def _take_time(self, now_ms: float) -> None:
        if self._recorded_ms is None:
            spent_ms = self._told_ms if self._begun_ms is None else now_ms - self._begun_ms
            self._recorded_ms = spent_ms
            self._record(QuotaKind.REQUEST, _percent(spent_ms), now_ms)

    def _record(self, kind: QuotaKind, value: float, now_ms: float) -> None:
        manager = self._managers.get(kind)
        if manager is not None:
            wait_ms = manager.record(self._principal, self._client_id, value, now_ms)
            if wait_ms:
                self._waits[kind] = now_ms + wait_ms

    def _wait_ms(self, now_ms: float) -> int:
        return max(0, round(max(self._waits.values(), default=0) - now_ms))


class MutationQuotas:
    """What limits those who ask a controller itself (`broker.requests.context.Quotas`)."""

    def __init__(self, quotas: NodeQuotas) -> None:
        self._quotas = quotas

    @property
    def enabled(self) -> bool:
        """Whether anything is limited."""
        return self._quotas.enabled

    def of(
        self, asker: Client, client_id: str | None, api_key: int, api_version: int, size: int
    ) -> RequestLimits | None:
        """For a request; None where nothing limits who sent it."""
        return self._quotas.of_controller(asker, client_id, api_key, api_version)


def _percent(ms: float) -> float:
    """Of one thread's second."""
    return ms / 10


def _number(limit: float | None) -> float | None:
    """A folder of Kafka's may hold what is no number: there it limits nobody."""
    return None if limit is None or isnan(limit) else limit
