"""Transactions, producers and waiting records, as a cluster answers; the end of a transaction."""

from __future__ import annotations

from typing import Any

import pytest

from client.cluster import partitions_of
from client.core.offsets import READ_COMMITTED, READ_UNCOMMITTED
from client.refusals import Refused
from client.transactions import listing
from client.transactions.aborting import fence, write_abort_marker
from client.transactions.producers import PartitionProducer, open_from, producers_of
from client.transactions.waiting import HANGS_AFTER_MS, AllWaiting, waiting_in
from protocol.messages.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.list_transactions import ListTransactionsResponse
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.client.transactions.answers import (
    HANGING,
    HUNG_MS,
    IDLE,
    KNOWN,
    STARTED_MS,
    cluster_of,
    described,
    marked,
)

NOT_READABLE, CONCURRENT, FENCED, NOT_ALLOWED = 29, 51, 47, 31


def waiting(cluster: ScriptedCluster) -> AllWaiting:
    topics = cluster.topics(["t"])
    return waiting_in(cluster, topics, partitions_of(topics))


def test_transactions_come_from_all_brokers_with_their_partitions() -> None:
    cluster = cluster_of()
    rows = listing.listed(cluster, ["Ongoing"], 5_000)
    assert [(row.transactional_id, row.coordinator) for row in rows] == [("tx", 1), ("tx", 2)]
    requests = cluster.asked_for("ListTransactionsRequest")
    assert [one.state_filters for one in requests] == [["Ongoing"]] * 2
    assert requests[0].duration_filter == 5_000
    transaction = listing.described(cluster, rows[1:])["tx"]
    assert (transaction.state, transaction.producer_epoch) == ("Ongoing", 3)
    assert (transaction.started_ms, transaction.partitions) == (STARTED_MS, [("t", 0)])


def test_a_transaction_that_has_ended_is_not_open_any_more() -> None:
    row = listing.ListedTransaction("tx", KNOWN, "CompleteCommit", 2)
    ended = described([], transaction_state="CompleteCommit", transaction_start_time_ms=5)
    cluster = cluster_of(DescribeTransactionsRequest=ended)
    assert listing.described(cluster, [row])["tx"].started_ms is None


def test_records_that_are_written_meanwhile_do_not_wait() -> None:
    """The stable offset is asked for after the high watermark, so it is not behind it."""
    cluster = cluster_of()
    waiting(cluster)
    levels = [request.isolation_level for request in cluster.asked_for("ListOffsetsRequest")]
    assert levels == sorted(levels) and set(levels) == {READ_UNCOMMITTED, READ_COMMITTED}


def test_a_transaction_without_a_start_or_with_an_error() -> None:
    row = listing.ListedTransaction("tx", KNOWN, "Empty", 2)
    idle = cluster_of(DescribeTransactionsRequest=described([], transaction_start_time_ms=-1))
    assert listing.described(idle, [row])["tx"].started_ms is None
    denied = cluster_of(DescribeTransactionsRequest=described([], error_code=53))
    assert listing.described(denied, [row]) == {}
    with pytest.raises(Refused):
        listing.listed(cluster_of(ListTransactionsRequest=ListTransactionsResponse(0, 42)))


def test_records_wait_for_the_transaction_that_begins_first() -> None:
    first, second = waiting(cluster_of()).partitions
    assert (first.partition, first.records, first.stable) == (("t", 0), 60, 40)
    assert first.transaction is not None and first.producer is not None
    assert (first.transaction.transactional_id, first.producer.producer_id) == ("tx", KNOWN)
    assert (second.partition, second.records, second.transaction) == (("t", 1), 10, None)
    assert second.producer is not None and second.producer.producer_id == HANGING


def test_a_transaction_hangs_if_it_is_old_and_unknown_to_coordinators() -> None:
    first, second = waiting(cluster_of()).partitions
    late = HUNG_MS + HANGS_AFTER_MS
    assert not first.hangs(late)
    assert (second.hangs(late - 1), second.hangs(late)) == (False, True)


def test_a_coordinator_that_has_another_partition_does_not_know_the_transaction() -> None:
    cluster = cluster_of(DescribeTransactionsRequest=described([("t", [2])]))
    assert [one.transaction for one in waiting(cluster).partitions] == [None, None]


def test_without_read_on_the_topic_the_producer_is_not_known() -> None:
    def answer(_request: Any) -> DescribeProducersResponse:
        parts = [PartitionResponse(index, NOT_READABLE) for index in (0, 1, 2)]
        return DescribeProducersResponse(topics=[TopicResponse("t", parts)])

    found = waiting(cluster_of(DescribeProducersRequest=answer))
    assert found.denied == ["t"]
    assert [one.producer for one in found.partitions] == [None, None]
    assert not any(one.hangs(1 << 60) for one in found.partitions)


def test_if_no_records_wait_no_producers_are_asked_for() -> None:
    cluster = cluster_of()
    assert waiting_in(cluster, cluster.topics(["t"]), [("t", 2)]).partitions == []
    assert cluster.asked_for("DescribeProducersRequest") == []


def test_producers_of_a_partition() -> None:
    cluster = cluster_of()
    found = producers_of(cluster, cluster.topics(["t"]), [("t", 0), ("t", 2)])
    assert found.by_partition["t", 2] == []
    ids = [one.producer_id for one in found.by_partition["t", 0]]
    assert ids == [KNOWN, IDLE]
    first = open_from(found.by_partition["t", 0])
    assert first == PartitionProducer(KNOWN, 3, 9, STARTED_MS, 0, 40)
    assert open_from([]) is None


def test_a_fenced_id_keeps_its_timeout_and_is_retried_until_the_markers_are_written() -> None:
    codes = [CONCURRENT, CONCURRENT, 0]
    cluster = cluster_of(
        InitProducerIdRequest=lambda _: InitProducerIdResponse(error_code=codes.pop(0))
    )
    fence(cluster, "tx", 60_000)
    requests = cluster.asked_for("InitProducerIdRequest")
    asked = [(one.transactional_id, one.transaction_timeout_ms) for one in requests]
    assert asked == [("tx", 60_000)] * 3
    denied = cluster_of(InitProducerIdRequest=InitProducerIdResponse(error_code=53))
    with pytest.raises(Refused, match="Write on transactional id tx"):
        fence(denied, "tx", 60_000)


def test_an_abort_marker_goes_to_the_leader_of_its_partition() -> None:
    cluster = cluster_of()
    write_abort_marker(cluster, ("t", 1), PartitionProducer(HANGING, 2, 4, HUNG_MS, -1, 90))
    node_id, request = cluster.asked[-1]
    (marker,) = request.markers
    assert node_id == 2
    assert (marker.producer_id, marker.producer_epoch) == (HANGING, 2)
    assert (marker.transaction_result, marker.coordinator_epoch) == (False, 0)
    assert [(one.name, one.partition_indexes) for one in marker.topics] == [("t", [1])]


@pytest.mark.parametrize(
    ("code", "said"), [(NOT_ALLOWED, "Alter on the cluster"), (FENCED, "INVALID_PRODUCER_EPOCH")]
)
def test_a_marker_that_the_leader_rejects(code: int, said: str) -> None:
    cluster = cluster_of(WriteTxnMarkersRequest=marked(code))
    with pytest.raises(Refused, match=said):
        write_abort_marker(cluster, ("t", 1), PartitionProducer(HANGING, 2, 4, 1, 6, 90))
