"""What can happen to a file while nobody looks: each damage by its name."""

from __future__ import annotations

from collections.abc import Callable

from ground.memory_filesystem import MemoryFilesystem

Damage = Callable[[bytes], bytes | None]

DAMAGES: dict[str, Damage] = {
    "missing": lambda _: None,
    "emptied": lambda _: b"",
    "zeroed": lambda data: bytes(len(data) or 24),
    "lost its last byte": lambda data: data[:-1],
    "lost its last 500 bytes": lambda data: data[:-500],
    "lost its last third": lambda data: data[: len(data) * 2 // 3],
    "first byte flipped": lambda data: flipped(data, 0),
    "a byte flipped in the middle": lambda data: flipped(data, len(data) // 2),
    "a length flipped": lambda data: flipped(data, 9),
    "last byte flipped": lambda data: flipped(data, len(data) - 1),
    "garbage behind it": lambda data: data + b"\xa5" * 77,
    "zeros behind it": lambda data: data + bytes(400),
    "all garbage": lambda data: b"\xa5" * (len(data) or 24),
    "twice itself": lambda data: data + data,
}

OF_AN_EARLIER_TIME = "of an earlier time"
DAMAGE_NAMES = [*DAMAGES, OF_AN_EARLIER_TIME]


def flipped(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    if 0 <= at < len(changed):
        changed[at] ^= 0x10
    return bytes(changed)


def damage(filesystem: MemoryFilesystem, path: str, name: str, earlier: MemoryFilesystem) -> bool:
    """Do it to a file, which `earlier` may have as it once was; False where it stays the same."""
    before = filesystem.read(path)
    if name != OF_AN_EARLIER_TIME:
        after = DAMAGES[name](before)
    else:
        after = earlier.read(path) if earlier.exists(path) else None
    if after is None:
        filesystem.remove(path)
    elif after != before:
        filesystem.replace_atomically(path, after)
    return after != before
