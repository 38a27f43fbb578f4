"""Whether the metadata log of a quorum of one is whole: asked before anything of it is opened.

A log that is damaged is cut where it can be read no further. Elsewhere the leader of the quorum has
what is lost; here nobody has, and topics, configs and offsets of producers would be gone with one
warning. What a crash leaves is told from that: of a torn append nothing whole lies behind it, and
what a roll or a clean stop saw is known by the `.snapshot` files, which are named by offsets.

Owns the words of the refusal. Never: writes, so that the next start finds what this one found.

Kafka 4.3 cuts (`LogLoader`: "Corruption found in segment 0, truncating to offset 11").
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
    """Look through the log after the metadata snapshot that ends with `snapshot_end` (0: none).

    Raises MetadataRecordError where more than a torn tail would be cut, and OSError.
    """
    if not filesystem.exists(directory):
        return
    names = filesystem.list_dir(directory)
    bases = _offsets(names, LOG_SUFFIX)
    first = max((base for base in bases if base <= snapshot_end), default=0)
    end, cut, behind = first, "", False
    wanted = [base for base in bases if base >= first]
    for base in wanted:
        path = _log(directory, base)
        if base > end and base != wanted[0]:
            behind = True
            break
        file = filesystem.open(path)
        try:
            end, position = _valid_until(file, base)
            if position < file.size:
                cut = f"truncate -s {position} {path}"
                behind = _something_whole(file, position, end)
                break
        finally:
            file.close()
    later = [base for base in wanted if base > end]
    behind = behind or any(filesystem.size(_log(directory, base)) for base in later)
    seen = [
        offset for offset in _offsets(names, SNAPSHOT_SUFFIX) if offset > max(end, snapshot_end)
    ]
    if behind or seen:
        files = [_log(directory, base) for base in later]
        files += [segment_path(directory, offset, SNAPSHOT_SUFFIX) for offset in seen]
        how = [cut] if cut else []
        how += [f"rm {' '.join(files)}"] if files else []
        raise MetadataRecordError(
            f"{directory} is damaged: what was decided from offset {max(end, snapshot_end)} on "
            "cannot be read, and no other node has it. Restore the folder from a backup; or, to go "
            "on without that: "
            + " && ".join(how)
        )


def _log(directory: str, base: int) -> str:
    return segment_path(directory, base, LOG_SUFFIX)


def _offsets(names: list[str], suffix: str) -> list[int]:
    found = [base_offset_of(name, suffix) for name in names]
    return sorted(offset for offset in found if offset is not None)


def _valid_until(file: File, base: int) -> tuple[int, int]:
    """(offset, position) after the last batch that can be read in a row."""
    end, position = base, 0
    for at, header in valid_batches(file, 0):
        if header.base_offset != end:  # which no checksum covers; offsets of Raft have no gaps
            break
        end, position = header.next_offset, at + header.size_in_bytes
    return end, position


def _something_whole(file: File, position: int, end: int) -> bool:
    """Whether a whole batch of a later offset than `end` begins anywhere behind `position`."""
    data = file.pread(file.size - position, position)
    at = data.find(_MAGIC, _MAGIC_AT)
    while at >= 0:
        start = at - _MAGIC_AT
        try:
            if len(data) - start >= HEADER_SIZE:
                header = read_header(data, start, len(data) - start)
                if header.base_offset >= end and crc_is_valid(data, start, header):
                    return True
        except CorruptBatch:
            pass
        at = data.find(_MAGIC, at + 1)
    return False
