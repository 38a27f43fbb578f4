"""The opening of a log: its files become segments, indexes, epochs and producer state.

Owns: recovery. After a clean stop the files are trusted if they pass their checks; if only the
index of a closed segment fails, only that segment is scanned. After an unclean stop every segment
from the recovery point on is scanned: the valid prefix stays, a torn tail is cut off, later
segments are removed; indexes, transaction indexes and producer state are rebuilt.

Never: continues recovery behind damage, or trusts a side file that contradicts the batches.

Kafka's classes: `LogLoader`, `UnifiedLog.rebuildProducerState`.
"""

from __future__ import annotations

from itertools import islice, pairwise

from ground.topic_partition import TopicPartition
from log_format.segment_names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    base_offset_of,
)
from protocol.record_batch import CorruptBatch, RecordBatchHeader, TruncatedBatch
from storage.log.batch_scan import LOOKUP_CHUNK_BYTES, iterate_headers
from storage.log.closed_files import ClosedFiles
from storage.log.fetch_data import UNDEFINED_EPOCH
from storage.log.indexes import CorruptIndex
from storage.log.leader_epoch_cache import LeaderEpochCache
from storage.log.log_environment import LogEnvironment
from storage.log.log_segment import LogSegment
from storage.log.log_segments import LogSegments
from storage.log.producer_rebuild import rebuild_producers
from storage.log.producer_rules import ProducerRules
from storage.log.producer_snapshot import ProducerSnapshots
from storage.log.producer_state import ProducerStateManager
from storage.log.recovery_report import RecoveryReport
from storage.log.segment_replacement import settle_replacements
from storage.log_config import LogConfig

_FILES_MAX = 8
"""The most files that a log has open while it is opened: many logs are opened at a time."""
_SIDE_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)


class LogLoader:
    """The opening of one log's folder, once."""

    def __init__(
        self,
        environment: LogEnvironment,
        directory: str,
        partition: TopicPartition,
        config: LogConfig,
        *,
        clean: bool,
        recovery_point: int,
        log_start_offset: int,
        report: RecoveryReport | None = None,
    ) -> None:
        """Prepare to open the folder; `load` opens it.

        `load` fills `report`, which another thread may read meanwhile.
        """
        self._filesystem = filesystem = environment.filesystem
        self._directory = directory
        self._config = config
        self.producers = ProducerStateManager(str(partition), environment.producers)
        self.epochs = LeaderEpochCache(filesystem, directory)
        self.snapshots = ProducerSnapshots(filesystem, directory)
        self._clean = clean
        self._now_ms = environment.scheduler.wall_ms()
        self._files = ClosedFiles(lambda: _FILES_MAX)
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.segments = LogSegments()
        self.next_offset = log_start_offset
        self.has_aborted = False
        """Whether any segment has a transaction index."""
        self.report = report if report is not None else RecoveryReport()

    def load(self) -> None:
        """Open the folder, and repair its files. Fill `segments`, `epochs`, `producers`,
        `snapshots` and `report`, and set the offsets and `has_aborted`.

        Raises OSError.
        """
        names = self._remove_leftovers(self._filesystem.list_dir(self._directory))
        self.has_aborted = any(name.endswith(TXN_INDEX_SUFFIX) for name in names)
        self.snapshots.scan(names)
        has_epochs = self.epochs.load()
        self._open_segments(names)
        unflushed = [] if self._clean else self._unflushed()
        flushed = list(self.segments)[: len(self.segments) - len(unflushed)]
        if unflushed:  # recovery reads their epochs from the batches; the file may be older
            self.epochs.truncate_from_end(unflushed[0].base_offset, durably=False)
        for segment, following in islice(pairwise(self.segments), len(flushed)):
            self._open_closed(segment, following)
        if not has_epochs or self._epochs_begin_late() or self._epochs_end_before(flushed):
            self._rebuild_epochs(flushed)
        self._check_transactions(flushed)
        self._recover(unflushed)
        self._open_active(unflushed)
        self._settle_offsets(unflushed)
        if unflushed:
            self.snapshots.remove_outside(self.log_start_offset, self.next_offset)
            self.snapshots.take(self.producers, self.next_offset)
        else:
            self._rebuild_producers(self.next_offset)
        self.snapshots.keep_only(self.segments.base_offsets)

    def _remove_leftovers(self, names: list[str]) -> list[str]:
        """Remove the files of interrupted work, and indexes without a `.log`; complete a
        replacement of segments.

        Return the names that remain.
        """
        settled = settle_replacements(self._filesystem, self._directory, names)
        kept = []
        for name in settled:
            if name.endswith((DELETED_SUFFIX, ".tmp")):
                self._filesystem.remove(f"{self._directory}/{name}")
            else:
                kept.append(name)
        bases = {name[: -len(LOG_SUFFIX)] for name in kept if name.endswith(LOG_SUFFIX)}
        orphans = [
            name
            for name in kept
            if name.endswith(_SIDE_SUFFIXES) and name.partition(".")[0] not in bases
        ]
        for name in orphans:
            self._filesystem.remove(f"{self._directory}/{name}")
        for stem in dict.fromkeys(name.partition(".")[0] for name in orphans):
            self.report.notes.append(f"segment {stem} is missing, other files of it were there")
        return [name for name in kept if name not in orphans]

    def _open_segments(self, names: list[str]) -> None:
        """Add the segments of the log files in `names`. Without any, add an empty one at the log
        start, and count the stop as clean."""
        for name in names:
            base_offset = base_offset_of(name, LOG_SUFFIX)
            if base_offset is not None:
                created_ms = self._filesystem.modified_ms(f"{self._directory}/{name}")
                self.segments.add(self._segment(base_offset, created_ms=created_ms, create=False))
        if not len(self.segments):
            self.segments.add(
                self._segment(self.log_start_offset, created_ms=self._now_ms, create=True)
            )
            self._clean = True

    def _segment(self, base_offset: int, *, created_ms: int, create: bool) -> LogSegment:
        """Return the segment at a base offset. Unless created, its files open when they are
        used."""
        return LogSegment(
            self._filesystem,
            self._directory,
            base_offset,
            self._config,
            created_ms=created_ms,
            create=create,
            files=self._files,
            closed=not create,
        )

    def _unflushed(self) -> list[LogSegment]:
        """Return the segment that holds the recovery point, and those after it."""
        return self.segments.from_floor(self.recovery_point)

    def _open_closed(self, segment: LogSegment, following: LogSegment) -> None:
        """Check the indexes of a closed segment, and rebuild damaged ones. Add damage, and records
        that are missing up to `following`, to the report; a compacted log may lack records."""
        try:
            segment.open_closed()
            end = segment.next_offset()
        except (CorruptIndex, CorruptBatch, FileNotFoundError) as damage:
            self.report.notes.append(f"index of segment {segment.base_offset} rebuilt: {damage}")
            invalid = self._scan(segment, cut=False)
            if invalid:
                self._handle_damage(segment, invalid)
            segment.become_inactive()
            if self._lacks_transaction_index(segment):
                self._rebuild_aborted(segment)
            end = self.next_offset
        finally:
            segment.release_handles()
        if end < following.base_offset and not self._config.compact:
            self.report.lost(end, following.base_offset, f"segment {segment.base_offset}")

    def _handle_damage(self, segment: LogSegment, invalid: int) -> None:
        """Cut off a last batch that lacks its end. Keep the bytes of any other damage, and add a
        line on it to the report.

        After the cut, reads continue with the next segment, as in Kafka. Reads of other damage
        fail.
        """
        end = segment.size - invalid
        try:
            for _ in iterate_headers(segment.file, end, end + 1):
                pass
        except TruncatedBatch:
            segment.file.truncate(end)
            self.report.cut(invalid)
            return
        except CorruptBatch:
            pass
        self.report.notes.append(
            f"segment {segment.base_offset} is damaged {invalid} bytes before its end"
        )

    def _lacks_transaction_index(self, segment: LogSegment) -> bool:
        """Return whether a segment has markers of transactions, but no transaction index."""
        if self._filesystem.exists(segment.path(TXN_INDEX_SUFFIX)):
            return False
        try:
            return any(
                header.is_control and header.has_producer_id
                for _, header in iterate_headers(segment.file, 0, segment.size)
            )
        except CorruptBatch:
            return False  # no marker before the damage

    def _check_transactions(self, flushed: list[LogSegment]) -> None:
        """Rebuild damaged transaction indexes of flushed segments.

        Recovery rebuilds those of unflushed segments anyway. Producer snapshots are not changed.
        """
        if not self.has_aborted:
            return
        for segment in flushed:
            try:
                if self._config.compact or segment is self.segments.active:
                    _ = segment.aborted
                else:
                    segment.check_aborted()
            except CorruptBatch as damage:
                self.report.notes.append(f"{damage}: rebuilt")
                self._rebuild_aborted(segment)
            segment.release_closed()

    def _rebuild_aborted(self, segment: LogSegment) -> None:
        """Rebuild a flushed segment's transaction index, from a snapshot and later batches."""
        producers = ProducerStateManager(self.producers.topic_partition, ProducerRules(2**62))
        self.snapshots.load_latest(producers, segment.base_offset, self._now_ms)
        start = max(producers.map_end_offset, self.log_start_offset)
        aborted = []
        try:
            for replayed in self.segments.from_floor(start):
                if replayed.base_offset > segment.base_offset:
                    break
                for position, header in replayed.headers_from(max(start, replayed.base_offset)):
                    entry = producers.replay(header, replayed.marker_at(position, header))
                    if replayed is segment and entry is not None:
                        aborted.append(entry)
        except CorruptBatch as damage:
            self.report.notes.append(f"aborted transactions are incomplete: {damage}")
        segment.set_aborted(aborted)
        self.has_aborted = self.has_aborted or bool(aborted)

    def _recover(self, unflushed: list[LogSegment]) -> None:
        """Scan the unflushed segments. The log ends at the first that has to be cut.

        It also ends at a gap of offsets between segments, unless the topic is compacted. A tail may
        be lost exactly at the end of a batch, and only compaction leaves gaps.
        """
        if unflushed:
            # A later snapshot may be of records that a truncation has removed.
            self._rebuild_producers(unflushed[0].base_offset)
        for number, segment in enumerate(unflushed):
            if number and segment.base_offset > self.next_offset and not self._config.compact:
                self._remove(unflushed[number:])
                return
            if number:
                unflushed[number - 1].become_inactive()
            if self._recover_one(segment):
                self._remove(unflushed[number + 1 :])
                return

    def _remove(self, segments: list[LogSegment]) -> None:
        """Remove the segments with their files, and count their bytes in the report."""
        for segment in segments:
            self.report.removed(segment.size)
            segment.remove_files()
            self.segments.remove(segment)

    def _recover_one(self, segment: LogSegment) -> int:
        """Scan a segment, cut off its invalid end, and return the bytes that were cut.

        Before the call the producer state is that at the segment's beginning; after it, that at its
        end.
        """
        if self.has_aborted:
            segment.set_aborted([])
        cut = self._scan(segment, cut=True)
        self.report.cut(cut)
        return cut

    def _scan(self, segment: LogSegment, *, cut: bool) -> int:
        """Rebuild the indexes of a segment from its batches, and set the next offset. Return the
        number of invalid bytes. With `cut`, cut them off, and replay the producers."""
        size, report = segment.size, self.report
        scanned_before = report.bytes_scanned

        def on_batch(position: int, header: RecordBatchHeader) -> None:
            """Count the batch in the report, and add its leader epoch. With `cut`, replay its
            producer, and add a transaction that it aborts to the segment's index."""
            report.scanning(header.size_in_bytes)
            self.epochs.note(header.partition_leader_epoch, header.base_offset)
            if cut and header.last_offset >= self.log_start_offset:
                aborted = self.producers.replay(header, segment.marker_at(position, header))
                if aborted is not None:
                    segment.add_aborted(aborted)
                    self.has_aborted = True

        self.next_offset, invalid = segment.recover(on_batch, cut=cut)
        report.scanned(scanned_before, size)
        return invalid

    def _open_active(self, unflushed: list[LogSegment]) -> None:
        """Open the active segment, unless recovery of unflushed segments has opened it, and free
        preallocated blocks. With damaged indexes, scan the segment and note that in the report."""
        active = self.segments.active
        active.file.give_back_room()  # blocks that a killed process had preallocated
        if unflushed:
            return  # recovery left its indexes open, and set the next offset
        try:
            self.next_offset = active.open_clean()
        except (CorruptIndex, CorruptBatch, FileNotFoundError) as damage:
            if active.size:
                self.report.notes.append(f"active segment {active.base_offset} scanned: {damage}")
                self._rebuild_producers(active.base_offset)
            self._recover_one(active)
            if not active.size:
                self.report.scanned_nothing()

    def _epochs_begin_late(self) -> bool:
        """Return whether the first epoch begins after the log start.

        That is so if a crash lost a new log start: epochs are truncated at once, log starts are
        written with their next checkpoint, as in Kafka.
        """
        first = max(self.log_start_offset, self.segments.first.base_offset)
        return any(start > first for _, start in self.epochs.entries[:1])

    def _epochs_end_before(self, flushed: list[LogSegment]) -> bool:
        """Return whether the epoch checkpoint is older than the last flushed batch."""
        for segment in reversed(flushed):
            if not segment.size:
                continue
            epoch = UNDEFINED_EPOCH
            try:
                start = segment.offset_index.last(segment.path(INDEX_SUFFIX))[1]
                for _, header in iterate_headers(
                    segment.file, start, segment.size, LOOKUP_CHUNK_BYTES
                ):
                    epoch = header.partition_leader_epoch
            except (CorruptIndex, CorruptBatch, FileNotFoundError):
                return False  # the segment is about to be scanned
            finally:
                segment.release_handles()
            return epoch > self.epochs.latest
        return False

    def _rebuild_epochs(self, flushed: list[LogSegment]) -> None:
        """Rebuild the leader epochs from the flushed batches, and write their checkpoint, which
        lacks entries."""
        self.epochs.forget()
        for segment in flushed:
            try:
                for _, header in iterate_headers(segment.file, 0, segment.size):
                    self.epochs.note(header.partition_leader_epoch, header.base_offset)
            except CorruptBatch as damage:
                self.report.notes.append(f"leader epochs end at damage: {damage}")
                break
        if flushed and self.epochs.entries:
            self.epochs.write()

    def _settle_offsets(self, unflushed: list[LogSegment]) -> None:
        """Bring the log start, recovery point and leader epochs in line with the records that are
        left. If all of them lie before the log start, replace them by an empty segment there."""
        first = self.segments.first
        self.log_start_offset = max(self.log_start_offset, first.base_offset)
        if self.next_offset < self.log_start_offset:
            # The log lost all records from its start on: those that are left are before it.
            for segment in self.segments:
                segment.remove_files()
                self.segments.remove(segment)
            self.segments.add(
                self._segment(self.log_start_offset, created_ms=self._now_ms, create=True)
            )
            self.next_offset = self.log_start_offset
        self.recovery_point = min(self.recovery_point, self.next_offset)
        self.epochs.truncate_from_end(self.next_offset, durably=False)
        self.epochs.truncate_from_start(self.log_start_offset)
        if unflushed and self.epochs.entries:
            self.epochs.write()

    def _rebuild_producers(self, up_to: int) -> None:
        """Rebuild the producer state up to an offset. A corrupt batch leaves it incomplete, which
        the report notes."""
        try:
            rebuild_producers(
                self.segments,
                self.producers,
                self.snapshots,
                self.log_start_offset,
                up_to,
                self._now_ms,
            )
        except CorruptBatch as damage:
            self.report.notes.append(f"producer state is incomplete: {damage}")
