"""A cluster's answers about transactions, for the tests of the client and of the console.

The topic t has three partitions: in t-0 the transaction of `tx` is open, in t-1 one that no
coordinator knows, in t-2 none. Broker 2 coordinates all transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from client.core.offsets import READ_COMMITTED
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.messages.describe_transactions import (
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.list_transactions import ListTransactionsResponse
from protocol.messages.list_transactions import TransactionState as Listed
from protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from tests.unit.client.scripted import ScriptedCluster, topic_of

STABLE = {0: 40, 1: 90, 2: 100}
END = 100
STARTED_MS = 1_000_000
HUNG_MS = 500_000
KNOWN, HANGING, IDLE = 7, 8, 9


def cluster_of(**answers: Any) -> ScriptedCluster:
    """Return a cluster with the topic t and its transactions; `answers` override its own."""
    return ScriptedCluster(
        [topic_of("t", [1, 2, 1])],
        {
            "ListOffsetsRequest": _offsets,
            "DescribeProducersRequest": _producers,
            "ListTransactionsRequest": _listed,
            "DescribeTransactionsRequest": described([("t", [0])]),
            "DescribeClusterRequest": DescribeClusterResponse(cluster_authorized_operations=1 << 7),
            "InitProducerIdRequest": InitProducerIdResponse(),
            "WriteTxnMarkersRequest": marked(0),
        }
        | answers,
    )


def described(topics: Sequence[tuple[str, list[int]]], **fields: Any) -> Any:
    """Answer DescribeTransactions: each id has a transaction open in these partitions."""

    def answer(request: Any) -> DescribeTransactionsResponse:
        return DescribeTransactionsResponse(
            transaction_states=[
                TransactionState(
                    **{
                        "transactional_id": name,
                        "transaction_state": "Ongoing",
                        "transaction_timeout_ms": 60_000,
                        "transaction_start_time_ms": STARTED_MS,
                        "producer_id": KNOWN,
                        "producer_epoch": 3,
                        "topics": [TopicData(topic, indexes) for topic, indexes in topics],
                    }
                    | fields
                )
                for name in request.transactional_ids
            ]
        )

    return answer


def marked(code: int) -> WriteTxnMarkersResponse:
    """Return a response to WriteTxnMarkers with this error code."""
    topics = [WritableTxnMarkerTopicResult("t", [WritableTxnMarkerPartitionResult(1, code)])]
    return WriteTxnMarkersResponse([WritableTxnMarkerResult(HANGING, topics)])


def _offsets(request: Any) -> ListOffsetsResponse:
    """Answer ListOffsets: with read_committed the last stable offset, else the end."""
    is_committed = request.isolation_level == READ_COMMITTED
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                topic.name,
                [
                    ListOffsetsPartitionResponse(
                        one.partition_index,
                        offset=STABLE[one.partition_index] if is_committed else END,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _producers(request: Any) -> DescribeProducersResponse:
    """Return the producers of the partitions, as brokers answer DescribeProducers."""
    states = {
        0: [
            ProducerState(IDLE, 0, 5, STARTED_MS, -1, -1),
            ProducerState(KNOWN, 3, 9, STARTED_MS, 0, 40),
        ],
        1: [ProducerState(HANGING, 2, 4, HUNG_MS, 6, 90)],
        2: [],
    }
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name,
                [
                    PartitionResponse(index, active_producers=states[index])
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _listed(request: Any) -> ListTransactionsResponse:
    """Answer ListTransactions of both brokers with the one transaction of `tx`."""
    if request.producer_id_filters and KNOWN not in request.producer_id_filters:
        return ListTransactionsResponse()
    return ListTransactionsResponse(transaction_states=[Listed("tx", KNOWN, "Ongoing")])
