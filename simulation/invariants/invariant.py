"""What invariants have in common: what they are told, and the registers they compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from simulation.machines.cluster_view import ClusterView
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from simulation.sim_trace import Violation

Value = TypeVar("Value")
__all__ = ["Invariant", "Promises", "Register", "Violation"]


@dataclass(slots=True)
class Promises:
    """What the faults of a run leave standing. `view` only where the brokers are a cluster."""

    view: ClusterView | None = None
    calm_since_ms: float = math.inf
    """Since when a cluster is at rest after the heal: every broker knows everything."""
    unclean_topics: tuple[str, ...] = ()
    """Topics for which an unclean election may take back what was committed."""
    transactional_topics: tuple[str, ...] = ()
    """Topics to which transactions write, and which hold consumers of read_committed up."""
    assigned_groups: tuple[str, ...] = ()
    """Groups that the broker assigns, or may: a generation there is a member's epoch."""
    power_lost_ms: float = -1.0
    """When power was lost last: bytes written before may be gone, unless they were fsynced."""

    interfered: bool = False
    """Whether requests are refused, cut off or left unanswered on purpose."""
    may_read: Callable[[Exchange, str], bool] = lambda _fetch, _topic: True
    """Whether a client has had the right to read a topic since its fetch came, as far as the
    broker knows."""

    def rest(self, now_ms: float) -> None:
        """The cluster is at rest from now on."""
        self.calm_since_ms = now_ms

    def lose_power(self, now_ms: float) -> None:
        """What was written before may be gone."""
        self.power_lost_ms = now_ms

    def interfere(self) -> None:
        """From now on requests fail on purpose."""
        self.interfered = True

    def forgotten(self, exchange: Exchange) -> bool:
        """Whether what a broker said may be gone, because power was lost since."""
        return exchange.answered_ms is not None and exchange.answered_ms <= self.power_lost_ms


UNSURE = (
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NETWORK_EXCEPTION,
)
"""Errors after which it may, or may not, have been done: in a cluster, something may have been
appended and be replicated yet."""


class Invariant:
    """One rule. Told of everything that clients and brokers say, it raises `Violation`."""

    name = ""
    stands_power_loss = False
    """Whether it holds for what was said before power was lost, too."""

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        self.world = world
        self.promises = promises

    def sent(self, exchange: Exchange) -> None:
        """A client sent a request."""

    def handled(self, exchange: Exchange) -> None:
        """A broker begins with a request."""

    def answered(self, exchange: Exchange) -> None:
        """A broker answered it, or closed its connection."""

    def received(self, exchange: Exchange) -> None:
        """A client got the response."""

    def given_up(self, exchange: Exchange) -> None:
        """A client will not hear the answer."""

    def node_served(self, broker: SimBroker) -> None:
        """A broker accepts clients."""

    def node_ended(self, broker: SimBroker, why: str) -> None:
        """A broker's process ended."""

    def power_lost(self, broker: SimBroker) -> None:
        """What a broker had written may be gone, unless it was fsynced."""

    def node_ran(self, broker: SimBroker) -> None:
        """Something ran in a broker: its state may be another."""

    def at_end(self, final: object) -> None:
        """All is healed, and a reader of its own has read everything."""

    @property
    def in_cluster(self) -> bool:
        return self.promises.view is not None

    def broken(self, text: str) -> Violation:
        return Violation(self.name, text)


class OfEachBroker(Invariant):
    """One that looks, at the end, at each of the `brokers` that have served."""

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self.brokers: dict[str, SimBroker] = {}

    def node_served(self, broker: SimBroker) -> None:
        if broker.is_broker:
            self.brokers[broker.address] = broker


class Register(Generic[Value]):
    """One value that is written and read: what a reader may see.

    Writes take effect in the order in which the broker handles them. A reader sees the last write
    that was acknowledged before it asked, or one that came after that and was not refused.
    """

    def __init__(self, initial: Value, *, reordered: bool = False) -> None:
        """`reordered`: a write whose outcome its client does not know may come later than others
        that are known: it is on its way from one node to another."""
        self._initial = initial
        self._reordered = reordered
        self._forgotten = 0
        self._writes: list[tuple[Exchange, Value]] = []
        self._refused: dict[Exchange, ErrorCode] = {}
        self._unsure: dict[Exchange, ErrorCode] = {}

    def write(self, exchange: Exchange, value: Value) -> None:
        """A broker begins to handle a write."""
        self._writes.append((exchange, value))

    def refuse(self, exchange: Exchange, error: ErrorCode) -> None:
        """The client was told that nothing was written, or that nobody knows."""
        (self._unsure if error in UNSURE else self._refused)[exchange] = error

    def forget(self) -> None:
        """Power was lost: any value that was written before may be there, or none."""
        self._forgotten = len(self._writes)

    def allowed(self, read: Exchange) -> list[Value]:
        """What the answer to `read` may tell."""
        assert read.answered_ms is not None
        allowed = [self._initial]
        unknown: list[Value] = []
        for number, (write, value) in enumerate(self._writes):
            assert write.handled_ms is not None
            if write in self._refused or write.handled_ms > read.answered_ms:
                continue
            known = write.received_ms is not None and write.received_ms <= read.sent_ms
            known = known and write not in self._unsure
            if known and number >= self._forgotten:
                allowed = [value, *unknown]
            else:
                allowed.append(value)
                if self._reordered:
                    unknown.append(value)
        return allowed
