"""The answers of the endpoints about transactions and producers. Times are ms since 1970."""

from __future__ import annotations

from dataclasses import dataclass

from client.core.leaders import Partition


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """A transactional id with its last transaction.

    `started_ms` is None if no transaction is open. `partitions`: those of the open transaction that
    the login may describe.
    """

    id: str
    state: str
    producer_id: int
    epoch: int
    coordinator: int
    timeout_ms: int
    started_ms: int | None
    partitions: list[Partition]


@dataclass(frozen=True, slots=True)
class WaitingPartition:
    """A partition with records after its last stable offset.

    `transactional_id` is None if no coordinator knows the transaction, or the login may not
    describe it; then `hangs` is true if an administrator sees it so. `since_ms` is the start of the
    transaction, or the time of its last record.
    """

    topic: str
    partition: int
    stable: int
    end: int
    records: int
    producer_id: int | None
    epoch: int | None
    transactional_id: str | None
    since_ms: int | None
    hangs: bool


@dataclass(frozen=True, slots=True)
class TransactionList:
    """The transactions that match, `of` all that do; the partitions with waiting records.

    `denied`: topics whose producers the login may not see. `states`: Kafka's names. `may_abort`:
    whether the login may write markers, None if the broker does not report it.
    """

    transactions: list[TransactionRow]
    of: int
    waiting: list[WaitingPartition]
    denied: list[str]
    states: list[str]
    may_abort: bool | None


@dataclass(frozen=True, slots=True)
class TopicWaiting:
    """The partitions of a topic with records after the last stable offset."""

    records: int
    partitions: list[WaitingPartition]
    denied: bool


@dataclass(frozen=True, slots=True)
class ProducerRow:
    """The state of a producer in a partition; `open_from` None: it has no open transaction there.

    `transactional_id` is None for an idempotent producer, or if the login may not describe the id.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    open_from: int | None
    transactional_id: str | None


@dataclass(frozen=True, slots=True)
class PartitionProducers:
    """The producers of a partition, the newest first; `of` is their number."""

    producers: list[ProducerRow]
    of: int
    stable: int | None
    end: int | None
    denied: bool


@dataclass(frozen=True, slots=True)
class AbortPlan:
    """The effect of an abort: carried out if `aborted`, otherwise a preview.

    `transactional_id` is None for a hanging transaction, which a marker aborts.
    """

    aborted: bool
    transactional_id: str | None
    producer_id: int
    epoch: int
    started_ms: int | None
    partitions: list[WaitingPartition]
