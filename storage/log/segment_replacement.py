"""Taking a cleaned segment in place of those that it was made of, so that a crash loses nothing.

The steps, in this order: `.cleaned` files become `.swap` (the `.log` last), the old files become
`.deleted`, the `.swap` files get their names (the `.log` first). All of it runs in one turn of the
loop, so that no reader and no truncation comes in between; whoever called syncs the folder then.
What a crash leaves of it is settled at the next start (`settle_replacements`): before the `.log` is
a `.swap` the old segments stay, from then on the new one takes their place.

Owns: the names of files in these states. Never: looks into a batch, except for where a `.swap` file
ends, or deletes a file that a reader may have open: that is left to `file.delete.delay.ms`.

Kafka's classes: `LocalLog.replaceSegments`, `LogLoader.removeTempFilesAndCollectSwapFiles` 4.3.
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
    """Take the group's segment in, set the old ones aside, and remove the snapshots of borders that
    are none any more. Raises OSError."""
    base_offset = group.sources[0]
    path = f"{local.directory}/{offset_name(base_offset)}"
    old = [one for one in local.segments if one.base_offset in group.sources]
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
    """Remove what a cleaning wrote that was given up, but for the names in `keep`."""
    for name in filesystem.list_dir(directory):
        if name.endswith(CLEANED_SUFFIX) and name not in keep:
            filesystem.remove(f"{directory}/{name}")


def cleaned_names(groups: tuple[CleanedGroup, ...]) -> tuple[str, ...]:
    """The files that wait to be taken in."""
    return tuple(
        offset_name(group.sources[0]) + suffix + CLEANED_SUFFIX
        for group in groups
        for suffix in group.files
    )


def settle_replacements(filesystem: Filesystem, directory: str, names: list[str]) -> list[str]:
    """At a start: finish what a crash interrupted, or take it back. Gives the names that are left.

    Raises OSError. May itself be interrupted anywhere, and begun again.
    """

    def remove(name: str) -> None:
        filesystem.remove(f"{directory}/{name}")

    ours = [name for name in names if name[:_DIGITS].isdecimal() and name[:_DIGITS].isascii()]
    cleaned = [name for name in ours if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in ours if name.endswith(SWAP_SUFFIX)]
    kept = [name for name in names if name not in cleaned and name not in swaps]
    # Some files of a segment are not `.swap` yet: it is not whole, and its sources are all there.
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
    # The `.log` first: side files without one are removed, a `.log` without one has it rebuilt.
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
    """The `.log.swap` files that are whole. One that is not must not take the place of what it was
    made of, if that is still there: its files are removed, from `swaps` too."""
    whole = []
    for name in [name for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]:
        path, source = f"{directory}/{name}", name[: -len(SWAP_SUFFIX)]
        if source not in kept or _is_whole(filesystem, path):
            whole.append(name)
            continue
        for one in [one for one in swaps if one[:_DIGITS] == name[:_DIGITS]]:
            filesystem.remove(f"{directory}/{one}")
            swaps.remove(one)
    return whole


def _is_whole(filesystem: Filesystem, path: str) -> bool:
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
    """Files of segments that begin within what the `.log.swap` covers.

    Kafka's rule. Where the last batches of the sources were all dropped, a source that begins after
    what is left stays for the next cleaning: what it holds is old, and nothing is lost.
    """
    first = int(swap[:_DIGITS])
    next_offset = first + 1  # its own first source, also where nothing is left of it
    file = filesystem.open(f"{directory}/{swap}")
    try:
        for _, header in iterate_headers(file, 0, file.size):
            next_offset = header.next_offset
    except CorruptBatch:
        pass  # as far as it can be read; the scan of an unflushed segment tells of damage
    finally:
        file.close()
    return [
        name
        for name in names
        if name.endswith(_SEGMENT_SUFFIXES)
        and name[:_DIGITS].isdigit()
        and first <= int(name[:_DIGITS]) < next_offset
    ]
