"""AddPartitionsToTxn v0-5, AddOffsetsToTxn v0-4, EndTxn v0-5: a transactional producer's requests.

Behaviour: what comes to a broker that does not lead the transactional id's partition is
NOT_COORDINATOR. AddPartitionsToTxn takes all partitions or none: where one does not exist, that one
is UNKNOWN_TOPIC_OR_PARTITION and the others OPERATION_NOT_ATTEMPTED. EndTxn is answered when the
decision is replicated; the markers follow.

All of them need WRITE of the transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED, and
AddOffsetsToTxn READ of the group, else GROUP_AUTHORIZATION_FAILED. A client's AddPartitionsToTxn
needs WRITE of each topic: where one is denied, it is TOPIC_AUTHORIZATION_FAILED and the others
OPERATION_NOT_ATTEMPTED. A broker's needs CLUSTER_ACTION alone (CLUSTER_AUTHORIZATION_FAILED): that
broker has judged its client. Each step of an open transaction is judged by what the client may do
then.

Versions: AddPartitionsToTxn v2 PRODUCER_FENCED where earlier ones say INVALID_PRODUCER_EPOCH, v3
flexible, v4 and v5 are sent by brokers for their clients: several transactions, each to be verified
only or added to (KIP-890); v5 TRANSACTION_ABORTABLE. AddOffsetsToTxn v2 and EndTxn v2 as v2 above,
v3 flexible, v4 TRANSACTION_ABORTABLE; EndTxn v5 raises the epoch and names the identity to go on
with (transactions protocol version 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.apis.auto_topic_creation import OFFSETS_TOPIC
from broker.apis.cluster_view import ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.transactions.held_requests import BROKER_HOLD_MS, CLIENT_HOLD_MS
from broker.transactions.producer_identity import NOBODY
from broker.transactions.transaction_coordinator import TransactionCoordinator
from controller.metadata.topic_names import is_internal
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
from protocol.rights import Rights
from storage.topic_partition import TopicPartition

BATCHED_FROM = 4
FENCED_FROM = 2
EPOCH_BUMP_FROM = 5
NEWEST_PROTOCOL = 2
"""`transaction.version` of requests that only clients and brokers of KIP-890 send."""

_Errors = dict[TopicPartition, ErrorCode]


class TransactionsApi:
    """The APIs of the module. `group_partition_for(group_id)` is the group coordinator's."""

    def __init__(
        self,
        metadata: ImageSource,
        coordinator: TransactionCoordinator,
        group_partition_for: Callable[[str], int],
    ) -> None:
        self._metadata = metadata
        self._coordinator = coordinator
        self._group_partition_for = group_partition_for

    def apis(self) -> list[Api]:
        """The three APIs with their ranges."""
        return [
            Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, self.add_partitions, refuse_add_partitions),
            Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, self.add_offsets),
            Api(ApiKey.END_TXN, 0, 5, self.end),
        ]

    # -- AddPartitionsToTxn --------------------------------------------------------------------

    def add_partitions(
        self, context: RequestContext, request: AddPartitionsToTxnRequest, respond: Respond
    ) -> None:
        """AddPartitionsToTxn: answered when every transaction of it is."""
        batched = context.api_version >= BATCHED_FROM
        if batched and not context.rights.allows_on_cluster(Operation.CLUSTER_ACTION):
            respond(refuse_add_partitions(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        asked = request.transactions if batched else [_normalized(request)]
        results: dict[int, AddPartitionsToTxnResult] = {}

        def done(index: int, errors: _Errors) -> None:
            results[index] = _result(asked[index].transactional_id, errors)
            if len(results) < len(asked):
                return
            if batched:
                in_order = [results[one] for one in range(len(asked))]
                respond(AddPartitionsToTxnResponse(results_by_transaction=in_order))
            else:
                topics = results[0].topic_results
                respond(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics))

        if not asked:
            respond(AddPartitionsToTxnResponse())
        for index, transaction in enumerate(asked):
            self._add(context, transaction, partial(done, index))

    def _add(
        self,
        context: RequestContext,
        transaction: AddPartitionsToTxnTransaction,
        done: Callable[[_Errors], None],
    ) -> None:
        version, partitions = context.api_version, _partitions(transaction.topics)
        name = transaction.transactional_id
        identity = (transaction.producer_id, transaction.producer_epoch)
        if version >= BATCHED_FROM:
            self._ask(name, identity, partitions, transaction.verify_only, BROKER_HOLD_MS, done)
            return
        if not _may_write(context, name):
            done(dict.fromkeys(partitions, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            return
        refused = self._refused(partitions, context.rights)
        if refused:
            done(refused)
            return
        self._coordinator.add_partitions(
            name,
            identity,
            partitions,
            0,
            lambda error: done(dict.fromkeys(partitions, _known(error, version))),
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
        """What a leader on this broker asks: AddPartitionsToTxn with no messages in between.

        Nobody else waits for this answer, as somebody does where brokers ask.
        """
        self._ask(transactional_id, identity, partitions, verify_only, CLIENT_HOLD_MS, done)

    def _ask(
        self,
        transactional_id: str,
        identity: tuple[int, int],
        partitions: Sequence[TopicPartition],
        verify_only: bool,
        hold_ms: int,
        done: Callable[[_Errors], None],
    ) -> None:
        refused = self._refused(partitions, None)
        if refused:
            done(refused)
        elif verify_only:
            done(self._coordinator.verify_partitions(transactional_id, identity, partitions))
        else:
            self._coordinator.add_partitions(
                transactional_id,
                identity,
                partitions,
                NEWEST_PROTOCOL,
                lambda error: done(dict.fromkeys(partitions, error)),
                hold_ms,
            )

    def _refused(self, partitions: Sequence[TopicPartition], client: Rights | None) -> _Errors:
        """Where one may not be added, none is: an error for each of them. `client`: what it may
        do, where none of the brokers asks."""
        topics = self._metadata.image.topics
        hidden = _hidden_topics(client, partitions)
        refused: _Errors = {}
        for partition in partitions:
            topic = topics.get(partition.topic)
            if partition.topic in hidden:
                refused[partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None or partition.partition not in topic.partitions:
                refused[partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not refused:
            return refused
        untried = ErrorCode.OPERATION_NOT_ATTEMPTED
        return {one: refused.get(one, untried) for one in partitions}

    # -- AddOffsetsToTxn, EndTxn ---------------------------------------------------------------

    def add_offsets(
        self, context: RequestContext, request: AddOffsetsToTxnRequest, respond: Respond
    ) -> None:
        """AddOffsetsToTxn: the partition of the group's offsets belongs to the transaction."""

        def done(error: ErrorCode) -> None:
            respond(AddOffsetsToTxnResponse(error_code=int(_known(error, context.api_version))))

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
        """EndTxn."""
        version = context.api_version

        def reply(error: ErrorCode, identity: tuple[int, int]) -> None:
            respond(EndTxnResponse(0, int(_known(error, version)), *identity))

        if not _may_write(context, request.transactional_id):
            reply(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, NOBODY)
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
    """`code` for all that was asked, in the form of any version."""
    single = _normalized(request)
    return AddPartitionsToTxnResponse(
        error_code=int(code),
        results_by_topic_v3_and_below=_result(
            "", dict.fromkeys(_partitions(single.topics), code)
        ).topic_results,
    )


def _may_write(context: RequestContext, transactional_id: str) -> bool:
    return context.rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, transactional_id)


def _hidden_topics(client: Rights | None, partitions: Sequence[TopicPartition]) -> set[str]:
    """Topics that no client may write to, and those that this one may not."""
    if client is None:
        return set()
    named = [one.topic for one in partitions]
    theirs = [name for name in named if not is_internal(name)]
    return set(named) - client.allowed(Operation.WRITE, Resource.TOPIC, theirs)


def _known(error: ErrorCode, version: int) -> ErrorCode:
    """Older clients do not know PRODUCER_FENCED."""
    if error is ErrorCode.PRODUCER_FENCED and version < FENCED_FROM:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


def _normalized(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    """A client's request as a batch of one."""
    return AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        False,
        request.v3_and_below_topics,
    )


def _partitions(topics: Sequence[AddPartitionsToTxnTopic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _result(transactional_id: str, errors: _Errors) -> AddPartitionsToTxnResult:
    topics: dict[str, list[AddPartitionsToTxnPartitionResult]] = {}
    for partition, error in errors.items():
        one = AddPartitionsToTxnPartitionResult(partition.partition, int(error))
        topics.setdefault(partition.topic, []).append(one)
    return AddPartitionsToTxnResult(
        transactional_id,
        [AddPartitionsToTxnTopicResult(name, results) for name, results in topics.items()],
    )
