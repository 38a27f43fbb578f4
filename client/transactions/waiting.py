"""The records that wait for open transactions: those after a partition's last stable offset.

A consumer with read_committed does not get these records before the transaction ends. A transaction
hangs if its partition has it open but no coordinator knows it, so that nothing ends it. Owns no
connection. Follows KIP-664 and Kafka's `TransactionsCommand find-hanging`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from client.cluster import ClusterClient
from client.core.leaders import Partition
from client.core.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from client.transactions import listing
from client.transactions.listing import Transaction
from client.transactions.producers import PartitionProducer, open_from, producers_of
from protocol.messages.list_offsets import ListOffsetsPartitionResponse
from protocol.messages.metadata import MetadataResponseTopic

HANGS_AFTER_MS = 900_000
"""The age from which a transaction without a coordinator hangs: Kafka's default of
`transaction.max.timeout.ms`, as in its `find-hanging`."""


class Waiting(NamedTuple):
    """A partition with records after its last stable offset.

    `producer` is the one whose open transaction begins first; None if the login may not see
    producers, or if the transaction has just ended. `transaction` is None if no coordinator that
    the login may ask knows the transaction in this partition.
    """

    partition: Partition
    stable: int
    end: int
    producer: PartitionProducer | None
    transaction: Transaction | None

    @property
    def records(self) -> int:
        """The offsets between the last stable offset and the high watermark."""
        return self.end - self.stable

    def hangs(self, now_ms: int) -> bool:
        """Return True if the transaction is old, and no coordinator knows it."""
        return (
            self.producer is not None
            and self.transaction is None
            and now_ms - self.producer.last_timestamp_ms >= HANGS_AFTER_MS
        )


@dataclass(frozen=True, slots=True)
class AllWaiting:
    """The partitions with waiting records, and the topics whose producers are not visible."""

    partitions: list[Waiting] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)


def waiting_in(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Iterable[Partition],
) -> AllWaiting:
    """Ask the leaders for the partitions with records after the last stable offset, and the
    coordinators for their transactions. Raises Refused, StartError."""
    spans = stable_and_end(cluster, topics, list(partitions))
    wanted = [at for at, (stable, end) in spans.items() if stable < end]
    if not wanted:
        return AllWaiting()
    producers = producers_of(cluster, topics, wanted)
    first = {at: open_from(producers.by_partition.get(at, ())) for at in wanted}
    ids = sorted({producer.producer_id for producer in first.values() if producer is not None})
    transactions = transactions_of(cluster, ids)
    return AllWaiting(
        [
            Waiting(at, *spans[at], first[at], _known(transactions, at, first[at]))
            for at in sorted(wanted)
        ],
        producers.denied,
    )


def stable_and_end(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Sequence[Partition],
) -> dict[Partition, tuple[int, int]]:
    """Ask the leaders for the last stable offset and the high watermark of each partition.

    The high watermark comes first: records that are written between the two requests do not look
    as if they waited. Partitions with an error are left out. Raises StartError.
    """
    ends = _last_offsets(cluster, topics, partitions, READ_UNCOMMITTED)
    stable = _last_offsets(cluster, topics, partitions, READ_COMMITTED)
    return {
        at: (stable[at].offset, ends[at].offset)
        for at in partitions
        if at in stable and at in ends and not stable[at].error_code and not ends[at].error_code
    }


def _last_offsets(
    cluster: ClusterClient,
    topics: Mapping[str, MetadataResponseTopic],
    partitions: Sequence[Partition],
    isolation_level: int,
) -> dict[Partition, ListOffsetsPartitionResponse]:
    """Ask the leaders for the last offset that a consumer with this isolation level reads to."""
    wanted = dict.fromkeys(partitions, LATEST)
    return cluster.run(list_offsets(cluster.leaders(topics), wanted, isolation_level))


def transactions_of(cluster: ClusterClient, producer_ids: Sequence[int]) -> dict[int, Transaction]:
    """Return the transactions of these producer ids that the login may describe. Raises Refused,
    StartError."""
    if not producer_ids:
        return {}
    rows = listing.listed(cluster, producer_ids=producer_ids)
    described = listing.described(cluster, rows)
    return {transaction.producer_id: transaction for transaction in described.values()}


def _known(
    transactions: Mapping[int, Transaction], at: Partition, producer: PartitionProducer | None
) -> Transaction | None:
    """Return the transaction that a producer has open in a partition, if its coordinator knows it
    there."""
    if producer is None:
        return None
    transaction = transactions.get(producer.producer_id)
    if transaction is None or at not in transaction.partitions:
        return None
    return transaction
