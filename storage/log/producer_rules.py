"""How long idempotent producers are remembered, and whether transactions are verified: of a node.

Shared by all of its logs, and may change while they are open. Follows Kafka's
`ProducerStateManagerConfig`.
"""

from __future__ import annotations


class ProducerRules:
    """`producer.id.expiration.ms` and `transaction.partition.verification.enable`."""

    __slots__ = ("expiration_ms", "verifies")

    def __init__(self, expiration_ms: int = 86_400_000, verifies: bool = False) -> None:
        self.expiration_ms = expiration_ms
        self.verifies = verifies

    def change(self, expiration_ms: int, verifies: bool) -> None:
        """These hold from now on, for each log."""
        self.expiration_ms = expiration_ms
        self.verifies = verifies
