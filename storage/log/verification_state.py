"""What a log remembers of producers whose transaction is being asked for at its coordinator.

Before the first batch of a transaction is appended, the leader asks the coordinator whether this
partition belongs to it (or has it added). The guard that the log gave out then must still be the
log's when the batch comes: a marker in between takes it away, so an answer that comes late can
never begin a transaction that is over.

Owns: one entry a producer id, from the question until the append, the marker, or
`producer.id.expiration.ms`. Never: asks anybody, or is written to disk.

Follows KIP-890 and Kafka's `VerificationGuard`, `VerificationStateEntry` 4.3.
"""

from __future__ import annotations


class VerificationGuard:
    """A token; it equals itself alone."""

    __slots__ = ()


class VerificationState:
    """One producer's question. Sequences above the lowest seen wait until that one is written:
    else the retry of the lower one would be out of order for ever."""

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(self, now_ms: int, sequence: int, epoch: int, supports_epoch_bump: bool) -> None:
        """`now_ms` is wall time; `supports_epoch_bump` whether the producer speaks version 2 of
        the transactions protocol."""
        self.created_ms = now_ms
        self.guard = VerificationGuard()
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.supports_epoch_bump = supports_epoch_bump

    def saw(self, sequence: int, epoch: int) -> None:
        """Another batch waits for the same answer."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence
