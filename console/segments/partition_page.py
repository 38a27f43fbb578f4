"""One partition as the page draws it: its segments as bars, marks over them, what becomes of each.

Puts together what the files, the checkpoints and the cluster's configs say. Headers of the active
segment are read to know where the log ends; those of a compacted topic's closed segments, too, to
know what is left: a piece at each look, and no more than `LOOK_S` of work. Owns nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from console.segments.answers import (
    CompactionShown,
    DirectoryShown,
    EpochStart,
    FateShown,
    MarksShown,
    PartitionShown,
    RulesShown,
    SegmentShown,
)
from console.segments.disk import Disk, Marks
from console.segments.files.folders import LogDirectory, PartitionFolder
from console.segments.files.partition_files import PartitionFiles, SegmentFiles
from console.segments.files.scans import Scan
from console.segments.meaning.compaction import cleanable
from console.segments.meaning.forecast import Aged, Fate, fates
from console.segments.rights import METADATA_LOG
from console.segments.segment_facts import (
    SegmentFacts,
    SegmentReader,
    density,
    index_shown,
    scan_shown,
)
from console.segments.topic_rules import Rules
from log_format.damage import LogError
from log_format.segment_names import LOG_SUFFIX, offset_name
from protocol.primitives import uuid_to_string
from storage.log.checkpoints import decode_leader_epochs

LOOK_S = 0.25
SEGMENTS_SHOWN_MAX = 1_000
COUNTED_BYTES_MAX = 512 * 1024 * 1024
"""Of a compacted log: in a larger one, tombstones are not counted."""
_EPOCHS_SHOWN_MAX = 200
_LISTED_MAX = 200
_LEADER_EPOCHS = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True)
class Seen:
    """One segment as of now."""

    files: SegmentFiles
    facts: SegmentFacts
    scan: Scan | None
    end_offset: int
    is_active: bool

    @property
    def size(self) -> int:
        """Bytes of batches: room that was not used yet does not count."""
        if self.is_active and self.scan is not None and self.scan.is_whole:
            return self.scan.position
        return self.facts.size

    @property
    def first_time(self) -> int:
        """Of its first record, ms since the epoch; -1 without one."""
        return self.facts.first_time

    @property
    def largest_time(self) -> int:
        """-1 without one. What is scanned is newer than an index that is still in memory."""
        scanned = -1 if self.scan is None else self.scan.largest_time
        return max(self.facts.largest_time, scanned)

    def aged(self) -> Aged:
        """As retention sees it."""
        largest = self.largest_time if self.largest_time >= 0 else self.facts.modified_ms
        return Aged(self.files.base_offset, self.end_offset, self.size, largest, self.is_active)


def seen_segments(
    disk: Disk, reader: SegmentReader, listing: PartitionFiles, *, is_compacted: bool
) -> list[Seen]:
    """Of a folder, oldest first; those that vanish meanwhile are left out."""
    counts = is_compacted and listing.size <= COUNTED_BYTES_MAX
    deadline = time.monotonic() + LOOK_S
    if listing.segments:  # first: where the log ends is to be known before what is left of it
        _look_at_active(disk, listing.segments[-1], counts, time.monotonic() + LOOK_S / 2)
    found: list[Seen] = []
    for segment in listing.segments[-SEGMENTS_SHOWN_MAX:]:
        end = listing.end_of(segment)
        try:
            facts = reader.facts(segment)
            scan = _scan(disk, segment, counts, deadline, wanted=end is None or is_compacted)
        except LogError:
            continue
        found.append(Seen(segment, facts, scan, _end(end, facts, scan), end is None))
    return found


def _look_at_active(disk: Disk, active: SegmentFiles, counts: bool, deadline: float) -> None:
    with suppress(LogError):
        _scan(disk, active, counts, deadline, wanted=True)


def _scan(
    disk: Disk, segment: SegmentFiles, counts: bool, deadline: float, *, wanted: bool
) -> Scan | None:
    scan = disk.scans.known(segment.path, with_records=counts)
    if not wanted:
        return scan or disk.scans.known(segment.path)
    while (scan is None or not scan.is_whole or scan.stamp != segment.stamps[LOG_SUFFIX]) and (
        time.monotonic() < deadline
    ):
        scan = disk.scans.look(segment.path, segment.base_offset, with_records=counts)
        if scan is None or scan.is_whole:
            break
    return scan


def _end(following: int | None, facts: SegmentFacts, scan: Scan | None) -> int:
    if following is not None:
        return following
    indexed = facts.base_offset
    if facts.offsets is not None and facts.offsets.entries:
        indexed = facts.offsets.last_key + 1
    return max(indexed, 0 if scan is None else scan.next_offset)


def partition_shown(
    disk: Disk,
    reader: SegmentReader,
    folder: PartitionFolder,
    listing: PartitionFiles,
    rules: Rules,
    now_ms: int,
    having: Sequence[LogDirectory] = (),
    *,
    can_read: bool = False,
) -> PartitionShown:
    """Return all of a partition; `having`: the directories that have it."""
    is_compacted = rules.config is not None and rules.config.compact
    seen = seen_segments(disk, reader, listing, is_compacted=is_compacted)
    marks = disk.marks(folder)
    start = max(seen[0].files.base_offset if seen else 0, marks.log_start or 0)
    aged = [one.aged() for one in seen]
    fate: list[Fate] = []
    if rules.config is not None and folder.topic != METADATA_LOG:
        fate = fates(aged, rules.config, start, marks.high_watermark, now_ms)
    compaction = None
    if is_compacted:
        compaction = _compaction(seen, aged, rules, marks, start, now_ms)
    return PartitionShown(
        topic=folder.topic,
        partition=folder.partition,
        folder=folder.path,
        now=now_ms,
        isMetadata=folder.topic == METADATA_LOG,
        topicId=_id_text(disk, folder),
        size=sum(one.size for one in seen),
        left_out=max(len(listing.segments) - SEGMENTS_SHOWN_MAX, 0),
        marks=_marks(marks, start, seen),
        segments=[
            segment_shown(one, fate[at] if at < len(fate) else None) for at, one in enumerate(seen)
        ],
        rules=_rules(rules),
        compaction=compaction,
        epochs=leader_epochs(disk, folder),
        snapshots=list(listing.snapshots[-_LISTED_MAX:]),
        metadataSnapshots=list(listing.metadata_snapshots[-_LISTED_MAX:]),
        leaving=list(listing.leaving[:_LISTED_MAX]),
        canRead=can_read,
        dir=folder.directory.key,
        node=folder.directory.node_id,
        directories=[directory_shown(one) for one in having],
    )


def directory_shown(one: LogDirectory) -> DirectoryShown:
    """Return a log directory as the page gets it."""
    return DirectoryShown(one.key, one.path, one.node_id)


def segment_shown(one: Seen, fate: Fate | None) -> SegmentShown:
    """A bar, and what stands beside it."""
    facts = one.facts
    return SegmentShown(
        base=facts.base_offset,
        name=offset_name(facts.base_offset),
        end=one.end_offset,
        size=one.size,
        fileSize=facts.size,
        files={suffix[1:]: stamp.size for suffix, stamp in one.files.stamps.items()},
        modified=facts.modified_ms,
        firstTime=one.first_time,
        largestTime=one.largest_time,
        active=one.is_active,
        offsets=index_shown(facts.offsets),
        times=index_shown(facts.times),
        density=density(facts, one.size),
        aborted=facts.aborted,
        scan=scan_shown(one.scan),
        fate=None if fate is None else _fate(fate),
    )


def _fate(fate: Fate) -> FateShown:
    return FateShown(
        why=fate.why.value,
        at=fate.at_ms,
        due=fate.is_due,
        waitsFor=fate.waits_for,
        grows=fate.grows_bytes,
    )


def _marks(marks: Marks, start: int, seen: Sequence[Seen]) -> MarksShown:
    last = seen[-1] if seen else None
    return MarksShown(
        logStart=start,
        highWatermark=marks.high_watermark,
        recoveryPoint=marks.recovery_point,
        cleanedTo=marks.cleaned_to,
        logEnd=last.end_offset if last else start,
        logEndIsKnown=last is not None and last.scan is not None and last.scan.is_whole,
    )


def _rules(rules: Rules) -> RulesShown:
    config = rules.config
    return RulesShown(
        why=rules.why_not,
        configs=dict(rules.shown),
        checkInterval=rules.check_interval_ms,
        deleteDelay=None if config is None else config.file_delete_delay_ms,
        compact=config is not None and config.compact,
        delete=config is not None and config.delete,
    )


def _compaction(
    seen: Sequence[Seen],
    aged: Sequence[Aged],
    rules: Rules,
    marks: Marks,
    start: int,
    now_ms: int,
) -> CompactionShown | None:
    config = rules.config
    assert config is not None
    firsts = [one.first_time for one in seen]
    found = cleanable(aged, firsts, config, marks.cleaned_to, start, marks.high_watermark, now_ms)
    if found is None:
        return None
    scans = [one.scan for one in seen if one.scan is not None]
    horizons = [one.horizons for one in scans if one.horizons is not None]
    counted = [one for one in scans if one.with_records]
    return CompactionShown(
        firstDirty=found.first_dirty,
        wasCleaned=found.was_cleaned,
        firstUncleanable=found.first_uncleanable,
        cleanBytes=found.clean_bytes,
        dirtyBytes=found.dirty_bytes,
        laterBytes=found.later_bytes,
        ratio=found.ratio,
        ratioMin=config.min_cleanable_dirty_ratio,
        isOverdue=found.is_overdue,
        isDue=found.is_due(config),
        records=sum(one.records for one in scans),
        offsets=sum(one.end_offset - one.files.base_offset for one in seen if one.scan),
        isWhole=len(scans) == len(seen) and all(one.is_whole for one in scans),
        tombstones=sum(one.tombstones for one in counted) if counted else None,
        batchesWithHorizon=sum(one.batches_with_horizon for one in scans),
        horizons=(min(low for low, _ in horizons), max(high for _, high in horizons))
        if horizons
        else None,
        deleteRetention=config.delete_retention_ms,
    )


def leader_epochs(disk: Disk, folder: PartitionFolder) -> list[EpochStart] | None:
    """Of the folder's checkpoint, the last ones; None where it is damaged."""
    try:
        data = disk.files.content(f"{folder.path}/{_LEADER_EPOCHS}")
    except LogError:
        return []
    if data is None:
        return []
    found = decode_leader_epochs(data)
    if found is None:
        return None
    return [EpochStart(epoch, start) for epoch, start in found[-_EPOCHS_SHOWN_MAX:]]


def _id_text(disk: Disk, folder: PartitionFolder) -> str | None:
    own = disk.topic_id(folder)
    return None if own is None else uuid_to_string(own)
