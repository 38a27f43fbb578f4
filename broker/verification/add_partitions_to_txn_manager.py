"""Questions to transaction coordinators, which verify partitions of a transaction or add them.

Owns: the waiting questions of each coordinator. A broker gets one request at a time, with all
questions that have gathered meanwhile, one for each transactional id. A coordinator on this broker
is called without the network, for each question separately: it may delay one answer
(`held_requests`) without delaying others. Coordinators' errors are replaced by those that the
waiting client can understand. If a broker cannot be reached, all questions for it fail together
with the failed request. If the metadata says that a broker is no longer the coordinator, the
questions for it fail at once.

Never: retries; the client does that. The number of questions is bounded by the connections of
clients, each of which waits for its answer. Follows Kafka's `AddPartitionsToTxnManager`; KIP-890,
KIP-664.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from broker.config.values import BrokerConfig
from broker.verification.transaction_verification import (
    PartitionErrorsCallback,
    TransactionSupportedOperation,
)
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
"""The node id, host and port of the broker that leads a transactional id's partition."""

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
"""A function that does what AddPartitionsToTxn does, on this broker's coordinator. Its arguments:
transactional id, producer id and epoch, partitions, whether to verify only, and the callback for
the error of each partition."""


@dataclass(slots=True)
class _Question:
    """The partitions of a transactional id, and the callback that waits for the answer."""

    producer_id: int
    producer_epoch: int
    partitions: Sequence[TopicPartition]
    operation: TransactionSupportedOperation
    done: PartitionErrorsCallback

    def refuse(self, error: ErrorCode) -> None:
        """Call `done` with `error` for all partitions."""
        self.done(dict.fromkeys(self.partitions, error))

    def answer(self, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """Call `done` with the coordinator's errors, translated for the client, without partitions
        that have none."""
        self.done(
            {
                partition: _client_error(error, self.operation)
                for partition, error in errors.items()
                if error
            }
        )


_Batch = dict[str, _Question]


class _Node:
    """A broker that coordinates transactions: its channel and the questions for it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.channel: Channel | None = None
        self.waiting: _Batch = {}
        self.in_flight: _Batch | None = None
        self.is_closing = False

    def take_moved(self, has_moved: Callable[[str], bool]) -> list[_Question]:
        """Remove and return the questions for which this broker is no longer the coordinator."""
        moved = []
        for batch in (self.in_flight or {}, self.waiting):
            names = [name for name in batch if has_moved(name)]
            moved += [batch.pop(name) for name in names]
        return moved

    def close(self) -> None:
        """Close the channel, if there is one. Only the request in flight fails."""
        channel, self.channel = self.channel, None
        if channel is not None:
            self.is_closing = True
            channel.close()
            self.is_closing = False


class AddPartitionsToTxnManager:
    """The questions of this broker to transaction coordinators. `network` is None if this is the
    only node."""

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
        done: PartitionErrorsCallback,
    ) -> None:
        """Add partitions to the transaction at its coordinator, or verify that they are in it.

        `done` gets the errors of partitions once, now or later: COORDINATOR_NOT_AVAILABLE without a
        coordinator or after `shutdown`. If two questions wait for one transactional id, the one
        with the older epoch gets INVALID_PRODUCER_EPOCH. With equal epochs the earlier one, which
        its client has abandoned, gets NETWORK_EXCEPTION.
        """
        question = _Question(producer_id, producer_epoch, list(partitions), operation, done)
        coordinator = None if self._stopped else self._coordinator_of(transactional_id)
        if coordinator is None:
            question.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        node_id, host, port = coordinator
        if node_id == self._config.node_id:
            self._local(
                transactional_id,
                (producer_id, producer_epoch),
                question.partitions,
                not operation.supports_epoch_bump,
                question.answer,
            )
            return
        node = self._node_at(node_id, (host, port))
        earlier = node.waiting.get(transactional_id)
        if earlier is not None and earlier.producer_epoch > producer_epoch:
            question.refuse(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        # Put the new question at the end of the batch, before the callback of the old one runs.
        node.waiting.pop(transactional_id, None)
        node.waiting[transactional_id] = question
        if earlier is not None:
            fenced = earlier.producer_epoch < producer_epoch
            earlier.refuse(
                ErrorCode.INVALID_PRODUCER_EPOCH if fenced else ErrorCode.NETWORK_EXCEPTION
            )
        self._send(node_id, node)

    def shutdown(self) -> None:
        """Fail all waiting questions with COORDINATOR_NOT_AVAILABLE, and later ones at once. Close
        the connections, which fails the requests in flight."""
        self._stopped = True
        for node in list(self._nodes.values()):
            waiting, node.waiting = node.waiting, {}
            for question in waiting.values():
                question.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            node.close()

    def metadata_changed(self) -> None:
        """Fail the questions for brokers that are no longer their coordinators with
        NOT_COORDINATOR."""
        for node_id, node in list(self._nodes.items()):

            def has_moved(
                transactional_id: str, this_broker: Coordinator = (node_id, *node.address)
            ) -> bool:
                """Return whether `this_broker` does not coordinate this id any more."""
                return self._coordinator_of(transactional_id) != this_broker

            for question in node.take_moved(has_moved):
                question.refuse(ErrorCode.NOT_COORDINATOR)
            if node.in_flight == {}:
                node.close()  # else the next questions wait until the request times out
                self._send(node_id, node)

    def _node_at(self, node_id: int, address: tuple[str, int]) -> _Node:
        """Return the node's state, created if needed. A new address closes the channel to the old
        address."""
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = _Node(address)
        if node.address != address:
            # The broker has a new address. The request in flight to the old one fails.
            node.address = address
            node.close()
        return node

    def _send(self, node_id: int, node: _Node) -> None:
        """Send all waiting questions to a node, unless a request is in flight or nothing waits."""
        if node.in_flight is not None or not node.waiting or self._stopped:
            return
        batch, node.waiting = node.waiting, {}
        node.in_flight = batch
        channel = self._channel(node)
        if channel is None:
            self._request_answered(node_id, node, batch, None, ChannelFailure.REFUSED)
            return
        channel.send(
            _request(batch),
            lambda response, failure: self._request_answered(
                node_id, node, batch, response, failure
            ),
            self._config.request_timeout_ms,
        )

    def _channel(self, node: _Node) -> Channel | None:
        """Return the channel to a node, opened if needed; None without a network."""
        if node.channel is None and self._network is not None:
            client_id = f"AddPartitionsToTxnSenderThread-{self._config.node_id}"
            node.channel = self._network.channel(*node.address, client_id)
        return node.channel

    def _request_answered(
        self,
        node_id: int,
        node: _Node,
        batch: _Batch,
        response: AddPartitionsToTxnResponse | None,
        failure: ChannelFailure | None,
    ) -> None:
        """Answer the questions of a request, and send those that came meanwhile.

        If the request failed, those fail with NETWORK_EXCEPTION too, instead of waiting as long
        again.
        """
        node.in_flight = None
        queued: _Batch = {}
        if failure is not None and not node.is_closing:  # else these would wait as long again
            queued, node.waiting = node.waiting, {}
        _answer_batch(node_id, batch, response, failure)
        _refuse_all(queued, ErrorCode.NETWORK_EXCEPTION)
        if not node.is_closing:
            self._send(node_id, node)


def _answer_batch(
    node_id: int,
    batch: _Batch,
    response: AddPartitionsToTxnResponse | None,
    failure: ChannelFailure | None,
) -> None:
    """Answer each question of a batch with its part of the response or with an error.

    A failure is logged and gives NETWORK_EXCEPTION. An error of the whole response is logged and
    passed on, CLUSTER_AUTHORIZATION_FAILED as INVALID_TXN_STATE.
    """
    if failure is not None or response is None:
        _log.warning("AddPartitionsToTxn to broker %d: %s", node_id, failure)
        _refuse_all(batch, ErrorCode.NETWORK_EXCEPTION)
    elif response.error_code:
        error = ErrorCode(response.error_code)
        _log.error("AddPartitionsToTxn to broker %d was refused: %s", node_id, error.name)
        if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            error = ErrorCode.INVALID_TXN_STATE  # a client cannot act on a missing broker right
        _refuse_all(batch, error)
    else:
        _answer_each(batch, {row.transactional_id: row for row in response.results_by_transaction})


def _request(batch: _Batch) -> AddPartitionsToTxnRequest:
    """Return the AddPartitionsToTxn request with all questions of a batch."""
    return AddPartitionsToTxnRequest(
        [_transaction_of(name, question) for name, question in batch.items()]
    )


def _transaction_of(transactional_id: str, question: _Question) -> AddPartitionsToTxnTransaction:
    """Return the question's entry in a request; it only verifies unless the client uses protocol
    version 2."""
    topics: dict[str, AddPartitionsToTxnTopic] = {}
    for name, partition in question.partitions:
        topics.setdefault(name, AddPartitionsToTxnTopic(name)).partitions.append(partition)
    return AddPartitionsToTxnTransaction(
        transactional_id,
        question.producer_id,
        question.producer_epoch,
        verify_only=not question.operation.supports_epoch_bump,
        topics=list(topics.values()),
    )


def _refuse_all(batch: _Batch, error: ErrorCode) -> None:
    """Answer each question of a batch with `error` for all its partitions."""
    for question in batch.values():
        question.refuse(error)


def _answer_each(batch: _Batch, results: Mapping[str, AddPartitionsToTxnResult]) -> None:
    """Answer each question with its result; a question without a result gets NETWORK_EXCEPTION."""
    for transactional_id, question in batch.items():
        result = results.get(transactional_id)
        if result is None:
            question.refuse(ErrorCode.NETWORK_EXCEPTION)  # the outcome is unknown
            continue
        question.answer(
            {
                TopicPartition(topic.name, row.partition_index): ErrorCode(row.partition_error_code)
                for topic in result.topic_results
                for row in topic.results_by_partition
            }
        )


def _client_error(error: ErrorCode, operation: TransactionSupportedOperation) -> ErrorCode:
    """Return the error that producers of the client's version expect from a leader.

    This is INVALID_PRODUCER_EPOCH for PRODUCER_FENCED, and INVALID_TXN_STATE for
    TRANSACTION_ABORTABLE if the client does not know that. Other errors stay.
    """
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH  # the error that producers expect from a leader
    old = operation is TransactionSupportedOperation.DEFAULT_ERROR
    if error is ErrorCode.TRANSACTION_ABORTABLE and old:
        return ErrorCode.INVALID_TXN_STATE
    return error
