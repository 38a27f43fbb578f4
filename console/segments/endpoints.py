"""The endpoints of partitions, segments, batches, indexes and snapshots on this machine.

Each request checks the rights of the console's login in the cluster first (`rights`).
Only folders that the console has listed are read (`disk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from console.endpoints import Ask, BadAsk, Console, NotHere, get, wall_ms
from console.segments import segment_page
from console.segments.answers import (
    AbortedTransactions,
    BatchesPage,
    DamagedSnapshot,
    IndexPage,
    LookUpShown,
    PartitionShown,
    PartitionSizes,
    SegmentShown,
    Snapshot,
)
from console.segments.disk import Disk, NoSuchFolder
from console.segments.files.folders import LogDirectory, PartitionFolder
from console.segments.files.partition_files import partition_files
from console.segments.meaning.answers import BatchOpened, BytesNamed
from console.segments.partition_page import (
    directory_shown,
    partition_shown,
    seen_segments,
    segment_shown,
)
from console.segments.partition_sizes import partition_sizes
from console.segments.rights import METADATA_LOG, Allowed, SegmentRights
from console.segments.segment_facts import SegmentReader, scan_shown
from console.segments.segment_page import Source
from console.segments.topic_rules import Rules, TopicRules
from log_format.damage import LogError
from log_format.segment_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from protocol.record_batch import CorruptBatch

T = TypeVar("T")
_OFFSET_MAX = 2**63 - 1
_ROWS = 500
_ROWS_MAX = 2_000
_INDEXES = {"offsets": INDEX_SUFFIX, "times": TIME_INDEX_SUFFIX}
_NO_CONFIGS = Rules(
    None, why_not="snapshots, not topic configs, decide how much of the metadata log is kept"
)


class SegmentsView:
    """The state that all endpoints of segments share: one object in a process."""

    def __init__(self, console: Console) -> None:
        self.rights = SegmentRights(console.cluster)
        self.rules = TopicRules(console.cluster)
        self.disk = Disk([str(path) for path in console.options.data], self.rights)
        self.reader = SegmentReader(self.disk.files)


def _list(console: Console, ask: Ask) -> PartitionSizes:
    """Return the partitions on this machine, the largest first."""
    view = console.state(SegmentsView)
    directories = view.disk.directories()
    if not directories:
        return PartitionSizes(False, [], [], why=view.disk.why_none())
    wanted = ask.text("search", "").lower()
    key = ask.text("dir", "")
    visible = view.disk.partitions()
    kept = [
        sized
        for sized, _ in visible
        if wanted in f"{sized.folder.topic}-{sized.folder.partition}".lower()
        and key in ("", sized.folder.directory.key)
    ]
    rows = partition_sizes(kept)
    return PartitionSizes(
        local=True,
        directories=[directory_shown(directory) for directory in directories],
        count=len(rows),
        bytes=sum(row.bytes for row in rows),
        segments=sum(row.segments for row in rows),
        partitions=rows[: ask.number("limit", _ROWS, least=1, most=_ROWS_MAX)],
    )


def _partition(console: Console, ask: Ask) -> PartitionShown:
    view = console.state(SegmentsView)
    folder, allowed, having = _find(view, ask, to_read=False)
    listing = _or_gone(lambda: partition_files(view.disk.files, folder.path))
    return partition_shown(
        view.disk,
        view.reader,
        folder,
        listing,
        _rules(view, folder),
        wall_ms(),
        having,
        can_read=allowed.read,
    )


def _segment(console: Console, ask: Ask) -> SegmentShown:
    """Return a segment, with a scan of its headers that each request advances."""
    view = console.state(SegmentsView)
    folder, _, _ = _find(view, ask, to_read=False)
    base = _base(ask)
    rules = _rules(view, folder)
    listing = _or_gone(lambda: partition_files(view.disk.files, folder.path))
    if listing.segment(base) is None:
        raise NotHere(segment_page.gone(base))
    is_compacted = rules.config is not None and rules.config.compact
    segments = seen_segments(view.disk, view.reader, listing, is_compacted=is_compacted)
    seen = next((segment for segment in segments if segment.files.base_offset == base), None)
    if seen is None:
        raise NotHere(segment_page.gone(base))
    scan = _or_gone(
        lambda: view.disk.scans.advance(seen.files.path, base, with_records=is_compacted)
    )
    return replace(segment_shown(seen, None), scan=scan_shown(scan))


def _batches(console: Console, ask: Ask) -> BatchesPage:
    with _source(console, ask, to_read=True) as (_, _, source):
        place = ask.number("at", 0, least=-1, most=_OFFSET_MAX)
        return segment_page.batches_page(source, place, _limit(ask, 50))


def _batch(console: Console, ask: Ask) -> BatchOpened:
    with _source(console, ask, to_read=True) as (_, _, source):
        place = ask.number("at", least=0, most=_OFFSET_MAX)
        first = ask.number("first", 0, least=0, most=_OFFSET_MAX)
        return segment_page.batch_opened(source, place, first, _limit(ask, 50))


def _bytes(console: Console, ask: Ask) -> BytesNamed:
    with _source(console, ask, to_read=True) as (_, _, source):
        place = ask.number("at", least=0, most=_OFFSET_MAX)
        record = ask.number("record", -1, least=-1, most=2**31 - 1)
        begin = ask.number("from", 0, least=0, most=2**31 - 1)
        return segment_page.bytes_named(source, place, record, begin)


def _index(console: Console, ask: Ask) -> IndexPage:
    suffix = _INDEXES.get(ask.text("kind"))
    if suffix is None:
        raise BadAsk(f"kind must be offsets or times, not {ask.text('kind')!r}")
    with _source(console, ask, to_read=False) as (view, _, source):
        first = ask.number("first", 0, least=0, most=2**31 - 1)
        return segment_page.index_page(view.reader, source, suffix, first, _limit(ask, 100))


def _lookup(console: Console, ask: Ask) -> LookUpShown:
    with _source(console, ask, to_read=False) as (view, _, source):
        time_text = ask.text("time", "")
        if time_text:
            wanted = ask.number("time", least=0, most=_OFFSET_MAX)
            return segment_page.look_up(view.reader, source, None, wanted)
        wanted = ask.number("offset", least=0, most=_OFFSET_MAX)
        return segment_page.look_up(view.reader, source, wanted, None)


def _aborted(console: Console, ask: Ask) -> AbortedTransactions:
    with _source(console, ask, to_read=True) as (view, _, source):
        return AbortedTransactions(segment_page.aborted(view.disk.files, source))


def _snapshot(console: Console, ask: Ask) -> Snapshot | DamagedSnapshot:
    view = console.state(SegmentsView)
    folder, _, _ = _find(view, ask, to_read=True)
    offset = ask.number("offset", least=0, most=_OFFSET_MAX)
    try:
        return segment_page.snapshot(view.disk.files, folder.path, offset)
    except NoSuchFolder as error:
        raise NotHere(str(error)) from error


# --- parameters -----------------------------------------------------------------------------------


@contextmanager
def _source(
    console: Console, ask: Ask, *, to_read: bool
) -> Iterator[tuple[SegmentsView, PartitionFolder, Source]]:
    """Open the segment that a request names. Raises NotHere if it is gone, BadAsk for damage."""
    view = console.state(SegmentsView)
    folder, _, _ = _find(view, ask, to_read=to_read)
    try:
        with segment_page.opened(view.disk.files, view.reader, folder.path, _base(ask)) as source:
            yield view, folder, source
    except NoSuchFolder as error:
        raise NotHere(str(error)) from error
    except CorruptBatch as damage:
        raise BadAsk(f"damaged: {damage}") from damage


def _find(
    view: SegmentsView, ask: Ask, *, to_read: bool
) -> tuple[PartitionFolder, Allowed, list[LogDirectory]]:
    number = ask.number("partition", least=0, most=2**31 - 1)
    try:
        return view.disk.find(
            ask.text("topic"), number, ask.text("dir", "") or None, to_read=to_read
        )
    except NoSuchFolder as error:
        raise NotHere(str(error)) from error


def _or_gone(look: Callable[[], T]) -> T:
    try:
        return look()
    except LogError as error:
        raise NotHere(f"the folder changed while the console read it: {error}") from error


def _rules(view: SegmentsView, folder: PartitionFolder) -> Rules:
    if folder.topic == METADATA_LOG:
        return _NO_CONFIGS
    return view.rules.of(folder.topic, folder.directory.node_id)


def _base(ask: Ask) -> int:
    return ask.number("base", least=0, most=_OFFSET_MAX)


def _limit(ask: Ask, default: int) -> int:
    return ask.number("limit", default, least=1, most=segment_page.PAGE_MAX)


_PARTITION = "/api/segments/{topic}/{partition}"
_SEGMENT = f"{_PARTITION}/{{base}}"

ENDPOINTS = (
    get("/api/segments", _list),
    get(_PARTITION, _partition),
    get(f"{_PARTITION}/snapshot", _snapshot),
    get(_SEGMENT, _segment),
    get(f"{_SEGMENT}/batches", _batches),
    get(f"{_SEGMENT}/batch", _batch),
    get(f"{_SEGMENT}/bytes", _bytes),
    get(f"{_SEGMENT}/index", _index),
    get(f"{_SEGMENT}/lookup", _lookup),
    get(f"{_SEGMENT}/aborted", _aborted),
)
