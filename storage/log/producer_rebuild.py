"""The rebuild of producer state from a snapshot and the batches after it.

It runs at a start, and after a truncation.

Owns nothing. Never: writes a snapshot. Kafka's `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from storage.log.log_segments import LogSegments
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.producer_state import ProducerStateManager


def rebuild_producers(
    segments: LogSegments,
    producers: ProducerStateManager,
    snapshots: ProducerSnapshots,
    log_start_offset: int,
    up_to: int,
    now_ms: int,
) -> None:
    """Set the producer state to that at `up_to`: load a snapshot, then replay the batches after it.

    `up_to` is the base offset of a segment, or the log's end. Snapshots after it are removed.
    Raises CorruptBatch if a batch cannot be read; the state is that before the batch then.
    """
    snapshots.remove_outside(log_start_offset, up_to)
    snapshots.load_latest(producers, up_to, now_ms)
    start = max(producers.map_end_offset, log_start_offset)
    try:
        for segment in segments.from_floor(start):
            if start >= up_to or segment.base_offset >= up_to:
                break
            for position, header in segment.headers_from(max(start, segment.base_offset)):
                producers.replay(header, segment.marker_at(position, header))
    finally:
        producers.update_map_end_offset(up_to)
