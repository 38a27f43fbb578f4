"""The check for damage of the metadata log of a one-node quorum, made before the log is opened.

A damaged log is truncated where it can be read no further. In a larger quorum the leader has the
lost records. With one node no other copy exists: topics, configs and producer ids would be gone,
with a single warning. A crash leaves other traces than damage. No complete batch follows a torn
append. The `.snapshot` files, which have offsets as names, show how far the log reached at a roll
or a clean stop.

Owns the text of the error. Never: writes, so that the next start finds the same log.

Kafka truncates (`LogLoader`: "Corruption found in segment 0, truncating to offset 11").
"""

from __future__ import annotations

from controller.metadata.records import MetadataRecordError
from ground.filesystem import File, Filesystem
from log_format.segment_names import LOG_SUFFIX, SNAPSHOT_SUFFIX, base_offset_of, segment_path
from protocol.record_batch import HEADER_SIZE, CorruptBatch, crc_is_valid, read_header
from storage.log.batch_scan import valid_batches

_MAGIC_AT = 16
_MAGIC = b"\x02"


def check_whole(filesystem: Filesystem, directory: str, snapshot_end: int) -> None:
    """Check the segments in `directory` after the metadata snapshot with end offset `snapshot_end`
    (0: none). A missing directory is valid.

    Raises MetadataRecordError, with the commands that would truncate the log, if opening the log
    would lose more than a torn append. Also raises OSError.
    """
    if not filesystem.exists(directory):
        return
    names = filesystem.list_dir(directory)
    bases = _offsets(names, LOG_SUFFIX)
    first = max((base for base in bases if base <= snapshot_end), default=0)
    end, cut, has_more = first, "", False
    segments = [base for base in bases if base >= first]
    for base in segments:
        path = _log_path(directory, base)
        if base > end and base != segments[0]:
            has_more = True
            break
        file = filesystem.open(path)
        try:
            end, position = _valid_until(file, base)
            if position < file.size:
                cut = f"truncate -s {position} {path}"
                has_more = _has_whole_batch(file, position, end)
                break
        finally:
            file.close()
    later = [base for base in segments if base > end]
    has_more = has_more or any(filesystem.size(_log_path(directory, base)) for base in later)
    snapshots = [
        offset for offset in _offsets(names, SNAPSHOT_SUFFIX) if offset > max(end, snapshot_end)
    ]
    if has_more or snapshots:
        files = [_log_path(directory, base) for base in later]
        files += [segment_path(directory, offset, SNAPSHOT_SUFFIX) for offset in snapshots]
        commands = [cut] if cut else []
        commands += [f"rm {' '.join(files)}"] if files else []
        raise MetadataRecordError(
            f"{directory} is damaged: what was decided from offset {max(end, snapshot_end)} on "
            "cannot be read, and no other node has it. Restore the folder from a backup; or, to go "
            "on without that: " + " && ".join(commands)
        )


def _log_path(directory: str, base: int) -> str:
    return segment_path(directory, base, LOG_SUFFIX)


def _offsets(names: list[str], suffix: str) -> list[int]:
    """Return, in ascending order, the base offsets in the names of files with this suffix."""
    offsets = [base_offset_of(name, suffix) for name in names]
    return sorted(offset for offset in offsets if offset is not None)


def _valid_until(file: File, base: int) -> tuple[int, int]:
    """Return the offset and the file position after the last valid batch of a segment. The batches
    are read from `base` on, up to the first damage or gap."""
    end, position = base, 0
    for batch_position, header in valid_batches(file, 0):
        if header.base_offset != end:  # not covered by the CRC; a Raft log has no gaps
            break
        end, position = header.next_offset, batch_position + header.size_in_bytes
    return end, position


def _has_whole_batch(file: File, position: int, end: int) -> bool:
    """Return whether a complete batch with a valid CRC and a base offset of at least `end` begins
    anywhere from `position` on."""
    data = file.pread(file.size - position, position)
    magic_position = data.find(_MAGIC, _MAGIC_AT)
    while magic_position >= 0:
        start = magic_position - _MAGIC_AT
        try:
            if len(data) - start >= HEADER_SIZE:
                header = read_header(data, start, len(data) - start)
                if header.base_offset >= end and crc_is_valid(data, start, header):
                    return True
        except CorruptBatch:
            pass
        magic_position = data.find(_MAGIC, magic_position + 1)
    return False
