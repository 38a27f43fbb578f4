"""The part of the broker's configuration that transactions follow, with Kafka's names."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """`transaction.*` and `transactional.id.expiration.ms`, in the unit of each name."""

    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    transaction_state_log_num_partitions: int = 50
    request_timeout_ms: int = 30_000
    """How long an answer waits for its record to be replicated; markers, for theirs."""

    @staticmethod
    def of(broker_config: Any) -> TransactionConfig:
        """The values of a BrokerConfig (or anything with these attributes)."""
        names = [field.name for field in fields(TransactionConfig)]
        return TransactionConfig(**{name: getattr(broker_config, name) for name in names})
