"""AddPartitionsToTxn v0-5, AddOffsetsToTxn v0-4, EndTxn v0-5: a transactional producer's requests.

Behaviour: a broker that does not lead the transactional id's partition answers NOT_COORDINATOR.
AddPartitionsToTxn adds all partitions or none: if one does not exist, it is
UNKNOWN_TOPIC_OR_PARTITION and the others are OPERATION_NOT_ATTEMPTED. EndTxn is answered after the
decision is replicated; the markers are written later.

Rights: all of them need WRITE on the transactional id (TRANSACTIONAL_ID_AUTHORIZATION_FAILED), and
AddOffsetsToTxn needs READ on the group (GROUP_AUTHORIZATION_FAILED). A client's AddPartitionsToTxn
needs WRITE on each topic: a denied one is TOPIC_AUTHORIZATION_FAILED and the others are
OPERATION_NOT_ATTEMPTED. A broker's AddPartitionsToTxn needs CLUSTER_ACTION only
(CLUSTER_AUTHORIZATION_FAILED), because that broker has authorized its client. Each request of an
open transaction is authorized by the client's rights at that time.

Versions: AddPartitionsToTxn v2 PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH, v3 flexible. v4
and v5 are sent by brokers for their clients, with several transactions, each to be verified only or
added to (KIP-890); v5 TRANSACTION_ABORTABLE. AddOffsetsToTxn and EndTxn have the same change in v2;
v3 flexible, v4 TRANSACTION_ABORTABLE. EndTxn v5 raises the epoch and returns the producer id and
epoch to continue with (transactions protocol version 2).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from broker.apis.auto_topic_creation import OFFSETS_TOPIC
from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from broker.transactions.held_requests import BROKER_HOLD_MS, CLIENT_HOLD_MS
from broker.transactions.producer_identity import NO_IDENTITY
from broker.transactions.transaction_coordinator import TransactionCoordinator
from controller.authorization.rights import Rights
from controller.metadata.topic_names import is_internal
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps, drained, in_one_go
from ground.topic_partition import TopicPartition
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

BATCHED_FROM = 4
FENCED_FROM = 2
EPOCH_BUMP_FROM = 5
NEWEST_PROTOCOL = 2
"""The `transaction.version` of requests that only clients and brokers with KIP-890 send."""

ADDED_AT_ONCE = 16
"""The most transactions of a broker's request that are handled in one slice."""

_Errors = dict[TopicPartition, ErrorCode]
_UNTRIED = ErrorCode.OPERATION_NOT_ATTEMPTED


class _RequestedTransaction(NamedTuple):
    """A transaction in a request, with the partitions to verify or add."""

    transaction: AddPartitionsToTxnTransaction
    partitions: list[TopicPartition]
    refused: _Errors | ErrorCode
    """The errors because of which nothing is added; empty if the coordinator is to be asked."""


class TransactionsApi:
    """The handlers of the three APIs.

    `group_partition_for(group_id)` returns the group's partition of `__consumer_offsets`.
    """

    def __init__(
        self,
        metadata: ImageSource,
        coordinator: TransactionCoordinator,
        group_partition_for: Callable[[str], int],
        answers: SlicedAnswers,
    ) -> None:
        """Serve the APIs. `group_partition_for(group_id)` returns the group's partition of
        `__consumer_offsets`."""
        self._answers = answers
        self._metadata = metadata
        self._coordinator = coordinator
        self._group_partition_for = group_partition_for

    def apis(self) -> list[Api]:
        return [
            Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, self.add_partitions, refuse_add_partitions),
            Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, self.add_offsets),
            Api(ApiKey.END_TXN, 0, 5, self.end),
        ]

    # -- AddPartitionsToTxn --------------------------------------------------------------------

    def add_partitions(
        self, context: RequestContext, request: AddPartitionsToTxnRequest, respond: Respond
    ) -> None:
        """Let the coordinator add or verify the partitions of each transaction. Respond after all
        of them are answered.

        A broker's request (from v4 on) without CLUSTER_ACTION gets CLUSTER_AUTHORIZATION_FAILED.
        """
        batched = context.api_version >= BATCHED_FROM
        if batched and not context.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            respond(refuse_add_partitions(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        requested = request.transactions if batched else [_normalized(request)]
        answers, refuse = self._answers, refuse_add_partitions

        def judged(named_transactions: list[_RequestedTransaction]) -> None:
            """Add or verify the partitions of each transaction, and then respond."""

            def added(outcomes: list[_Errors | ErrorCode]) -> None:
                """Respond with the errors of each transaction."""
                steps = _add_response(named_transactions, outcomes, batched)
                answers.give(context, request, steps, respond, refuse)

            def ask(
                transaction: _RequestedTransaction, done: Callable[[_Errors | ErrorCode], None]
            ) -> None:
                """Add or verify the partitions of one transaction; `done` gets the errors."""
                self._add_transaction(context.api_version, transaction, done)

            answers.gather(
                context, request, named_transactions, ask, added, respond, refuse, ADDED_AT_ONCE
            )

        steps = self._checked_transactions(context, requested, batched)
        answers.judge(context, request, steps, judged, respond, refuse)

    def _checked_transactions(
        self,
        context: RequestContext,
        requested: Sequence[AddPartitionsToTxnTransaction],
        batched: bool,
    ) -> Steps[list[_RequestedTransaction]]:
        """Return each transaction with its partitions and the errors that forbid adding them."""
        client, pace, transactions = (
            None if batched else context.rights,
            Pace(),
            list[_RequestedTransaction](),
        )
        for transaction in requested:
            partitions = yield from _partitions(transaction.topics, pace)
            refused: _Errors | ErrorCode = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            if batched or _may_write(context, transaction.transactional_id):
                hidden = yield from _hidden_topics(client, transaction.topics)
                refused = yield from self._refused(partitions, hidden, pace)
            transactions.append(_RequestedTransaction(transaction, partitions, refused))
        return transactions

    def _add_transaction(
        self,
        version: int,
        requested: _RequestedTransaction,
        done: Callable[[_Errors | ErrorCode], None],
    ) -> None:
        """Add or verify the partitions of one transaction. Call `done` with the errors: by
        partition, or a code for all.

        Denied partitions fail the whole transaction; the coordinator is not asked.
        """
        transaction, partitions, refused = requested
        name = transaction.transactional_id
        identity = (transaction.producer_id, transaction.producer_epoch)
        if refused:
            done(refused)
        elif version >= BATCHED_FROM:
            self._verify_or_add(
                name, identity, partitions, transaction.verify_only, BROKER_HOLD_MS, done
            )
        else:
            self._coordinator.add_partitions(
                name,
                identity,
                partitions,
                0,
                lambda error: done(_error_for_version(error, version)),
                CLIENT_HOLD_MS,
            )

    def ask_here(
        self,
        transactional_id: str,
        identity: tuple[int, int],
        partitions: Sequence[TopicPartition],
        verify_only: bool,
        done: Callable[[Mapping[TopicPartition, ErrorCode]], None],
    ) -> None:
        """Verify or add partitions for a leader on this broker, like AddPartitionsToTxn without
        messages. `done` gets an error code for each partition.

        May wait as long as a client's request, because no other broker waits for the answer.
        """

        def answer(errors: _Errors | ErrorCode) -> None:
            """Call `done` with an error for each partition, also if `errors` is one for all."""
            if isinstance(errors, ErrorCode):
                errors = dict.fromkeys(partitions, errors)
            done(errors)

        refused = in_one_go(self._refused(partitions, (), Pace()))
        if refused:
            answer({partition: refused.get(partition, _UNTRIED) for partition in partitions})
        else:
            self._verify_or_add(
                transactional_id, identity, partitions, verify_only, CLIENT_HOLD_MS, answer
            )

    def _verify_or_add(
        self,
        transactional_id: str,
        identity: tuple[int, int],
        partitions: Sequence[TopicPartition],
        verify_only: bool,
        hold_ms: int,
        done: Callable[[_Errors | ErrorCode], None],
    ) -> None:
        """Let the coordinator verify or add the partitions. Call `done` with the errors: by
        partition, or a code for all.

        The coordinator may hold an addition for up to `hold_ms` if the last transaction has not
        ended.
        """
        if verify_only:
            done(self._coordinator.verify_partitions(transactional_id, identity, partitions))
        else:
            self._coordinator.add_partitions(
                transactional_id, identity, partitions, NEWEST_PROTOCOL, done, hold_ms
            )

    def _refused(
        self, partitions: Sequence[TopicPartition], hidden: Container[str], pace: Pace
    ) -> Steps[_Errors]:
        """Return the errors of partitions that do not exist or belong to `hidden` topics.

        If there is one, no partition may be added.
        """
        topics = self._metadata.image.topics
        refused: _Errors = {}
        for partition in partitions:
            if pace.is_full():
                yield None
            topic = topics.get(partition.topic)
            if partition.topic in hidden:
                refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None or partition.partition not in topic.partitions:
                refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return refused

    # -- AddOffsetsToTxn, EndTxn ---------------------------------------------------------------

    def add_offsets(
        self, context: RequestContext, request: AddOffsetsToTxnRequest, respond: Respond
    ) -> None:
        """Let the coordinator add the group's partition of `__consumer_offsets` to the transaction,
        and respond.

        The client needs WRITE on the transactional id and READ on the group; otherwise respond with
        the authorization error.
        """

        def done(error: ErrorCode) -> None:
            """Respond with the error, as this version has it."""
            respond(
                AddOffsetsToTxnResponse(
                    error_code=int(_error_for_version(error, context.api_version))
                )
            )

        if not _may_write(context, request.transactional_id):
            done(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return
        if not context.rights.allows(Operation.READ, Resource.GROUP, request.group_id):
            done(ErrorCode.GROUP_AUTHORIZATION_FAILED)
            return
        partition = TopicPartition(OFFSETS_TOPIC, self._group_partition_for(request.group_id))
        self._coordinator.add_partitions(
            request.transactional_id,
            (request.producer_id, request.producer_epoch),
            [partition],
            0,
            done,
            CLIENT_HOLD_MS,
        )

    def end(self, context: RequestContext, request: EndTxnRequest, respond: Respond) -> None:
        """Let the coordinator commit or abort the transaction, and respond after that decision is
        stored.

        Without WRITE on the transactional id, respond TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
        """
        version = context.api_version

        def reply(error: ErrorCode, identity: tuple[int, int]) -> None:
            """Respond with the error, as this version has it, and the producer id and epoch to
            continue with."""
            respond(EndTxnResponse(0, int(_error_for_version(error, version)), *identity))

        if not _may_write(context, request.transactional_id):
            reply(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NO_IDENTITY)
            return
        self._coordinator.end(
            request.transactional_id,
            (request.producer_id, request.producer_epoch),
            request.committed,
            NEWEST_PROTOCOL if version >= EPOCH_BUMP_FROM else 0,
            reply,
        )


def refuse_add_partitions(
    request: AddPartitionsToTxnRequest, code: ErrorCode
) -> AddPartitionsToTxnResponse:
    """Return a response with `code` at the top and for all partitions, for any version."""
    topics, pace = request.v3_and_below_topics, Pace()
    partitions = in_one_go(_partitions(topics, pace))
    return AddPartitionsToTxnResponse(
        error_code=int(code),
        results_by_topic_v3_and_below=in_one_go(_results(partitions, code, pace)),
    )


def _may_write(context: RequestContext, transactional_id: str) -> bool:
    return context.rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)


def _hidden_topics(
    client: Rights | None, topics: Sequence[AddPartitionsToTxnTopic]
) -> Steps[Container[str]]:
    """Return, as a container, the topics that a client may not write to: internal topics, and those
    it lacks rights for.

    Empty for a broker's request.
    """
    if client is None:
        return ()
    allowed = yield from allowed_in_slices(
        client,
        Operation.WRITE,
        Resource.TOPIC,
        (topic.name for topic in topics if not is_internal(topic.name) for _ in topic.partitions),
    )
    return _Hidden(allowed)


class _Hidden:
    """A container of the topics that are internal or not `allowed`."""

    def __init__(self, allowed: Container[str]) -> None:
        self._allowed = allowed

    def __contains__(self, topic: object) -> bool:
        """Return whether the topic is internal or not allowed."""
        assert isinstance(topic, str)
        return is_internal(topic) or topic not in self._allowed


def _error_for_version(error: ErrorCode, version: int) -> ErrorCode:
    """Return the error; INVALID_PRODUCER_EPOCH if the version does not have PRODUCER_FENCED."""
    if error is ErrorCode.PRODUCER_FENCED and version < FENCED_FROM:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def _normalized(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """Return a client's request as a transaction of a broker's request."""
    return AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        False,
        request.v3_and_below_topics,
    )


def _partitions(
    topics: Sequence[AddPartitionsToTxnTopic], pace: Pace
) -> Steps[list[TopicPartition]]:
    """Return the partitions of `topics`, each once."""
    partitions: dict[TopicPartition, None] = {}
    for topic in topics:
        if pace.is_full():
            yield None
        for index in topic.partitions:
            if pace.is_full():
                yield None
            partitions[TopicPartition(topic.name, index)] = None
    return list(partitions)


def _add_response(
    transactions: list[_RequestedTransaction],
    outcomes: list[_Errors | ErrorCode],
    batched: bool,
) -> Steps[AddPartitionsToTxnResponse]:
    """Return the response; old versions have the one transaction without its name.

    Empties both lists.
    """
    pace, results = Pace(), list[AddPartitionsToTxnResult]()
    for transaction, outcome in zip(drained(transactions), drained(outcomes), strict=True):
        if pace.is_full():
            yield None
        topics = yield from _results(transaction.partitions, outcome, pace)
        results.append(AddPartitionsToTxnResult(transaction.transaction.transactional_id, topics))
    if batched:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results[0].topic_results)


def _results(
    partitions: list[TopicPartition], errors: _Errors | ErrorCode, pace: Pace
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    """Return the results of all partitions.

    `errors` is a single error for all partitions, or has the errors of some; the other partitions
    are OPERATION_NOT_ATTEMPTED.
    """
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for partition in drained(partitions):
        if pace.is_full():
            yield None
        error = errors if isinstance(errors, ErrorCode) else errors.pop(partition, _UNTRIED)
        topic = topics.get(partition.topic)
        if topic is None:
            topic = topics[partition.topic] = AddPartitionsToTxnTopicResult(partition.topic)
        result = AddPartitionsToTxnPartitionResult(partition.partition, int(error))
        topic.results_by_partition.append(result)
    return list(topics.values())
