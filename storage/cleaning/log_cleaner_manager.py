"""Which log compaction takes next, and up to where each is clean.

A log is its clean section, which was compacted before, its cleanable one, and what may not be
touched yet: the active segment, what lies beyond the last stable offset or is not fsynced, what is
younger than `min.compaction.lag.ms`. The filthiest has the largest part that is cleanable; it needs
more than `min.cleanable.dirty.ratio` of it, or a record that waits since `max.compaction.lag.ms`.

Owns: the first dirty offset of each log, and the file of each directory that keeps them,
`cleaner-offset-checkpoint`. Never: cleans, or keeps an offset for a log that is gone, or beyond
what a truncation left: counting a section as clean that is not could bring a deleted value back.

Kafka's class: `LogCleanerManager` 4.3. One difference: nothing is cleaned before it is fsynced, so
that recovery never has to tell a gap that compaction made from a lost tail.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ground.sliced_work import Pace, Steps
from ground.topic_partition import TopicPartition
from storage.directories.offset_checkpoints import OffsetCheckpoint, Offsets, read_offsets
from storage.log.checkpoints import CLEANER_CHECKPOINT
from storage.log.log_environment import LogEnvironment
from storage.log.log_segment import LogSegment
from storage.log.refusal import LONG_MAX
from storage.log.unified_log import UnifiedLog

_LOGS_A_SLICE = 250

_Present: TypeAlias = dict[tuple[str, TopicPartition], UnifiedLog]


@dataclass(frozen=True, slots=True)
class LogToClean:
    """What cleaning one log would be about. Sizes are bytes of segments."""

    log: UnifiedLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The part that is cleanable, of what is not out of bounds."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether there is enough to do."""
        if self.is_overdue and self.cleanable_bytes:
            return True
        return self.ratio > self.log.config.min_cleanable_dirty_ratio


@dataclass(slots=True)
class _CleanUpTo:
    topic_id: bytes | None
    offset: int


class LogCleanerManager:
    """First dirty offsets of the logs of one node."""

    def __init__(self, environment: LogEnvironment) -> None:
        self._environment = environment
        self._known: dict[str, dict[TopicPartition, _CleanUpTo]] = {}
        self._files: dict[str, OffsetCheckpoint] = {}

    def open(self, log_dirs: Iterable[str], logs: Iterable[UnifiedLog]) -> None:
        """Read the checkpoints of the directories, whose logs are open."""
        environment = self._environment
        for path in log_dirs:

            def failed(error: OSError, path: str = path) -> None:
                environment.failures.fail(path, "writing a checkpoint", error)

            name = f"{path}/{CLEANER_CHECKPOINT}"
            try:
                found = read_offsets(environment.filesystem, name) or {}
            except OSError as error:
                environment.failures.fail(path, "reading a checkpoint", error)
                continue
            self._files[path] = OffsetCheckpoint(
                environment.filesystem, environment.blocking, name, failed
            )
            self._known[path] = {
                log.partition: _CleanUpTo(log.topic_id, found[log.partition])
                for log in logs
                if log.log_dir == path and log.partition in found
            }

    def settle(self, logs: Iterable[UnifiedLog]) -> Steps[None]:
        """Forget logs that are gone, and take truncations into account. `logs` are all there are:
        of one that comes meanwhile nothing is known."""
        pace = Pace(_LOGS_A_SLICE)
        present: _Present = {}
        changed: dict[str, None] = {}
        for log in logs:
            if pace.is_full():
                yield None
            present[(log.log_dir, log.partition)] = log
            if self._cut(log):
                changed[log.log_dir] = None
        yield from self._forget_gone(present, changed)
        for path in changed:
            self._write(path)

    def _forget_gone(self, present: _Present, changed: dict[str, None]) -> Steps[None]:
        pace = Pace(_LOGS_A_SLICE)
        for path, known in self._known.items():
            for partition, clean in list(known.items()):
                if pace.is_full():
                    yield None
                here = present.get((path, partition))
                gone = here is None or here.topic_id != clean.topic_id
                if gone and known.get(partition) is clean:
                    del known[partition]
                    changed[path] = None

    def settle_one(self, log: UnifiedLog) -> None:
        """Take truncations of one log into account: it may be cut after its turn."""
        if self._cut(log):
            self._write(log.log_dir)

    def _cut(self, log: UnifiedLog) -> bool:
        """Whether less of it is clean than was known."""
        cut = log.flusher.take_truncation()
        clean = self._known.get(log.log_dir, {}).get(log.partition)
        if cut is None or clean is None or clean.topic_id != log.topic_id or cut >= clean.offset:
            return False
        clean.offset = cut
        return True

    def done(self, log: UnifiedLog, offset: int) -> None:
        """The log was cleaned up to `offset`, and its folder says so."""
        if log.log_dir in self._known:
            self._known[log.log_dir][log.partition] = _CleanUpTo(log.topic_id, offset)
            self._write(log.log_dir)

    def _write(self, path: str) -> None:
        offsets: Offsets = {
            partition: clean.offset for partition, clean in self._known[path].items()
        }
        self._files[path].write(offsets)

    def first_dirty_offset(self, log: UnifiedLog) -> int:
        """Where the log's dirty section begins; its start, where what is known cannot be."""
        known = self._known.get(log.log_dir, {}).get(log.partition)
        start = log.log_start_offset
        if known is None or not start <= known.offset <= log.log_end_offset:
            return start
        return known.offset

    def look_at(self, log: UnifiedLog, now_ms: int) -> LogToClean:
        """What there is to clean in a compacted log. Raises OSError."""
        dirty = self.first_dirty_offset(log)
        segments = list(log.segments)
        closed = segments[:-1]
        bound = min(log.last_stable_offset, log.recovery_point, segments[-1].base_offset)
        bound = min(
            bound, _first_too_young(closed, dirty, log.config.min_compaction_lag_ms, now_ms)
        )
        holder = log.segments.floor(bound)
        uncleanable = max(holder.base_offset if holder is not None else 0, 0)
        first = log.segments.floor(min(dirty, uncleanable))
        from_offset = first.base_offset if first is not None else 0
        return LogToClean(
            log,
            dirty,
            uncleanable,
            sum(one.size for one in closed if one.base_offset < dirty),
            sum(one.size for one in closed if from_offset <= one.base_offset < uncleanable)
            if dirty < uncleanable
            else 0,
            _is_overdue(closed, dirty, log.config.max_compaction_lag_ms, now_ms),
        )


def _dirty(closed: list[LogSegment], first_dirty_offset: int) -> list[LogSegment]:
    """The segments that have, or may have, something from the offset on."""
    bases = [one.base_offset for one in closed]
    at = max((n for n, base in enumerate(bases) if base <= first_dirty_offset), default=0)
    return closed[at:]


def _first_too_young(closed: list[LogSegment], dirty: int, min_lag_ms: int, now_ms: int) -> int:
    if min_lag_ms <= 0:
        return LONG_MAX
    for segment in _dirty(closed, dirty):
        if segment.largest_timestamp()[0] > now_ms - min_lag_ms:
            return segment.base_offset
    return LONG_MAX


def _is_overdue(closed: list[LogSegment], dirty: int, max_lag_ms: int, now_ms: int) -> bool:
    if max_lag_ms >= LONG_MAX:
        return False
    return any(
        0 < segment.first_timestamp() < now_ms - max_lag_ms for segment in _dirty(closed, dirty)
    )
