"""The metadata of a transactional id, and the steps that each return its next version.

Owns the arithmetic of producer ids and epochs. Every version is immutable. A step returns the next
version; it never checks whether the step is allowed (`transaction_state` does), and never writes.
Steps pass every field: `dataclasses.replace` takes four times as long, and each transaction takes
three steps.

Epochs end at 32,767. Clients get at most 32,766, so that a producer can always be fenced once more.
With protocol version 2 (KIP-890) the end of a transaction raises the epoch: the decision and its
markers have the raised epoch. If that would be 32,767, the decision has the next producer id, and
after the completion the client continues with that id, from epoch 0.

Follows KIP-98, KIP-360 and KIP-890, and Kafka's `TransactionMetadata`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from broker.transactions.transaction_state import TransactionState
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_TIME = -1
EPOCH_MAX = 32_767

Partitions = Mapping[TopicPartition, None]
"""The partitions of a transaction, in the order in which they were added."""

_NOTHING: Partitions = {}


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """A version of a transactional id's metadata. Times are milliseconds since the epoch."""

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """The id with which the client continues after the transaction, if its epochs are used up."""
    last_epoch: int = NO_EPOCH
    """The epoch before the present one, if the same producer had it. It is not in the log."""
    partitions: Partitions = field(default_factory=dict)
    start_ms: int = NO_TIME
    updated_ms: int = NO_TIME
    client_version: int = 0
    """The `transaction.version` of the requests so far; from 2 on, an end raises the epoch."""

    @property
    def is_epoch_exhausted(self) -> bool:
        """True if no client may get a higher epoch of this producer id."""
        return self.producer_epoch >= EPOCH_MAX - 1

    # -- steps ---------------------------------------------------------------------------------

    def with_next_epoch(
        self, timeout_ms: int, expected_epoch: int | None, now_ms: int
    ) -> TransactionMetadata | ErrorCode:
        """Return the Empty version after an InitProducerId, with the next epoch, or
        PRODUCER_FENCED.

        `expected_epoch` is the epoch in the request, or None (KIP-360). A retry has the previous
        epoch and gets the present epoch again. Any other epoch is fenced. Raises AssertionError if
        no epoch is left.
        """
        if expected_epoch is None:
            epoch, last = self.producer_epoch + 1, NO_EPOCH
        elif self.producer_epoch == NO_EPOCH or expected_epoch == self.producer_epoch:
            epoch, last = self.producer_epoch + 1, self.producer_epoch
        elif expected_epoch == self.last_epoch:
            epoch, last = self.producer_epoch, self.last_epoch
        else:
            return ErrorCode.PRODUCER_FENCED
        assert epoch < EPOCH_MAX, f"no epoch is left for producer id {self.producer_id}"
        return self._emptied(self.producer_id, epoch, last, timeout_ms, now_ms)

    def with_producer_id(
        self, producer_id: int, timeout_ms: int, keep_last_epoch: bool, now_ms: int
    ) -> TransactionMetadata:
        """Return the Empty version after an InitProducerId, with a new producer id and epoch 0.

        The caller does this if the epochs of the present id are used up. With `keep_last_epoch`,
        the present epoch becomes `last_epoch`, so that the same request can be retried.
        """
        last = self.producer_epoch if keep_last_epoch else NO_EPOCH
        return self._emptied(producer_id, 0, last, timeout_ms, now_ms)

    def _emptied(
        self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """Return the Empty state with this producer id and epoch, without partitions or a start."""
        return TransactionMetadata(
            producer_id=producer_id,
            producer_epoch=epoch,
            timeout_ms=timeout_ms,
            state=TransactionState.EMPTY,
            previous_producer_id=self.producer_id,
            next_producer_id=self.next_producer_id,
            last_epoch=last_epoch,
            partitions=_NOTHING,
            start_ms=NO_TIME,
            updated_ms=now_ms,
            client_version=self.client_version,
        )

    def with_partitions(
        self, added: Iterable[TopicPartition], client_version: int, now_ms: int
    ) -> TransactionMetadata:
        """Return the Ongoing version with `added` in the transaction, which starts at `now_ms` if
        none was open."""
        began = self.state is not TransactionState.ONGOING
        return TransactionMetadata(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            timeout_ms=self.timeout_ms,
            state=TransactionState.ONGOING,
            previous_producer_id=self.producer_id,
            next_producer_id=self.next_producer_id,
            last_epoch=self.last_epoch,
            partitions={**self.partitions, **dict.fromkeys(added)},
            start_ms=now_ms if began else self.start_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def needs_producer_id_to_end(self, version: int) -> bool:
        """Return whether an end in protocol `version` needs a new producer id to continue with."""
        return version >= 2 and self.is_epoch_exhausted

    def decided(
        self, committed: bool, client_version: int, next_producer_id: int, now_ms: int
    ) -> TransactionMetadata:
        """Return the version with the decision to commit or abort: PrepareCommit or PrepareAbort.

        From `client_version` 2 on, the epoch is one higher. An abort without an open transaction
        (version 2) has the same start and end time.
        """
        epoch, last = self.producer_epoch, self.last_epoch
        if client_version >= 2:
            epoch, last = min(epoch + 1, EPOCH_MAX), epoch
        ongoing = self.state is TransactionState.ONGOING
        return TransactionMetadata(
            producer_id=self.producer_id,
            producer_epoch=epoch,
            timeout_ms=self.timeout_ms,
            state=TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT,
            previous_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            last_epoch=last,
            partitions=self.partitions,
            start_ms=self.start_ms if ongoing else now_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def fenced(self, version: int, next_producer_id: int, now_ms: int) -> TransactionMetadata:
        """Return the PrepareAbort version with the coordinator's own decision to abort.

        It has a higher epoch than the producer. `version` is the cluster's `transaction.version`.
        """
        if version >= 2:
            return self.decided(False, version, next_producer_id, now_ms)
        epoch = min(self.producer_epoch + 1, EPOCH_MAX)
        decided = self.decided(False, 0, NO_PRODUCER_ID, now_ms)
        return replace(decided, producer_epoch=epoch, last_epoch=NO_EPOCH)

    def completed(self, now_ms: int) -> TransactionMetadata:
        """Return the version after all markers are written: CompleteCommit or CompleteAbort,
        without partitions, and with the identity of `identity_after`."""
        committed = self.state is TransactionState.PREPARE_COMMIT
        state = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
        producer_id, epoch = self.identity_after
        return TransactionMetadata(
            producer_id=producer_id,
            producer_epoch=epoch,
            timeout_ms=self.timeout_ms,
            state=state,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            last_epoch=self.last_epoch,
            partitions=_NOTHING,
            start_ms=self.start_ms,
            updated_ms=now_ms,
            client_version=self.client_version,
        )

    @property
    def identity_after(self) -> tuple[int, int]:
        """The producer id and epoch with which the client continues after the completion."""
        if self.client_version >= 2 and self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch


def created(producer_id: int, timeout_ms: int, now_ms: int) -> TransactionMetadata:
    """Return the metadata of a new transactional id, before its first epoch."""
    return TransactionMetadata(
        producer_id, NO_EPOCH, timeout_ms, TransactionState.EMPTY, updated_ms=now_ms
    )
