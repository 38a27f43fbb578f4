"""The last offset of each key in the section of a log that compaction looks at.

Owns: its bound in bytes. Keys of up to 31 bytes stand for themselves, longer ones for a hash of 32
bytes, which nobody can make collide: a record is never lost for another key's sake.

Never: takes less than one batch, so that compaction always goes on, whatever its bound.

Kafka's class: `SkimpyOffsetMap` (MD5 of the key and the offset, 24 bytes an entry, probed by hand).
A table like that costs ten times as long in Python as its own dictionary, which takes about 200
bytes an entry; so one round of compaction sees an eighth of the keys in the same memory, and a log
with more takes several rounds.
"""

from __future__ import annotations

from hashlib import blake2b

KEY_BYTES_MAX = 31
"""Longer keys are hashed."""
ENTRY_BYTES = 200
"""What an entry takes at most: the dictionary's slots while it grows, the key, the offset."""

_DIGEST_BYTES = 32


def digest_of(key: bytes) -> bytes:
    """What stands for a long key."""
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


class OffsetMap:
    """Key → last offset, up to `latest_offset`, the last one that the map knows about."""

    __slots__ = ("_entries_max", "by_key", "latest_offset")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        self._entries_max = max(int(memory_bytes * load_factor) // ENTRY_BYTES, 1)
        self.by_key: dict[bytes, int] = {}
        self.latest_offset = -1

    @property
    def is_full(self) -> bool:
        """Whether no further batch is to be noted."""
        return len(self.by_key) >= self._entries_max

    def reach(self, offset: int) -> None:
        """The map knows of all keys up to `offset`."""
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """The last offset of `key`, or -1."""
        return self.by_key.get(digest_of(key) if len(key) > KEY_BYTES_MAX else key, -1)
