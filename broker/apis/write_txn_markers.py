"""WriteTxnMarkers: v1-2, from transaction coordinators, and from `kafka-transactions abort`.

Behaviour: each marker ends a producer's transaction in the partitions that it names and this broker
leads. The marker is appended as a control batch. The answer comes after all in-sync replicas have
it, as with acks=all, within `request.timeout.ms`. Each partition has its own error.
INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED mean that the marker is late; after other
errors the coordinator retries. An invalid marker (of the producer id -1, for example) fails with
UNKNOWN_SERVER_ERROR. If a request names a partition several times for one producer, the last answer
counts. For `__consumer_offsets` this broker's group coordinator must have loaded the partition. It
is notified at once, and then commits or drops the offsets of the transaction.

Rights: ALTER or CLUSTER_ACTION on the cluster, otherwise each partition fails with
CLUSTER_AUTHORIZATION_FAILED.

Versions: v1 flexible, v2 the version of the transactions protocol (KIP-1228).
"""

from __future__ import annotations

from collections.abc import Callable

from broker.coordinator.coordinator_log import TransactionMarker
from broker.groups.group_coordinator import GroupCoordinator
from broker.purgatory.delayed_operations import DelayedProduce, PendingAck, ReplicatedPartition
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Pace, Steps, drained, in_one_go
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

OFFSETS_TOPIC = "__consumer_offsets"

MARKERS_A_SLICE = 40
"""The most markers appended in one slice.

The first batch of a log, which opens its files, takes some fifty microseconds.
"""


class WriteTxnMarkersApi:
    """The handler of WriteTxnMarkers."""

    def __init__(
        self,
        replicas: ReplicaManager,
        groups: GroupCoordinator,
        request_timeout_ms: int,
        answers: SlicedAnswers,
    ) -> None:
        self._answers = answers
        self._replicas = replicas
        self._groups = groups
        self._timeout_ms = request_timeout_ms

    def apis(self) -> list[Api]:
        return [Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, self.handle, refuse_write_txn_markers)]

    def handle(
        self, context: RequestContext, request: WriteTxnMarkersRequest, respond: Respond
    ) -> None:
        """Append the markers, and respond after they are replicated, or after `request.timeout.ms`.

        Without ALTER or CLUSTER_ACTION on the cluster, all partitions get
        CLUSTER_AUTHORIZATION_FAILED.
        """
        rights = context.rights
        if not (
            rights.allows_on_cluster(Operation.ALTER, audited=False)
            or rights.allows_on_cluster(Operation.CLUSTER_ACTION)
        ):
            refused = _all_refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            self._answers.give(context, request, refused, respond, refuse_write_txn_markers)
            return
        write = _Write(self._replicas, self._groups)

        def failed(response: WriteTxnMarkersResponse) -> None:
            """Respond with an error at once, and wake the requests that wait for the appended
            markers."""
            write.pending.clear()
            self._wait(write, lambda: respond(response))

        def replicated() -> None:
            """Respond with the result of each partition, after the wait has ended."""
            steps = write.answered()
            self._answers.give(context, request, steps, respond, refuse_write_txn_markers)

        self._answers.judge(
            context,
            request,
            write.run(request),
            lambda _: self._wait(write, replicated),
            failed,
            refuse_write_txn_markers,
        )

    def _wait(self, write: _Write, respond: Callable[[], None]) -> None:
        """Call `respond` after the markers are replicated or the time-out has passed, at once if
        there is nothing to wait for. Wake the requests that wait for these appends."""
        waiting = DelayedProduce(write.pending, respond)
        # If the last marker in a partition is replicated, those before it are as well.
        if self._replicas.wait_for_replicas(waiting, write.appended, self._timeout_ms):
            return
        try:
            waiting.complete()
        finally:
            self._replicas.wake(write.appended)


class _Write:
    """The appends of one request."""

    def __init__(self, replicas: ReplicaManager, groups: GroupCoordinator) -> None:
        self._replicas = replicas
        self._groups = groups
        self._now_ms = replicas.scheduler.wall_ms()
        self._results: dict[int, dict[str, dict[int, Partition | ErrorCode]]] = {}
        """The partition with the marker, or the error, by producer id, topic and index."""
        self._verdicts: dict[Partition, ErrorCode] = {}
        self.appended: dict[Partition, None] = {}
        self.pending: dict[ReplicatedPartition, PendingAck] = {}

    def run(self, request: WriteTxnMarkersRequest) -> Steps[None]:
        """Append the markers to the partitions that this broker leads, and store each result for
        `answered`."""
        pace, looks = Pace(MARKERS_A_SLICE), Pace()
        for marker in request.markers:
            for name, index in drained((yield from _partitions_of(marker, looks))):
                if pace.is_full():
                    yield None
                topics = self._results.setdefault(marker.producer_id, {})
                topics.setdefault(name, {})[index] = self._append_marker(name, index, marker)

    def answered(self) -> Steps[WriteTxnMarkersResponse]:
        """Return the response, with the results grouped by producer id."""
        pace, results = Pace(), list[WritableTxnMarkerResult]()
        for producer_id, topics in self._results.items():
            result = WritableTxnMarkerResult(producer_id)
            results.append(result)
            for name, outcomes in topics.items():
                topic = WritableTxnMarkerTopicResult(name)
                result.topics.append(topic)
                for index, outcome in outcomes.items():
                    if pace.is_full():
                        yield None
                    if not isinstance(outcome, ErrorCode):
                        outcome = self._verdicts.get(outcome, ErrorCode.NONE)
                    answer = WritableTxnMarkerPartitionResult(index, int(outcome))
                    topic.partitions.append(answer)
        return WriteTxnMarkersResponse(results)

    def _append_marker(
        self, topic: str, index: int, marker: WritableTxnMarker
    ) -> Partition | ErrorCode:
        """Append a marker; return the partition, or the error if nothing was appended.

        Also passes a marker of `__consumer_offsets` to the group coordinator, and adds an entry to
        `pending` for the replication.
        """
        partition = self._replicas.partition(topic, index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic == OFFSETS_TOPIC and self._groups.marker_error(index):
            # The only error of this kind that a transaction coordinator understands.
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        info = partition.append_end_txn_marker(
            TransactionMarkerRequest(
                marker.producer_id,
                marker.producer_epoch,
                marker.coordinator_epoch,
                marker.transaction_result,
                marker.transaction_version,
            ),
            self._now_ms,
        )
        if isinstance(info, ErrorCode):
            return info
        if info.error:
            return info.error
        if topic == OFFSETS_TOPIC:
            self._groups.on_transaction_marker(
                index,
                TransactionMarker(info.last_offset, marker.producer_id, marker.transaction_result),
            )
        self.appended[partition] = None

        def settle(verdict: ErrorCode) -> None:
            """Store the verdict of the replicas for the response."""
            self._verdicts[partition] = verdict

        self.pending[partition] = PendingAck(info.last_offset + 1, settle)
        return partition


def _partitions_of(marker: WritableTxnMarker, pace: Pace) -> Steps[list[tuple[str, int]]]:
    """Return the partitions of a marker, each once."""
    named: dict[tuple[str, int], None] = {}
    if pace.is_full():
        yield None
    for topic in marker.topics:
        if pace.is_full():
            yield None
        for index in topic.partition_indexes:
            if pace.is_full():
                yield None
            named[topic.name, index] = None
    return list(named)


def refuse_write_txn_markers(
    request: WriteTxnMarkersRequest, error: ErrorCode
) -> WriteTxnMarkersResponse:
    """Return a response with `error` for every partition of every marker."""
    return in_one_go(_all_refused(request, error))


def _all_refused(
    request: WriteTxnMarkersRequest, error: ErrorCode
) -> Steps[WriteTxnMarkersResponse]:
    """Return a response with `error` for every partition of every marker."""
    pace, results = Pace(), dict[int, WritableTxnMarkerResult]()
    for marker in request.markers:
        result = results.setdefault(marker.producer_id, WritableTxnMarkerResult(marker.producer_id))
        if pace.is_full():
            yield None
        for topic in marker.topics:
            if pace.is_full():
                yield None
            answer = WritableTxnMarkerTopicResult(topic.name)
            result.topics.append(answer)
            for index in topic.partition_indexes:
                if pace.is_full():
                    yield None
                answer.partitions.append(WritableTxnMarkerPartitionResult(index, int(error)))
    return WriteTxnMarkersResponse(list(results.values()))
