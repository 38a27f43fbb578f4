"""The transactions of a cluster, as their coordinators list and describe them.

A transaction that this login may not describe is left out. Owns no connection. Follows KIP-664
(ListTransactions, DescribeTransactions), KIP-994 (the duration filter).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.refusals import Refused, why
from protocol.errors import ErrorCode
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

IDS_A_REQUEST = 200
OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""The states in which a transaction has not ended in all partitions."""


class ListedTransaction(NamedTuple):
    """A transactional id with the state of its last transaction."""

    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class Transaction(NamedTuple):
    """A transactional id as its coordinator describes it.

    `started_ms` is the time of the open transaction's first partition, None if none is open.
    `partitions` are those of the open transaction that this login may describe.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    coordinator: int
    timeout_ms: int
    started_ms: int | None
    partitions: Sequence[Partition]


def listed(
    cluster: ClusterClient,
    states: Sequence[str] = (),
    longer_ms: int = -1,
    producer_ids: Sequence[int] = (),
) -> list[ListedTransaction]:
    """Ask every broker for the transactions that it coordinates, and return them by id.

    `states`, `producer_ids`: only these, if any are given. `longer_ms`: only transactions that are
    open for longer. Raises Refused, StartError.
    """
    cluster.metadata([])
    rows = []
    for node_id in cluster.broker_ids:
        request = ListTransactionsRequest(list(states), list(producer_ids), longer_ms)
        answer = cluster.settled(request, ListTransactionsResponse, node_id)
        if answer.error_code:
            raise Refused(why(answer.error_code, None, "Describe on the transactional ids"))
        rows += [
            ListedTransaction(row.transactional_id, row.producer_id, row.transaction_state, node_id)
            for row in answer.transaction_states
        ]
    return sorted(rows)


def described(
    cluster: ClusterClient, transactions: Sequence[ListedTransaction]
) -> dict[str, Transaction]:
    """Ask the coordinators for these transactions, and return them by id.

    Those that ended, moved, or are not visible to this login are left out. Raises StartError.
    """
    ids_by_node: dict[int, list[str]] = {}
    for row in transactions:
        ids_by_node.setdefault(row.coordinator, []).append(row.transactional_id)
    described_by_id = {}
    for node_id, ids in ids_by_node.items():
        for chunk in _chunks(ids):
            request = DescribeTransactionsRequest(chunk)
            answer = cluster.call_at(node_id, request, DescribeTransactionsResponse)
            for state in answer.transaction_states:
                if state.error_code == ErrorCode.NONE:
                    described_by_id[state.transactional_id] = Transaction(
                        state.transactional_id,
                        state.producer_id,
                        state.producer_epoch,
                        state.transaction_state,
                        node_id,
                        state.transaction_timeout_ms,
                        _started_ms(state),
                        sorted(
                            (topic.topic, index)
                            for topic in state.topics
                            for index in topic.partitions
                        ),
                    )
    return described_by_id


def _started_ms(state: TransactionState) -> int | None:
    """Return the start of an open transaction, None if the last one has ended: a coordinator keeps
    its start until the next begins."""
    started_ms = state.transaction_start_time_ms
    return started_ms if state.transaction_state in OPEN_STATES and started_ms >= 0 else None


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield the ids in lists of at most IDS_A_REQUEST."""
    for start in range(0, len(ids), IDS_A_REQUEST):
        yield list(ids[start : start + IDS_A_REQUEST])
