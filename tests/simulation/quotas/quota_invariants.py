"""I22: whoever takes more than its quota is answered, told how long it has to wait, held back for
exactly that, and never longer than a quota can make it. Once all quotas are removed, nobody waits.

The longest wait is the reference's own (`_longest_ms`): all that all clients took from a broker in
its window counts for each of them, at the lowest rate that is ever set. Request time is bounded by
one slice of the window, as in Kafka (`ClientRequestQuotaManager`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, response_parts
from simulation.invariants.invariant import OfEachBroker
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from simulation.sim_trace import Muted
from tests.simulation.quotas.quota_changer import (
    FETCH,
    MUTATION,
    PRODUCE,
    RATES,
    WINDOW_NUM,
    WINDOW_S,
)

LONGEST_REQUEST_MS = WINDOW_S * 1_000
KEPT_MS = (WINDOW_NUM + 1) * WINDOW_S * 1_000
"""What was taken before that does not count: the slices of a window, and one that lies in part."""
FETCHED_MAX = max(RATES[FETCH]) * (WINDOW_NUM - 1) * WINDOW_S
"""The most that an answer may hold whose client is limited, whatever its quota is by then."""
PARTITIONS_MAX = 8
"""Those of a topic in these runs."""
BEGUN_WITHIN_MS = 2_000.0
TOLD = "throttle_time_ms"
_KINDS = {ApiKey.PRODUCE: PRODUCE, ApiKey.FETCH: FETCH, ApiKey.SHARE_FETCH: FETCH}
_MUTATIONS = (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS)


@dataclass(slots=True)
class _Connection:
    """One whose client had to wait."""

    node: str
    free_ms: float
    """When its last answer was given, and that wait was over."""
    busy: bool = False


class NobodyWaitsForEver(OfEachBroker):
    """See the module."""

    name = "I22"
    stands_power_loss = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.muted = Muted()
        self._any_set = False
        self._taken: dict[tuple[str, str], deque[tuple[float, int]]] = {}
        """What was taken, and when; by broker and key."""
        self._mutated = 0
        self._connections: dict[int, _Connection] = {}

    def handled(self, exchange: Exchange) -> None:
        known = self._connections.get(exchange.connection)
        if known is not None:
            known.busy = True
        if exchange.key is ApiKey.ALTER_CLIENT_QUOTAS:
            self._any_set = True
        elif exchange.key in _MUTATIONS:
            self._mutated += _partitions(exchange)

    def answered(self, exchange: Exchange) -> None:
        kind = _KINDS.get(exchange.key)
        if kind is not None:
            self._took(
                exchange.node, kind, exchange.size if kind is PRODUCE else exchange.answer_size
            )
        self._frees(exchange)
        if not exchange.muted_ms:
            return
        self._count(exchange)
        longest_ms = self._longest_ms(exchange)
        if exchange.muted_ms > longest_ms:
            raise self.broken(
                f"{exchange.client} waits {exchange.muted_ms} ms after #{exchange.number} "
                f"{exchange.key.name}: no quota can ask for more than {longest_ms:.0f}"
            )

    def node_answered(self, node: str, api_key: int, size: int) -> None:
        """Count the dead letters that a node writes to another: their Produce requests are limited
        like those of a client."""
        if api_key == ApiKey.PRODUCE:
            self._took(node, PRODUCE, size)

    def _took(self, node: str, kind: str, size: int) -> None:
        self._taken.setdefault((node, kind), deque()).append((self.world.now_ms, size))

    def _frees(self, exchange: Exchange) -> None:
        free_ms = self.world.now_ms + exchange.muted_ms
        known = self._connections.get(exchange.connection)
        if known is not None:
            known.busy, known.free_ms = False, free_ms
        elif exchange.muted_ms:
            self._connections[exchange.connection] = _Connection(exchange.node, free_ms)

    def received(self, exchange: Exchange) -> None:
        told = getattr(exchange.response, TOLD, 0)
        if told != exchange.muted_ms and (told or _can_tell(exchange)):
            raise self.broken(
                f"{exchange.client} is told to wait {told} ms after #{exchange.number} "
                f"{exchange.key.name} and waits {exchange.muted_ms}"
            )

    def unanswered(self, exchange: Exchange) -> None:
        """One that its broker could have begun with, and did not, was held back for too long."""
        known = self._connections.get(exchange.connection)
        if known is None or known.busy or exchange.handled_ms is not None:
            return
        broker = self.brokers.get(known.node)
        if exchange.arrived_ms is None or broker is None or broker.paused:
            return
        free_ms = max(exchange.arrived_ms, known.free_ms, broker.paused_ms)
        if self.world.now_ms - free_ms >= BEGUN_WITHIN_MS:
            raise self.broken(
                f"#{exchange.number} {exchange.key.name} of {exchange.client} could have been "
                f"begun with since {free_ms:.0f}"
            )

    def node_ended(self, broker: SimBroker, why: str) -> None:
        gone = [key for key, one in self._connections.items() if one.node == broker.address]
        for key in gone:
            del self._connections[key]

    def at_end(self, final: object) -> None:
        for broker in self.brokers.values():
            node = broker.node
            if node is None:
                continue
            if node.image.client_quotas:
                raise self.broken(f"{broker.address} has quotas: {node.image.client_quotas}")
            if node.shared.quotas.enabled:
                raise self.broken(f"{broker.address} limits clients, though no quota is set")

    # --- the longest wait ------------------------------------------------------------------------

    def _longest_ms(self, exchange: Exchange) -> float:
        handled_ms = exchange.handled_ms
        assert handled_ms is not None
        if not self._any_set or handled_ms > self.promises.calm_since_ms:
            return 0.0
        longest_ms = float(LONGEST_REQUEST_MS)
        kind = _KINDS.get(exchange.key)
        if kind is not None:
            taken = self._taken_lately(exchange.node, kind)
            if kind is FETCH:  # what it was not given: the bytes of an empty answer
                taken += FETCHED_MAX
            longest_ms = max(longest_ms, taken / min(RATES[kind]) * 1_000)
        elif exchange.key in _MUTATIONS:
            longest_ms = max(longest_ms, self._mutated / min(RATES[MUTATION]) * 1_000)
        return longest_ms + 1  # rounded

    def _taken_lately(self, node: str, kind: str) -> float:
        taken = self._taken[(node, kind)]
        while taken[0][0] < self.world.now_ms - KEPT_MS:
            taken.popleft()
        return float(sum(size for _, size in taken))

    def _count(self, exchange: Exchange) -> None:
        muted = self.muted
        kind = _KINDS.get(exchange.key)
        self.muted = Muted(
            muted.produces + (kind is PRODUCE),
            muted.fetches + (kind is FETCH),
            muted.mutations + (exchange.key in _MUTATIONS),
            muted.others + (kind is None and exchange.key not in _MUTATIONS),
            max(muted.longest_ms, exchange.muted_ms),
        )


def _partitions(exchange: Exchange) -> int:
    """At most so many are made or deleted."""
    request = exchange.request
    if exchange.key is ApiKey.DELETE_TOPICS:
        return PARTITIONS_MAX * max(len(request.topics), len(request.topic_names))
    if exchange.key is ApiKey.CREATE_TOPICS:
        return sum(one.num_partitions for one in request.topics)
    return sum(one.count for one in request.topics)


def _can_tell(exchange: Exchange) -> bool:
    """Whether the answer has a place for it, in its version."""
    response = exchange.response
    if TOLD not in type(response).__slots__:
        return False
    before = getattr(response, TOLD)
    setattr(response, TOLD, 1)
    parts = response_parts(response, exchange.version, 0)
    setattr(response, TOLD, before)
    data = parts if isinstance(parts, bytes | bytearray) else b"".join(map(bytes, parts))
    _, read = decode_response(exchange.key, memoryview(data)[4:], exchange.version)
    return getattr(read, TOLD) == 1
