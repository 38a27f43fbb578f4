"""The base of invariants: the events that they get, and the registers that they compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.network.sim_network import Exchange
from simulation.sim_trace import Violation

Value = TypeVar("Value")
__all__ = ["Invariant", "Promises", "Register", "Violation"]


@dataclass(slots=True)
class Promises:
    """The promises that hold under the faults of a run. `view` is None for a single broker."""

    view: SimulatedNodes | None = None
    calm_since_ms: float = math.inf
    """The time at which the cluster came to rest after the faults: since then, every broker has all
    metadata and records."""
    unclean_topics: tuple[str, ...] = ()
    """Topics for which an unclean election may take back what was committed."""
    transactional_topics: tuple[str, ...] = ()
    """Topics to which transactions write; read_committed consumers may have to wait there."""
    assigned_groups: tuple[str, ...] = ()
    """Groups that the broker assigns (KIP-848), or may: their generations are member epochs."""
    power_lost_ms: float = -1.0
    """When power was lost last. Bytes written before may be lost, unless they were fsynced."""

    interfered: bool = False
    """Whether a scenario makes requests fail, or leaves them unanswered, on purpose."""
    may_read: Callable[[Exchange, str], bool] = lambda _fetch, _topic: True
    """A function that returns whether a client has had the right to read a topic since its Fetch
    came, by the broker's metadata."""

    def rest(self, now_ms: float) -> None:
        """Set `calm_since_ms`: the cluster is at rest from now on."""
        self.calm_since_ms = now_ms

    def lose_power(self, now_ms: float) -> None:
        """Set `power_lost_ms`: bytes written before may be lost."""
        self.power_lost_ms = now_ms

    def interfere(self) -> None:
        """Set `interfered`: from now on requests may fail on purpose."""
        self.interfered = True

    def forgotten(self, exchange: Exchange) -> bool:
        """Return whether the result of a response may be lost, because power was lost after it."""
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
"""Errors after which the request may have been carried out or not: in a cluster, records may have
been appended and be replicated later."""


class Invariant:
    """A rule that gets all events between clients and brokers, and raises `Violation` if one breaks
    it."""

    name = ""
    stands_power_loss = False
    """Whether the rule holds also for responses from before a loss of power."""

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        self.world = world
        self.promises = promises

    def sent(self, exchange: Exchange) -> None:
        """React to a request that a client has sent; by default not at all."""

    def handled(self, exchange: Exchange) -> None:
        """React to a request that a broker begins to handle; by default not at all."""

    def answered(self, exchange: Exchange) -> None:
        """React to a broker's response, or to its closing the connection instead; by default not at
        all."""

    def received(self, exchange: Exchange) -> None:
        """Check a response that a client has received. Subclasses raise Violation; the default does
        nothing."""

    def unanswered(self, exchange: Exchange) -> None:
        """React to a request whose client will get no response; by default not at all."""

    def node_served(self, broker: SimBroker) -> None:
        """React to a broker that accepts clients from now on; by default not at all."""

    def node_ended(self, broker: SimBroker, why: str) -> None:
        """React to the end of a broker's process; by default not at all."""

    def power_lost(self, broker: SimBroker) -> None:
        """React to a broker's loss of writes that were not fsynced; by default not at all."""

    def node_ran(self, broker: SimBroker) -> None:
        """Check a broker after one of its callbacks: its state may have changed. Subclasses raise
        Violation; the default does nothing, and the cluster never calls it."""

    def at_end(self, final: object) -> None:
        """Check the cluster after all faults have ended and a last reader has read everything, into
        `final`. Subclasses raise Violation; the default does nothing."""

    @property
    def in_cluster(self) -> bool:
        return self.promises.view is not None

    def broken(self, text: str) -> Violation:
        """Return, without raising it, a Violation of this invariant."""
        return Violation(self.name, text)


class OfEachBroker(Invariant):
    """An invariant that checks at the end each of the `brokers` that have served."""

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self.brokers: dict[str, SimBroker] = {}

    def node_served(self, broker: SimBroker) -> None:
        """Add the node to `brokers`, if it has the broker role."""
        if broker.is_broker:
            self.brokers[broker.address] = broker


class Register(Generic[Value]):
    """A value that clients write and read, with the values that a read may return.

    Writes take effect in the order in which the broker handles them. A read returns the last write
    that was acknowledged before the read was sent, or a later write that was not rejected.
    """

    def __init__(self, initial: Value, *, reordered: bool = False) -> None:
        """`reordered`: a write with an unknown outcome may take effect after later acknowledged
        ones, because it is still on its way between nodes."""
        self._initial = initial
        self._reordered = reordered
        self._forgotten = 0
        self._writes: list[tuple[Exchange, Value]] = []
        self._refused: dict[Exchange, ErrorCode] = {}
        self._unsure: dict[Exchange, ErrorCode] = {}

    def write(self, exchange: Exchange, value: Value) -> None:
        """Add a write that a broker begins to handle."""
        self._writes.append((exchange, value))

    def refuse(self, exchange: Exchange, error: ErrorCode) -> None:
        """Keep a write's error: the value was not written, or that is unknown (`UNSURE`)."""
        (self._unsure if error in UNSURE else self._refused)[exchange] = error

    def forget(self) -> None:
        """Allow, from now on, any value written before, or none: power was lost."""
        self._forgotten = len(self._writes)

    def allowed(self, read: Exchange) -> list[Value]:
        """Return the values that the response to `read` may have."""
        assert read.answered_ms is not None
        allowed = [self._initial]
        unknown: list[Value] = []
        for number, (write, value) in enumerate(self._writes):
            assert write.handled_ms is not None
            if write in self._refused or write.handled_ms > read.answered_ms:
                continue
            is_sure = write.received_ms is not None and write.received_ms <= read.sent_ms
            is_sure = is_sure and write not in self._unsure
            if is_sure and number >= self._forgotten:
                allowed = [value, *unknown]
            else:
                allowed.append(value)
                if self._reordered:
                    unknown.append(value)
        return allowed
