"""The invariant of the offsets that bound reads, at each broker: log start, high watermark and last
stable offset; I5 in tests/simulation/README.md."""

from __future__ import annotations

from ground.sim_scheduler import SimScheduler
from simulation.invariants.invariant import Invariant, Promises
from simulation.machines.sim_broker import SimBroker

Place = tuple[bytes, int]


class ReplicasWatermarksDoNotGoBack(Invariant):
    """I5: within a broker's life these offsets never go back, and none passes the next."""

    name = "I5"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._inside: dict[tuple[str, Place], tuple[object, int, int, int]] = {}
        self._truncations: dict[tuple[str, Place], int] = {}

    def node_ran(self, broker: SimBroker) -> None:
        """Check every partition of a broker. Raises Violation if its offsets are out of order."""
        if not broker.is_broker:
            return
        for partition in broker.replicas.partitions():
            log = partition.log
            if partition.topic in self.promises.unclean_topics:
                continue
            place = (partition.topic_id, partition.index)
            known_log, *before = self._inside.get((broker.address, place), (None, 0, 0, 0))
            if known_log is not log:  # another life, or a replica that was removed and added again
                before = [0, 0, 0]
            now = [log.log_start_offset, log.high_watermark, log.last_stable_offset]
            if now == before:
                continue
            if log.flusher.truncations != self._truncations.get((broker.address, place), 0):
                # A log that was opened with a marker above its high watermark does not know that
                # the marker is not committed (as in Kafka); the truncation removes it.
                self._truncations[(broker.address, place)] = log.flusher.truncations
                before[2] = min(before[2], now[2])
            if not now[0] <= now[2] <= now[1] <= log.log_end_offset or any(
                new < old for old, new in zip(before, now, strict=True)
            ):
                raise self.broken(
                    f"{partition!r}: log start, high watermark, last stable offset {before} → "
                    f"{now}, end {log.log_end_offset}"
                )
            self._inside[(broker.address, place)] = (log, now[0], now[1], now[2])
