"""The open transactions that hold a table back, with their names, from the brokers.

confluent-kafka has no such request, so Ottla's own client sends them (DescribeProducers,
ListTransactions, DescribeTransactions; KIP-664). If that client is not installed, or lacks the
permission, the transaction has no name. Changes nothing.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.spark.connection import KAFKA, Connection

_TIMEOUT_S = 10.0
_OF_SECURITY = ("sasl.", "security.", "ssl.")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The transaction that has been open longest in a partition."""

    partition: int
    producer_id: int
    transactional_id: str | None
    """None if no coordinator knows the transaction, or if this login may not see it."""
    open_s: float
    """The seconds since its begin; without `transactional_id`, since its last batch."""


def open_transactions(
    connection: Connection, topic: str, partitions: Sequence[int]
) -> dict[int, OpenTransaction]:
    """Ask the brokers for the transactions that hold these partitions back, and return them by
    partition. The result lacks unknown transactions, and is empty if the brokers cannot be
    asked."""
    try:
        from broker.config.start_error import StartError
        from client.cluster import ClusterClient
        from client.refusals import Refused
        from client.transactions.waiting import waiting_in
    except ImportError:  # the job runs without the rest of Ottla, from `--py-files pipeline.zip`
        return {}
    try:
        with (
            _properties(connection.options) as file,
            ClusterClient(connection.servers, file, _TIMEOUT_S) as cluster,
        ):
            topics, wanted = cluster.topics([topic]), [(topic, index) for index in partitions]
            waiting = waiting_in(cluster, topics, wanted).partitions
    except (StartError, Refused, OSError):
        return {}
    now_ms = time.time() * 1000
    by_partition = {}
    for at in waiting:
        if at.producer is not None:
            transaction, partition = at.transaction, at.partition[1]
            started_ms = None if transaction is None else transaction.started_ms
            since_ms = at.producer.last_timestamp_ms if started_ms is None else started_ms
            by_partition[partition] = OpenTransaction(
                partition,
                at.producer.producer_id,
                None if transaction is None else transaction.transactional_id,
                max(0.0, (now_ms - since_ms) / 1000),
            )
    return by_partition


@contextmanager
def _properties(options: Mapping[str, str]) -> Iterator[str | None]:
    """Write the settings of TLS and logins to a file that only this user can read, and yield its
    path; the file is deleted after the block. Yield None if there are no such settings."""
    given = {
        key.removeprefix(KAFKA): text
        for key, text in options.items()
        if key.startswith(tuple(KAFKA + prefix for prefix in _OF_SECURITY))
    }
    if not given:
        yield None
        return
    file, path = tempfile.mkstemp(prefix="ottla-client-", suffix=".properties")
    try:
        with open(file, "w", encoding="utf-8") as opened:
            for key, text in given.items():
                opened.write(f"{key}={text.translate(_ESCAPES)}\n")
        yield path
    finally:
        os.unlink(path)
