"""The replacement of segments by the cleaned one that was made of them. A crash loses no record.

The steps, in this order: `.cleaned` files become `.swap` (the `.log` last), the old files become
`.deleted`, the `.swap` files get their final names (the `.log` first). All run in one turn of the
loop, so that no read and no truncation can happen in between; the caller syncs the folder then.
After a crash the next start completes or undoes the replacement (`settle_replacements`). Until the
`.log` is a `.swap` the old segments stay; from then on the new one replaces them.

Owns: the names of files in these states. Never: reads a batch, except to find the end of a `.swap`
file, or deletes a file that a reader may have open: it is deleted after `file.delete.delay.ms`.

Kafka's classes: `LocalLog.replaceSegments`, `LogLoader.removeTempFilesAndCollectSwapFiles`.
"""

from __future__ import annotations

from ground.filesystem import Filesystem
from log_format.segment_names import (
    CLEANED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    offset_name,
)
from protocol.record_batch import CorruptBatch
from storage.log.batch_scan import iterate_headers
from storage.log.cleaned_group import CleanedGroup
from storage.log.local_log import LocalLog
from storage.log.log_segment import LogSegment
from storage.log_config import LogConfig

_SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
_DIGITS = len(offset_name(0))


def replace_segments(
    filesystem: Filesystem, local: LocalLog, config: LogConfig, group: CleanedGroup
) -> None:
    """Replace the group's source segments by its new one. Raises OSError.

    The producer snapshots at the sources' base offsets are removed, except at the first.
    """
    base_offset = group.sources[0]
    path = f"{local.directory}/{offset_name(base_offset)}"
    old = [segment for segment in local.segments if segment.base_offset in group.sources]
    created_ms = old[-1].created_ms
    for suffix in group.files:  # the `.log` comes last
        filesystem.rename(path + suffix + CLEANED_SUFFIX, path + suffix + SWAP_SUFFIX)
    local.set_aside(old)
    for suffix in reversed(group.files):
        filesystem.rename(path + suffix + SWAP_SUFFIX, path + suffix)
    segment = LogSegment(
        filesystem,
        local.directory,
        base_offset,
        config,
        created_ms=created_ms,
        create=False,
        files=local.files,
        closed=True,
    )
    assert segment.size == group.size, f"{path}.log has {segment.size} bytes, not {group.size}"
    segment.open_cleaned(group.max_timestamp, group.offset_of_max_timestamp)
    local.segments.add(segment)
    for merged in group.sources[1:]:
        local.snapshots.remove_at(merged)


def remove_cleaned(filesystem: Filesystem, directory: str, keep: tuple[str, ...] = ()) -> None:
    """Remove the `.cleaned` files that a cancelled cleaning left, except the names in `keep`."""
    for name in filesystem.list_dir(directory):
        if name.endswith(CLEANED_SUFFIX) and name not in keep:
            filesystem.remove(f"{directory}/{name}")


def cleaned_names(groups: tuple[CleanedGroup, ...]) -> tuple[str, ...]:
    """Return the names of the `.cleaned` files of these groups."""
    return tuple(
        offset_name(group.sources[0]) + suffix + CLEANED_SUFFIX
        for group in groups
        for suffix in group.files
    )


def settle_replacements(filesystem: Filesystem, directory: str, names: list[str]) -> list[str]:
    """Complete, or undo, the replacements that a crash interrupted. Return the names that remain.

    A start calls it with the `names` in the folder. If it is itself interrupted, the next call
    completes it. Raises OSError.
    """

    def remove(name: str) -> None:
        filesystem.remove(f"{directory}/{name}")

    segment_file_names = [
        name for name in names if name[:_DIGITS].isdecimal() and name[:_DIGITS].isascii()
    ]
    cleaned = [name for name in segment_file_names if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in segment_file_names if name.endswith(SWAP_SUFFIX)]
    kept = [name for name in names if name not in cleaned and name not in swaps]
    # A segment with a `.cleaned` file is incomplete, as not all its files are `.swap`. Its sources
    # exist.
    lowest = min((name[:_DIGITS] for name in cleaned), default=None)
    for name in swaps:
        if lowest is not None and name[:_DIGITS] >= lowest:
            remove(name)
    for name in cleaned:
        remove(name)
    swaps = [name for name in swaps if lowest is None or name[:_DIGITS] < lowest]
    for name in _without_damaged(filesystem, directory, swaps, kept):
        for replaced in _replaced(filesystem, directory, name, kept):
            remove(replaced)
            kept.remove(replaced)
    # The `.log` first: a start removes indexes without a `.log`, but rebuilds missing indexes.
    swaps.sort(key=lambda name: not name.endswith(LOG_SUFFIX + SWAP_SUFFIX))
    for name in swaps:
        final = name[: -len(SWAP_SUFFIX)]
        filesystem.rename(f"{directory}/{name}", f"{directory}/{final}")
        if final not in kept:
            kept.append(final)
    return sorted(kept)


def _without_damaged(
    filesystem: Filesystem, directory: str, swaps: list[str], kept: list[str]
) -> list[str]:
    """Return the `.log.swap` files that may replace their sources: those without damage, and those
    whose source (the `.log` of the same offset in `kept`) is gone, which are not checked.

    All files of a damaged segment whose source still exists are removed, from the folder and from
    `swaps`. Raises OSError.
    """
    whole = []
    for name in [name for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]:
        path, source = f"{directory}/{name}", name[: -len(SWAP_SUFFIX)]
        if source not in kept or _is_whole(filesystem, path):
            whole.append(name)
            continue
        for swap in [swap for swap in swaps if swap[:_DIGITS] == name[:_DIGITS]]:
            filesystem.remove(f"{directory}/{swap}")
            swaps.remove(swap)
    return whole


def _is_whole(filesystem: Filesystem, path: str) -> bool:
    """Return whether all batch headers of a log file are valid up to its end. Raises OSError."""
    file = filesystem.open(path)
    try:
        for _ in iterate_headers(file, 0, file.size):
            pass
    except CorruptBatch:
        return False
    finally:
        file.close()
    return True


def _replaced(filesystem: Filesystem, directory: str, swap: str, names: list[str]) -> list[str]:
    """Return the files of segments that begin within the offsets of a `.log.swap`.

    This is Kafka's rule. If the last batches of the sources were all dropped, a source that begins
    after the remaining ones stays until the next cleaning. Its records are old; none is lost.
    """
    first = int(swap[:_DIGITS])
    next_offset = first + 1  # at least its first source, also if no batch of it is left
    file = filesystem.open(f"{directory}/{swap}")
    try:
        for _, header in iterate_headers(file, 0, file.size):
            next_offset = header.next_offset
    except CorruptBatch:
        pass  # count the readable batches; the scan of an unflushed segment reports the damage
    finally:
        file.close()
    return [
        name
        for name in names
        if name.endswith(_SEGMENT_SUFFIXES)
        and name[:_DIGITS].isdigit()
        and first <= int(name[:_DIGITS]) < next_offset
    ]
