"""The end of an open transaction by an administrator.

A transaction that a coordinator knows ends by InitProducerId with its transactional id, which
fences its producer. One that no coordinator knows ends by an abort marker, sent to the partition's
leader. Owns no connection. Follows KIP-664, `Admin.fenceProducers`, `kafka-transactions abort`.
"""

from __future__ import annotations

from client.cluster import ClusterClient
from client.core.coordinators import TRANSACTION, at_coordinator
from client.core.leaders import Partition
from client.core.operation import Answer, RequestStep, Steps
from client.refusals import Refused, why
from client.transactions.producers import PartitionProducer
from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_INIT_PRODUCER_ID_VERSION = 5


def fence(cluster: ClusterClient, transactional_id: str, timeout_ms: int) -> None:
    """Give the transactional id a new producer epoch, so that its coordinator aborts the open
    transaction and rejects its present producer.

    `timeout_ms`: the transaction timeout that the id keeps. Returns after the transaction has
    ended. Raises Refused, StartError.
    """
    attempts = cluster.attempts()
    request = InitProducerIdRequest(transactional_id, timeout_ms)

    def once() -> Steps[Answer]:
        """Send InitProducerId to the coordinator, and return its response."""
        return at_coordinator(
            attempts, transactional_id, request, _INIT_PRODUCER_ID_VERSION, TRANSACTION
        )

    answer = cluster.run(attempts.settled(once, [ErrorCode.CONCURRENT_TRANSACTIONS]))
    if answer.error_code:
        needs = f"Write on transactional id {transactional_id}"
        raise Refused(f"{transactional_id}: {why(answer.error_code, None, needs)}")


def write_abort_marker(cluster: ClusterClient, at: Partition, producer: PartitionProducer) -> None:
    """Write a marker that aborts the producer's open transaction in one partition.

    Raises Refused, also if the producer has another epoch meanwhile, and StartError.
    """
    topic, index = at
    (leader,) = cluster.by_leader(cluster.led_topics([topic]), [at])
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(topic, [index])],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )
    request = WriteTxnMarkersRequest([marker])
    answer = cluster.run(_sent(request, leader))
    code = answer.markers[0].topics[0].partitions[0].error_code
    if code:
        raise Refused(f"{topic}-{index}: {why(code, None, 'Alter on the cluster')}")


def _sent(request: WriteTxnMarkersRequest, leader: int) -> Steps[WriteTxnMarkersResponse]:
    """Send the markers to a leader, and return its response."""
    answer: WriteTxnMarkersResponse = yield RequestStep(request, request.MAX_VERSION, leader)
    return answer
