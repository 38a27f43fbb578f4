"""Server configs of the log manager, under Kafka's names; times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from storage.log.refusal import LONG_MAX


@dataclass(frozen=True, slots=True)
class LogManagerSettings:
    """The settings of a log manager. All but the directories have Kafka's defaults."""

    log_dirs: tuple[str, ...]
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    producer_id_expiration_check_interval_ms: int = 600_000
    log_flush_scheduler_interval_ms: int = LONG_MAX
    log_retention_check_interval_ms: int = 300_000
    log_initial_task_delay_ms: int = 30_000
    num_recovery_threads_per_data_dir: int = 2
