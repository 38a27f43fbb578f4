"""Invariants of ids, of answers and of the process: I15, I19 and I20 in
tests/simulation/README.md."""

from __future__ import annotations

from broker.replication.fetch_session import FetchSession
from broker.replication.partition import Partition
from broker.share.share_partition_manager import SharePartitionManager
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from simulation.invariants.invariant import Invariant, OfEachBroker, Promises
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange

ANSWER_WITHIN_MS = 5_000.0
SYNC_WITHIN_MS = 8_000.0
"""The rebalance time-out of simulated members."""
CLUSTER_WITHIN_MS = 5_000.0
"""The extra time of a request in a cluster, for the controller's or the replicas' part."""
PERSISTED_WITHIN_MS = 70_000.0
"""The time in which a leader has an answer of a share coordinator, or gives up: nine attempts of
5 s, and 25 s of pauses between them (`broker.share.persister`)."""


class IdsAreUnique(Invariant):
    """I15: producer ids, member ids and broker epochs are given out once, and so are the epochs of
    the producer id of a transactional id."""

    name = "I15"
    stands_power_loss = True

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._producers: dict[int, str] = {}
        self._epochs: dict[tuple[int, int], str] = {}
        self._members: dict[tuple[str, str], str] = {}

    def received(self, exchange: Exchange) -> None:
        """Raise Violation if a producer id, its epoch or a member id was given before."""
        request, response = exchange.request, exchange.response
        if exchange.key is ApiKey.INIT_PRODUCER_ID and request.transactional_id is not None:
            if not response.error_code:
                self._check_epoch(exchange, request.transactional_id)
        elif exchange.key is ApiKey.INIT_PRODUCER_ID and not response.error_code:
            if response.producer_id in self._producers:
                owner = self._producers[response.producer_id]
                raise self.broken(f"producer id {response.producer_id} is {owner}'s")
            self._producers[response.producer_id] = exchange.client
        elif exchange.key is ApiKey.JOIN_GROUP and not request.member_id and response.member_id:
            key = (request.group_id, response.member_id)
            number = f"{exchange.client}#{exchange.number}"
            if self._members.setdefault(key, number) != number:
                raise self.broken(f"member id {response.member_id} is {self._members[key]}'s")

    def _check_epoch(self, exchange: Exchange, transactional_id: str) -> None:
        """Raise Violation if this producer id and epoch were given before."""
        response = exchange.response
        owner = self._producers.setdefault(response.producer_id, transactional_id)
        if owner != transactional_id:
            raise self.broken(f"producer id {response.producer_id} is {owner}'s")
        epoch = (response.producer_id, response.producer_epoch)
        if epoch in self._epochs:
            raise self.broken(
                f"{exchange.client} is given epoch {epoch[1]} of producer id {epoch[0]}, which is "
                f"{self._epochs[epoch]}'s"
            )
        self._epochs[epoch] = exchange.client

    def node_served(self, broker: SimBroker) -> None:
        """Raise Violation if the broker's new epoch is not above the one before."""
        if any(before >= broker.epochs[-1] for before in broker.epochs[:-1][-1:]):
            raise self.broken(f"broker epochs {broker.epochs}")


class EachRequestEnds(Invariant):
    """I20: each request is answered, or its connection closed, within its own time-out and a
    margin."""

    name = "I20"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._open: dict[Exchange, None] = {}

    def handled(self, exchange: Exchange) -> None:
        """Schedule the check of the request for the time when its limit has passed."""
        self._open[exchange] = None
        self.world.call_later(self._limit_ms(exchange), lambda: self._check(exchange))

    def answered(self, exchange: Exchange) -> None:
        """Drop the request from those that must still be answered."""
        self._open.pop(exchange, None)

    def node_ended(self, broker: SimBroker, why: str) -> None:
        """Drop the open requests of the ended process."""
        self._open = {exchange: None for exchange in self._open if exchange.node != broker.address}

    def _check(self, exchange: Exchange) -> None:
        """Raise Violation if a request is still unanswered at its limit.

        If the broker was paused, the request's time starts again. After a fault that may lose
        answers, nothing is checked.
        """
        if exchange not in self._open or self.promises.interfered:
            return
        if not self._was_paused(exchange):
            raise self.broken(
                f"#{exchange.number} {exchange.key.name} of {exchange.client} has no answer"
            )

    def _was_paused(self, exchange: Exchange) -> bool:
        """Return whether the broker was paused since it has the request; the request's time then
        starts again."""
        view = self.promises.view
        broker = view.at(exchange.node) if view is not None else None
        if broker is None or not (broker.paused or broker.paused_ms > (exchange.handled_ms or 0)):
            return False
        exchange.begins_again(self.world.now_ms)
        self.world.call_later(self._limit_ms(exchange), lambda: self._check(exchange))
        return True

    def _limit_ms(self, exchange: Exchange) -> float:
        """Return the virtual time in ms within which this request must have its response."""
        more_ms = CLUSTER_WITHIN_MS if self.in_cluster else 0.0
        request = exchange.request
        if exchange.key is ApiKey.FETCH:
            return float(request.max_wait_ms) + 700.0  # it needs no other node
        if exchange.key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
            return float(getattr(request, "max_wait_ms", 0)) + PERSISTED_WITHIN_MS
        if exchange.key is ApiKey.JOIN_GROUP:
            longest_ms = max(request.rebalance_timeout_ms, request.session_timeout_ms)
            return float(longest_ms + ANSWER_WITHIN_MS + more_ms)
        if exchange.key is ApiKey.SYNC_GROUP:
            return SYNC_WITHIN_MS + ANSWER_WITHIN_MS + more_ms
        return float(getattr(request, "timeout_ms", 0)) + ANSWER_WITHIN_MS + more_ms


class NoServerError(Invariant):
    """I19: no request of a client and no change of metadata makes the broker fail."""

    name = "I19"

    def node_ran(self, broker: SimBroker) -> None:
        """Raise Violation if the node failed to apply a metadata record."""
        if broker.node is not None and broker.node.controller.loader.apply_errors:
            raise self.broken(f"{broker.address} failed on a change of the metadata")

    def received(self, exchange: Exchange) -> None:
        """Raise Violation at UNKNOWN_SERVER_ERROR, unless faults may cause it."""
        if getattr(exchange.response, "error_code", 0) == -1 and not self.promises.interfered:
            raise self.broken(f"UNKNOWN_SERVER_ERROR for {exchange.key.name}")

    def answered(self, exchange: Exchange) -> None:
        """Raise Violation if a request is refused by closing, unless faults may cause it."""
        if self.promises.interfered:
            return
        if exchange.refused is not None and exchange.expects_answer:
            raise self.broken(f"{exchange.key.name} of {exchange.client}: {exchange.refused}")


class NothingIsLeft(OfEachBroker):
    """I19: when no client sends requests any more, a broker keeps no waiting operation or
    listener."""

    name = "I19"

    def at_end(self, final: object) -> None:
        """Raise Violation if a broker keeps operations, or listeners of closed sessions."""
        for broker in self.brokers.values():
            replicas = broker.replicas
            waiting = len(replicas.produce_purgatory)
            if not self.in_cluster:  # in a cluster followers wait here
                waiting += len(replicas.fetch_purgatory)
            if waiting:
                raise self.broken(f"{waiting} operations wait in {broker.address} for nobody")
            sessions = list(replicas.sessions)
            for partition in replicas.partitions():
                # In a cluster, coordinators may wait here for commits as long as members live.
                listeners = [
                    listener
                    for listener in partition.listeners
                    if isinstance(listener, FetchSession | SharePartitionManager)
                    or not self.in_cluster
                ]
                if any(
                    listener not in sessions and not _shares(listener, partition)
                    for listener in listeners
                ):
                    raise self.broken(f"{partition!r} has listeners that nobody owns")


def _shares(listener: object, partition: Partition) -> bool:
    """Return whether a listener waits for records of a partition for a share group."""
    if not isinstance(listener, SharePartitionManager):
        return False
    return bool(listener.partitions.of_partition(partition.topic_id, partition.index))


CONTROL_INVARIANTS = (
    IdsAreUnique,
    EachRequestEnds,
    NoServerError,
    NothingIsLeft,
)
