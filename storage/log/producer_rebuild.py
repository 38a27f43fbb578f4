"""Producer state from a snapshot and the batches after it: at a start, and after a truncation.

Owns nothing. Never: writes a snapshot. Kafka's `UnifiedLog.rebuildProducerState` 4.3.
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
    """Set producer state to what the log says before `up_to`: a snapshot, then the batches.

    `up_to` is a border of segments, or the log's end. Snapshots after it are removed.
    Raises CorruptBatch where the batches cannot be read; the state is then what came before.
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
        producers.reached(up_to)
