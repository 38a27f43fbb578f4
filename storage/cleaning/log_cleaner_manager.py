"""The choice of the log to compact next, and the offset up to which each log is clean.

A log has a clean section, which was compacted before, a cleanable one, and one that must not be
cleaned yet. The last has the active segment, and all records that are beyond the last stable
offset, not fsynced, or younger than `min.compaction.lag.ms`. The dirtiest log has the largest
cleanable ratio. It is cleaned if the ratio is above `min.cleanable.dirty.ratio`, or if a record has
waited for `max.compaction.lag.ms`.

Owns: the first dirty offset of each log, and each directory's file with them,
`cleaner-offset-checkpoint`. Never: cleans, or keeps an offset of a log that is gone, or one beyond
the end of a truncation. A section that wrongly counts as clean could bring a deleted value back.

Kafka's class: `LogCleanerManager`. One difference: nothing is cleaned before it is fsynced, so
that recovery need not distinguish a gap that compaction made from a lost tail.
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
    """The sections of a log that may be cleaned. Sizes are bytes of segments."""

    log: UnifiedLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def ratio(self) -> float:
        """The cleanable part of the clean and the cleanable section together, from 0 to 1."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is dirty enough, or has waited long enough, to be cleaned."""
        if self.is_overdue and self.cleanable_bytes:
            return True
        return self.ratio > self.log.config.min_cleanable_dirty_ratio


@dataclass(slots=True)
class _CleanUpTo:
    topic_id: bytes | None
    offset: int


class LogCleanerManager:
    """The first dirty offsets of a node's logs."""

    def __init__(self, environment: LogEnvironment) -> None:
        self._environment = environment
        self._clean_up_to: dict[str, dict[TopicPartition, _CleanUpTo]] = {}
        self._files: dict[str, OffsetCheckpoint] = {}

    def open(self, log_dirs: Iterable[str], logs: Iterable[UnifiedLog]) -> None:
        """Read each directory's `cleaner-offset-checkpoint`, and keep the offsets of the `logs`
        that are in it. A damaged file counts as empty. A directory whose file cannot be read goes
        offline."""
        environment = self._environment
        for path in log_dirs:

            def failed(error: OSError, path: str = path) -> None:
                """Take the directory offline, because its checkpoint cannot be written."""
                environment.failures.fail(path, "writing a checkpoint", error)

            name = f"{path}/{CLEANER_CHECKPOINT}"
            try:
                offsets = read_offsets(environment.filesystem, name) or {}
            except OSError as error:
                environment.failures.fail(path, "reading a checkpoint", error)
                continue
            self._files[path] = OffsetCheckpoint(
                environment.filesystem, environment.blocking, name, failed
            )
            self._clean_up_to[path] = {
                log.partition: _CleanUpTo(log.topic_id, offsets[log.partition])
                for log in logs
                if log.log_dir == path and log.partition in offsets
            }

    def settle(self, logs: Iterable[UnifiedLog]) -> Steps[None]:
        """Forget the offsets of logs that are gone, lower those of truncated logs, and write the
        changed checkpoints.

        `logs` are all logs of the node. A log that is made meanwhile has no offset yet.
        """
        pace = Pace(_LOGS_A_SLICE)
        present: _Present = {}
        changed: dict[str, None] = {}
        for log in logs:
            if pace.is_full():
                yield None
            present[(log.log_dir, log.partition)] = log
            if self._apply_truncation(log):
                changed[log.log_dir] = None
        yield from self._forget_gone(present, changed)
        for path in changed:
            self._write(path)

    def _forget_gone(self, present: _Present, changed: dict[str, None]) -> Steps[None]:
        """Drop the clean offsets of logs that are deleted, moved or replaced by a new topic. Add
        their directories to `changed`."""
        pace = Pace(_LOGS_A_SLICE)
        for path, clean_offsets in self._clean_up_to.items():
            for partition, clean in list(clean_offsets.items()):
                if pace.is_full():
                    yield None
                log = present.get((path, partition))
                gone = log is None or log.topic_id != clean.topic_id
                if gone and clean_offsets.get(partition) is clean:
                    del clean_offsets[partition]
                    changed[path] = None

    def settle_one(self, log: UnifiedLog) -> None:
        """Lower the log's clean offset to a truncation, which may have come after its turn in
        `settle`. Write the checkpoint if the offset changed."""
        if self._apply_truncation(log):
            self._write(log.log_dir)

    def _apply_truncation(self, log: UnifiedLog) -> bool:
        """Take the log's last truncation from its flusher, and lower the clean offset to it. Return
        whether the clean offset changed."""
        cut = log.flusher.take_truncation()
        clean = self._clean_up_to.get(log.log_dir, {}).get(log.partition)
        if cut is None or clean is None or clean.topic_id != log.topic_id or cut >= clean.offset:
            return False
        clean.offset = cut
        return True

    def set_clean_offset(self, log: UnifiedLog, offset: int) -> None:
        """Set the offset up to which the log is clean, exclusively, and write its directory's
        checkpoint off the loop. Do nothing for a directory that `open` has not read."""
        if log.log_dir in self._clean_up_to:
            self._clean_up_to[log.log_dir][log.partition] = _CleanUpTo(log.topic_id, offset)
            self._write(log.log_dir)

    def _write(self, path: str) -> None:
        """Write the checkpoint of a log directory, off the loop."""
        offsets: Offsets = {
            partition: clean.offset for partition, clean in self._clean_up_to[path].items()
        }
        self._files[path].write(offsets)

    def first_dirty_offset(self, log: UnifiedLog) -> int:
        """Return the offset at which the log's dirty section begins.

        It is the log start offset if no offset is known, or the known one is outside the log.
        """
        clean = self._clean_up_to.get(log.log_dir, {}).get(log.partition)
        start = log.log_start_offset
        if clean is None or not start <= clean.offset <= log.log_end_offset:
            return start
        return clean.offset

    def look_at(self, log: UnifiedLog, now_ms: int) -> LogToClean:
        """Return the clean and the cleanable section of a compacted log. Raises OSError."""
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
            sum(segment.size for segment in closed if segment.base_offset < dirty),
            sum(
                segment.size
                for segment in closed
                if from_offset <= segment.base_offset < uncleanable
            )
            if dirty < uncleanable
            else 0,
            _is_overdue(closed, dirty, log.config.max_compaction_lag_ms, now_ms),
        )


def _dirty(closed: list[LogSegment], first_dirty_offset: int) -> list[LogSegment]:
    """Return the segments that may have records from the offset on."""
    bases = [segment.base_offset for segment in closed]
    at = max((n for n, base in enumerate(bases) if base <= first_dirty_offset), default=0)
    return closed[at:]


def _first_too_young(closed: list[LogSegment], dirty: int, min_lag_ms: int, now_ms: int) -> int:
    """Return the base offset of the first dirty segment with a record younger than `min_lag_ms`;
    LONG_MAX if there is none, or no lag."""
    if min_lag_ms <= 0:
        return LONG_MAX
    for segment in _dirty(closed, dirty):
        if segment.largest_timestamp()[0] > now_ms - min_lag_ms:
            return segment.base_offset
    return LONG_MAX


def _is_overdue(closed: list[LogSegment], dirty: int, max_lag_ms: int, now_ms: int) -> bool:
    """Return whether a dirty segment begins with a record older than `max_lag_ms`."""
    if max_lag_ms >= LONG_MAX:
        return False
    return any(
        0 < segment.first_timestamp() < now_ms - max_lag_ms for segment in _dirty(closed, dirty)
    )
