"""Asks transaction coordinators whether partitions are in a transaction, or adds them to it.

Owns what waits for which coordinator: one request at a time to each broker, which carries all that
have gathered meanwhile, one of each transactional id. A coordinator on this broker is called
without the network, for each by itself: it may take its time over one (`held_requests`), and no
other waits. What a coordinator says becomes what the client that waits can understand. If a broker
cannot be reached, all that waits for it is refused with the request that failed; what waits for a
broker that is the coordinator no longer is refused as soon as the metadata says so.

Never retries: an answer that may change is the client's to ask for again. What waits is bounded by
the connections of clients, each of which waits for its answer. Follows Kafka's
`AddPartitionsToTxnManager`; KIP-890, KIP-664.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from broker.config.values import BrokerConfig
from broker.verification.transaction_verification import TransactionSupportedOperation, Verified
from ground.ports import Channel, ChannelFailure, Network
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

_log = logging.getLogger(f"ottla.{__name__}")

Coordinator = tuple[int, str, int]
"""Node id, host and port of the broker that leads a transactional id's partition."""

CoordinatorOf = Callable[[str], Coordinator | None]
LocalCoordinator = Callable[
    [
        str,
        tuple[int, int],
        Sequence[TopicPartition],
        bool,
        Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ],
    None,
]
"""Transactional id, producer id and epoch, partitions, whether to verify only, and who is given the
answer for each partition: as by an AddPartitionsToTxn, with no messages in between."""


@dataclass(slots=True)
class _Asked:
    """One transactional id's partitions, and who waits for the answer."""

    producer_id: int
    producer_epoch: int
    partitions: Sequence[TopicPartition]
    operation: TransactionSupportedOperation
    done: Verified

    def refuse(self, error: ErrorCode) -> None:
        self.done(dict.fromkeys(self.partitions, error))

    def answer(self, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """What the coordinator says of each partition."""
        self.done(
            {one: _for_client(error, self.operation) for one, error in errors.items() if error}
        )


_Batch = dict[str, _Asked]


class _Node:
    """One broker that coordinates transactions, as seen from here."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.channel: Channel | None = None
        self.waiting: _Batch = {}
        self.in_flight: _Batch | None = None
        self.is_closing = False

    def take_moved(self, has_moved: Callable[[str], bool]) -> list[_Asked]:
        """Return the requests whose coordinator this broker is no longer: they wait no more."""
        moved = []
        for batch in (self.in_flight or {}, self.waiting):
            names = [name for name in batch if has_moved(name)]
            moved += [batch.pop(name) for name in names]
        return moved

    def close(self) -> None:
        """Close the channel, if there is one: a request under way is lost, and no other."""
        channel, self.channel = self.channel, None
        if channel is not None:
            self.is_closing = True
            channel.close()
            self.is_closing = False


class AddPartitionsToTxnManager:
    """See the module. `network` is None where there is only this node."""

    def __init__(
        self,
        config: BrokerConfig,
        network: Network | None,
        coordinator_of: CoordinatorOf,
        local: LocalCoordinator,
    ) -> None:
        self._config = config
        self._network = network
        self._coordinator_of = coordinator_of
        self._local = local
        self._nodes: dict[int, _Node] = {}
        self._stopped = False

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: Verified,
    ) -> None:
        """See `TransactionVerifier`.

        Of two that wait for one transactional id, the one with the older epoch gets
        INVALID_PRODUCER_EPOCH; with equal epochs the earlier one, which its client has given up,
        gets NETWORK_EXCEPTION.
        """
        asked = _Asked(producer_id, producer_epoch, list(partitions), operation, done)
        coordinator = None if self._stopped else self._coordinator_of(transactional_id)
        if coordinator is None:
            asked.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        node_id, host, port = coordinator
        if node_id == self._config.node_id:
            self._local(
                transactional_id,
                (producer_id, producer_epoch),
                asked.partitions,
                not operation.supports_epoch_bump,
                asked.answer,
            )
            return
        node = self._node(node_id, (host, port))
        before = node.waiting.get(transactional_id)
        if before is not None and before.producer_epoch > producer_epoch:
            asked.refuse(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        # The new one goes to the end of the request, and is there before anybody is told.
        node.waiting.pop(transactional_id, None)
        node.waiting[transactional_id] = asked
        if before is not None:
            fenced = before.producer_epoch < producer_epoch
            before.refuse(
                ErrorCode.INVALID_PRODUCER_EPOCH if fenced else ErrorCode.NETWORK_EXCEPTION
            )
        self._send(node_id, node)

    def shutdown(self) -> None:
        """Tell all that wait that the coordinator cannot be reached; ask nobody from now on."""
        self._stopped = True
        for node in list(self._nodes.values()):
            waiting, node.waiting = node.waiting, {}
            for asked in waiting.values():
                asked.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            node.close()

    def metadata_changed(self) -> None:
        """Refuse what waits for a broker that leads its transactional id no longer."""
        for node_id, node in list(self._nodes.items()):

            def has_moved(
                transactional_id: str, here: Coordinator = (node_id, *node.address)
            ) -> bool:
                return self._coordinator_of(transactional_id) != here

            for asked in node.take_moved(has_moved):
                asked.refuse(ErrorCode.NOT_COORDINATOR)
            if node.in_flight == {}:
                node.close()  # else what comes next waits until the request times out
                self._send(node_id, node)

    def _node(self, node_id: int, address: tuple[str, int]) -> _Node:
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = _Node(address)
        if node.address != address:
            # The broker came back elsewhere. What is under way to the old address fails.
            node.address = address
            node.close()
        return node

    def _send(self, node_id: int, node: _Node) -> None:
        if node.in_flight is not None or not node.waiting or self._stopped:
            return
        batch, node.waiting = node.waiting, {}
        node.in_flight = batch
        channel = self._channel(node)
        if channel is None:
            self._answered(node_id, node, batch, None, ChannelFailure.REFUSED)
            return
        channel.send(
            _request(batch),
            lambda response, failure: self._answered(node_id, node, batch, response, failure),
            self._config.request_timeout_ms,
        )

    def _channel(self, node: _Node) -> Channel | None:
        if node.channel is None and self._network is not None:
            client_id = f"AddPartitionsToTxnSenderThread-{self._config.node_id}"
            node.channel = self._network.channel(*node.address, client_id)
        return node.channel

    def _answered(
        self,
        node_id: int,
        node: _Node,
        batch: _Batch,
        response: AddPartitionsToTxnResponse | None,
        failure: ChannelFailure | None,
    ) -> None:
        node.in_flight = None
        behind: _Batch = {}
        if failure is not None and not node.is_closing:  # they would only wait as long again
            behind, node.waiting = node.waiting, {}
        _settle(node_id, batch, response, failure)
        _refuse_all(behind, ErrorCode.NETWORK_EXCEPTION)
        if not node.is_closing:
            self._send(node_id, node)


def _settle(
    node_id: int,
    batch: _Batch,
    response: AddPartitionsToTxnResponse | None,
    failure: ChannelFailure | None,
) -> None:
    if failure is not None or response is None:
        _log.warning("AddPartitionsToTxn to broker %d: %s", node_id, failure)
        _refuse_all(batch, ErrorCode.NETWORK_EXCEPTION)
    elif response.error_code:
        error = ErrorCode(response.error_code)
        _log.error("AddPartitionsToTxn to broker %d was refused: %s", node_id, error.name)
        if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            error = ErrorCode.INVALID_TXN_STATE  # between brokers; no business of a client's
        _refuse_all(batch, error)
    else:
        _hand_out(batch, {one.transactional_id: one for one in response.results_by_transaction})


def _request(batch: _Batch) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest([_transaction(name, asked) for name, asked in batch.items()])


def _transaction(transactional_id: str, asked: _Asked) -> AddPartitionsToTxnTransaction:
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for name, partition in asked.partitions:
        topics.setdefault(name, AddPartitionsToTxnTopic(name)).partitions.append(partition)
    return AddPartitionsToTxnTransaction(
        transactional_id,
        asked.producer_id,
        asked.producer_epoch,
        verify_only=not asked.operation.supports_epoch_bump,
        topics=list(topics.values()),
    )


def _refuse_all(batch: _Batch, error: ErrorCode) -> None:
    for asked in batch.values():
        asked.refuse(error)


def _hand_out(batch: _Batch, results: Mapping[str, AddPartitionsToTxnResult]) -> None:
    for transactional_id, asked in batch.items():
        result = results.get(transactional_id)
        if result is None:
            asked.refuse(ErrorCode.NETWORK_EXCEPTION)  # what became of it is not known
            continue
        asked.answer(
            {
                TopicPartition(topic.name, one.partition_index): ErrorCode(one.partition_error_code)
                for topic in result.topic_results
                for one in topic.results_by_partition
            }
        )


def _for_client(error: ErrorCode, operation: TransactionSupportedOperation) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH  # what producers expect of a leader
    old = operation is TransactionSupportedOperation.DEFAULT_ERROR
    if error is ErrorCode.TRANSACTION_ABORTABLE and old:
        return ErrorCode.INVALID_TXN_STATE
    return error
