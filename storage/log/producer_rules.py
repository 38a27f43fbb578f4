"""A node's configs for producers: when they expire, and whether transactions are verified.

All logs of the node share them, and they may change while logs are open. Follows Kafka's
`ProducerStateManagerConfig`.
"""

from __future__ import annotations


class ProducerRules:
    """The values of `producer.id.expiration.ms` and
    `transaction.partition.verification.enable`."""

    __slots__ = ("expiration_ms", "verifies")

    def __init__(self, expiration_ms: int = 86_400_000, verifies: bool = False) -> None:
        self.expiration_ms = expiration_ms
        self.verifies = verifies

    def change(self, expiration_ms: int, verifies: bool) -> None:
        """Use these values from now on, in all logs."""
        self.expiration_ms = expiration_ms
        self.verifies = verifies
