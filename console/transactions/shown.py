"""Rows of the pages about transactions, from the cluster's answers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from client.operations import Operations
from client.transactions.listing import Transaction
from client.transactions.producers import PartitionProducer
from client.transactions.waiting import Waiting
from console.transactions.answers import ProducerRow, TransactionRow, WaitingPartition
from ottla.plugins.authorizer import Operation


def may_write_markers(operations: Operations | None) -> bool | None:
    """Return True if the login may abort a hanging transaction; None if that is not known."""
    if operations is None:
        return None
    return not operations.isdisjoint({Operation.ALTER, Operation.CLUSTER_ACTION})


def transaction_row(transaction: Transaction) -> TransactionRow:
    """Return a row of the list of transactions."""
    return TransactionRow(
        id=transaction.transactional_id,
        state=transaction.state,
        producer_id=transaction.producer_id,
        epoch=transaction.producer_epoch,
        coordinator=transaction.coordinator,
        timeout_ms=transaction.timeout_ms,
        started_ms=transaction.started_ms,
        partitions=list(transaction.partitions),
    )


def waiting_row(waiting: Waiting, now_ms: int, *, sees_all: bool) -> WaitingPartition:
    """Return a partition with waiting records.

    `sees_all`: the login is an administrator's, so a transaction that no coordinator shows it is
    one that no coordinator knows.
    """
    topic, index = waiting.partition
    producer, transaction = waiting.producer, waiting.transaction
    since_ms = None if producer is None else producer.last_timestamp_ms
    if transaction is not None and transaction.started_ms is not None:
        since_ms = transaction.started_ms
    return WaitingPartition(
        topic=topic,
        partition=index,
        stable=waiting.stable,
        end=waiting.end,
        records=waiting.records,
        producer_id=None if producer is None else producer.producer_id,
        epoch=None if producer is None else producer.epoch,
        transactional_id=None if transaction is None else transaction.transactional_id,
        since_ms=since_ms,
        hangs=sees_all and waiting.hangs(now_ms),
    )


def producer_rows(
    producers: Sequence[PartitionProducer], ids: dict[int, str], most: int
) -> list[ProducerRow]:
    """Return the rows of producers: those with an open transaction first, then the latest, at most
    `most`. `ids`: the transactional ids that the login may describe, by producer id."""
    ordered = sorted(producers, key=_open_then_latest)
    return [
        ProducerRow(*producer, transactional_id=ids.get(producer.producer_id))
        for producer in ordered[:most]
    ]


def _open_then_latest(producer: PartitionProducer) -> tuple[bool, int, int]:
    return producer.open_from is None, -producer.last_timestamp_ms, producer.producer_id
