"""The sender of transaction markers to all partitions of a decided transaction.

Owns the queues of unsent markers: one for each broker, with one request at a time in flight, for up
to 1,000 transactions. This broker's markers do not use the network. A partition stays in a queue
until its leader has replicated the marker, across all changes of the leader and deaths of brokers.
Partitions of deleted topics are dropped, as in Kafka.

Never decides: it sends decisions that are replicated. At most one transaction of each transactional
id is prepared, which bounds the queues. Follows Kafka's `TransactionMarkerChannelManager` and
`TransactionMarkerRequestCompletionHandler`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from ground.ports import Channel, ChannelFailure, Network, Scheduler, Timer
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

log = logging.getLogger(f"ottla.{__name__}")

RETRY_BACKOFF_MS = 20
RETRY_BACKOFF_MAX_MS = 500
TRANSACTIONS_PER_REQUEST = 1_000

CLIENT_ID = "broker-{}-txn-marker-sender"


class NoLeaderReason(Enum):
    """The reason why a partition has no leader to send its marker to."""

    FOR_NOW = "the partition has no leader that can be reached"
    FOR_GOOD = "there is no such partition"


Leader = tuple[int, str, int]
"""The node id, host and port of a leader."""
LeaderOf = Callable[[TopicPartition], Leader | NoLeaderReason]
LocalMarkers = Callable[[WriteTxnMarkersRequest, Callable[[WriteTxnMarkersResponse], None]], None]


@dataclass(slots=True, eq=False)
class PendingMarkers:
    """A decision, and the partitions that do not have its marker yet."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    transaction_version: int
    coordinator_epoch: Callable[[], int]
    partitions: dict[TopicPartition, None]
    done: Callable[[], None]
    """The callback for when every partition has its marker; it is not called after `cancel`."""
    cancelled: bool = False

    def cancel(self) -> None:
        """Send no more markers of this decision, and never call `done`."""
        self.cancelled = True

    def settle(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that have their marker; call `done` after the last, unless
        cancelled."""
        for partition in partitions:
            self.partitions.pop(partition, None)
        if not self.partitions and not self.cancelled:
            self.cancelled = True
            self.done()


_Queue = dict[PendingMarkers, list[TopicPartition]]


class _DelayedMarkers:
    """The markers that wait for a retry, with a longer back-off after each failure."""

    def __init__(self, scheduler: Scheduler, release: Callable[[_Queue], None]) -> None:
        """Create an empty queue. `release` gets all its markers after each back-off."""
        self.queue: _Queue = {}
        self._scheduler = scheduler
        self._release = release
        self._timer: Timer | None = None
        self._backoff_ms = RETRY_BACKOFF_MS

    def add(self, pending: PendingMarkers, partitions: list[TopicPartition]) -> None:
        """Queue markers until the back-off ends; then `release` gets them.

        Each back-off is twice as long as the last, up to RETRY_BACKOFF_MAX_MS.
        """
        self.queue.setdefault(pending, []).extend(partitions)
        if self._timer is None:
            self._timer = self._scheduler.call_later(self._backoff_ms, self._fire)
            self._backoff_ms = min(2 * self._backoff_ms, RETRY_BACKOFF_MAX_MS)

    def succeeded(self) -> None:
        """Reset the next back-off to RETRY_BACKOFF_MS."""
        self._backoff_ms = RETRY_BACKOFF_MS

    def stop(self) -> None:
        """Drop all queued markers and stop the timer."""
        self.queue = {}
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        """Empty the queue and pass its markers to `release`."""
        self._timer = None
        queue, self.queue = self.queue, {}
        self._release(queue)


class _Broker:
    """A broker's queue and its connection."""

    def __init__(self, node_id: int, failed: _DelayedMarkers) -> None:
        """Create an empty queue without a connection. `failed` has the markers that wait for a
        retry."""
        self.node_id = node_id
        self.failed = failed
        self.address: tuple[str, int] | None = None
        self.channel: Channel | None = None
        self.waiting: _Queue = {}
        self.in_flight: _Queue | None = None
        self.drain_scheduled = False


class MarkerSender:
    """The sender of a node's markers. `network` is None if there is only this node."""

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network | None,
        node_id: int,
        leader_of: LeaderOf,
        local: LocalMarkers,
        request_timeout_ms: int,
        refused_by: Callable[[int, str], None],
    ) -> None:
        """Start without markers.

        `refused_by(node, request)` is called if the broker `node` rejects a request because it does
        not recognize this node as a broker.
        """
        self._scheduler = scheduler
        self._network = network
        self._node_id = node_id
        self._leader_of = leader_of
        self._local = local
        self._request_timeout_ms = request_timeout_ms
        self._refused_by = refused_by
        self._brokers: dict[int, _Broker] = {}
        self._leaderless = _DelayedMarkers(scheduler, self._enqueue_all)
        self._stopped = False

    @property
    def unknown_destination_count(self) -> int:
        """The number of transactions with partitions that have no known leader; Kafka's
        UnknownDestinationQueueSize."""
        return len(self._leaderless.queue)

    def send(self, pending: PendingMarkers) -> None:
        """Queue the markers of `pending` for the leaders of its partitions. Its `done` is called
        later, never within this call."""
        if pending.partitions:
            self._enqueue(pending, list(pending.partitions))
        else:
            self._scheduler.call_soon(lambda: pending.settle(()))

    def metadata_changed(self) -> None:
        """Queue markers again for new leaders, after a change of the metadata.

        These are the markers that waited for a leader, and those in flight to a broker that no
        longer leads. An answer from that broker still counts.
        """
        if self._leaderless.queue:
            queue, self._leaderless.queue = self._leaderless.queue, {}
            self._enqueue_all(queue)
        for broker in list(self._brokers.values()):
            for pending, partitions in (broker.in_flight or {}).items():
                moved = [
                    partition
                    for partition in partitions
                    if self._has_moved(partition, broker, pending)
                ]
                if moved:
                    self._enqueue(pending, moved)

    def _has_moved(
        self, partition: TopicPartition, broker: _Broker, pending: PendingMarkers
    ) -> bool:
        """Return True if another broker now leads the partition, so its marker must go there.

        False if the marker is no longer needed or the partition has no leader.
        """
        if pending.cancelled or partition not in pending.partitions:
            return False
        leader = self._leader_of(partition)
        return not isinstance(leader, NoLeaderReason) and leader[0] != broker.node_id

    def stop(self) -> None:
        """Drop all queued markers, close the connections, and ignore later markers."""
        self._stopped = True
        self._leaderless.stop()
        brokers, self._brokers = self._brokers, {}
        for broker in brokers.values():
            broker.waiting = {}
            broker.failed.stop()
            if broker.channel is not None:
                broker.channel.close()

    # -- queues --------------------------------------------------------------------------------

    def _enqueue_all(self, queue: _Queue) -> None:
        """Queue the markers for the present leaders of their partitions."""
        for pending, partitions in queue.items():
            self._enqueue(pending, partitions)

    def _enqueue(self, pending: PendingMarkers, partitions: Iterable[TopicPartition]) -> None:
        """Queue the markers for the leaders of these partitions, or until they have leaders.

        A deleted partition counts as settled, in a later call of the loop.
        """
        if self._stopped or pending.cancelled:
            return
        deleted = []
        for partition in partitions:
            if partition not in pending.partitions:
                continue
            leader = self._leader_of(partition)
            if leader is NoLeaderReason.FOR_GOOD:
                deleted.append(partition)
            elif isinstance(leader, NoLeaderReason):
                self._leaderless.add(pending, [partition])
            else:
                broker = self._broker_of(leader)
                broker.waiting.setdefault(pending, []).append(partition)
                self._schedule_drain(broker)
        if deleted:
            log.info("%s: no markers for what was deleted: %s", pending.transactional_id, deleted)
            self._scheduler.call_soon(lambda: pending.settle(deleted))

    def _broker_of(self, leader: Leader) -> _Broker:
        """Return the queue of a leader, created if it is new.

        A changed address closes the channel.
        """
        node_id, host, port = leader
        broker = self._brokers.get(node_id)
        if broker is None:
            failed = _DelayedMarkers(self._scheduler, self._enqueue_all)
            broker = self._brokers[node_id] = _Broker(node_id, failed)
        if broker.address != (host, port):
            broker.address = (host, port)
            channel, broker.channel = broker.channel, None
            if channel is not None:
                channel.close()
        return broker

    # -- requests ------------------------------------------------------------------------------

    def _schedule_drain(self, broker: _Broker) -> None:
        """Drain the broker's queue in a later turn of the loop, unless a batch is in flight."""
        # Not within this call: decisions that are committed together go in one request.
        if not broker.drain_scheduled and broker.in_flight is None:
            broker.drain_scheduled = True
            self._scheduler.call_soon(lambda: self._drain(broker))

    def _drain(self, broker: _Broker) -> None:
        """Send the next batch of a broker's markers, unless a batch is in flight.

        A broker that has no channel counts as failed.
        """
        broker.drain_scheduled = False
        if broker.in_flight is not None or self._stopped:
            return
        batch: _Queue = {}
        for pending in list(broker.waiting):
            if len(batch) == TRANSACTIONS_PER_REQUEST:
                break
            partitions = broker.waiting.pop(pending)
            if not pending.cancelled:
                batch[pending] = partitions
        if not batch:
            return
        broker.in_flight = batch
        request = WriteTxnMarkersRequest([_marker(*item) for item in batch.items()])
        if broker.node_id == self._node_id:
            self._local(request, lambda response: self._answered(broker, batch, response, None))
            return
        channel = self._channel(broker)
        if channel is None:
            self._answered(broker, batch, None, ChannelFailure.REFUSED)
        else:
            channel.send(
                request,
                lambda response, failure: self._answered(broker, batch, response, failure),
                self._request_timeout_ms,
            )

    def _channel(self, broker: _Broker) -> Channel | None:
        """Return the channel to a broker, opened if need be.

        None: there is no network or no address.
        """
        if broker.channel is None and self._network is not None and broker.address is not None:
            host, port = broker.address
            client_id = CLIENT_ID.format(self._node_id)
            broker.channel = self._network.channel(host, port, client_id)
        return broker.channel

    def _answered(
        self,
        broker: _Broker,
        batch: _Queue,
        response: WriteTxnMarkersResponse | None,
        failure: ChannelFailure | None,
    ) -> None:
        """Settle the partitions of an answered batch, queue the failed ones for a retry, then send
        the next batch.

        Without an answer, queue the whole batch for a retry.
        """
        broker.in_flight = None
        if self._stopped:
            return
        if response is None:
            log.debug("markers for broker %d: %s", broker.node_id, failure)
            for pending, partitions in batch.items():
                broker.failed.add(pending, partitions)
        else:
            errors = _errors_by_producer(response)
            for pending, partitions in batch.items():
                self._take_results(broker, pending, partitions, errors.get(pending.producer_id, {}))
        if broker.waiting:
            self._schedule_drain(broker)

    def _take_results(
        self,
        broker: _Broker,
        pending: PendingMarkers,
        partitions: list[TopicPartition],
        errors: dict[TopicPartition, ErrorCode],
    ) -> None:
        """Settle the partitions whose markers are written, and queue the failed ones for a retry.

        Cancels all markers of a transaction that another coordinator has taken over.
        """
        settled, failed = [], []
        for partition in partitions:
            error = errors.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            if error is ErrorCode.NONE:
                settled.append(partition)
            elif error in _SUPERSEDED:
                # Another coordinator has this id now, or has ended the transaction.
                log.warning(
                    "%s: marker for %s refused: %s; no more of them are sent",
                    pending.transactional_id,
                    partition,
                    error.name,
                )
                pending.cancel()
                return
            else:
                if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                    self._refused_by(broker.node_id, "WRITE_TXN_MARKERS")
                log.debug("%s: marker for %s: %s", pending.transactional_id, partition, error.name)
                failed.append(partition)
        if failed:
            broker.failed.add(pending, failed)
        else:
            broker.failed.succeeded()
        if settled:
            pending.settle(settled)


_SUPERSEDED = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


def _marker(pending: PendingMarkers, partitions: list[TopicPartition]) -> WritableTxnMarker:
    """Return the marker of one transaction for the partitions that a broker leads."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=pending.producer_id,
        producer_epoch=pending.producer_epoch,
        transaction_result=pending.committed,
        topics=[WritableTxnMarkerTopic(name, indexes) for name, indexes in topics.items()],
        coordinator_epoch=pending.coordinator_epoch(),
        transaction_version=pending.transaction_version,
    )


def _errors_by_producer(
    response: WriteTxnMarkersResponse,
) -> dict[int, dict[TopicPartition, ErrorCode]]:
    """Return the error of each partition, by the id of the marker's producer."""
    return {
        marker.producer_id: {
            TopicPartition(topic.name, result.partition_index): ErrorCode(result.error_code)
            for topic in marker.topics
            for result in topic.partitions
        }
        for marker in response.markers
    }
