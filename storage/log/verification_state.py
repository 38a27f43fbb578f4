"""The verification of a producer's transaction by its coordinator, as the log remembers it.

Before the first batch of a transaction is appended, the leader asks the coordinator whether this
partition belongs to the transaction, or to add it. The log returns a guard before that, and the
guard must still be valid when the batch is appended. A marker in between makes it invalid, so a
late answer can never begin a transaction that is over.

Owns: one entry per producer id, from the question until the append, the marker, or
`producer.id.expiration.ms`. Never: asks a coordinator, or is written to disk.

Follows KIP-890 and Kafka's `VerificationGuard`, `VerificationStateEntry`.
"""

from __future__ import annotations


class VerificationGuard:
    """A token of one verification; it equals only itself."""

    __slots__ = ()


class VerificationState:
    """The verification of one producer.

    Batches above the lowest sequence of its batches are rejected until that one is appended.
    Otherwise each retry of the lower batch would be out of order.
    """

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(self, now_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        """Begin a verification at the wall time `now_ms`.

        `supports_epoch_bump` is whether the producer uses version 2 of the transactions protocol.
        """
        self.created_ms = now_ms
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def note_batch(self, sequence: int, epoch: int) -> None:
        """Lower `lowest_sequence` to that of another batch that waits for the same answer. A batch
        of a later epoch sets both epoch and sequence."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence
