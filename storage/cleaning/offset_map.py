"""The last offset of each key in the dirty section of a log.

Owns: its limit in bytes. Keys of up to 31 bytes are stored as they are, longer ones as a hash of 32
bytes. The hash is cryptographic, so that a record is never dropped because of another key.

Never: holds less than one batch, so that compaction makes progress under any limit.

Kafka's class: `SkimpyOffsetMap` (MD5 of the key and the offset, 24 bytes an entry, an array with
probing). Such a table takes ten times as long in Python as its dictionary, which takes about 200
bytes an entry. So one round of compaction maps an eighth of the keys in the same memory, and a log
with more keys takes several rounds.
"""

from __future__ import annotations

from hashlib import blake2b

KEY_BYTES_MAX = 31
"""The length from which on, exclusively, a key is hashed."""
ENTRY_BYTES = 200
"""The most that an entry takes: the dictionary's slots while it grows, the key, the offset."""

_DIGEST_BYTES = 32


def digest_of(key: bytes) -> bytes:
    """Return the hash that is stored for a key of more than KEY_BYTES_MAX."""
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()


class OffsetMap:
    """A map of keys to their last offsets. It is complete up to `latest_offset`, inclusively."""

    __slots__ = ("_entries_max", "by_key", "latest_offset")

    def __init__(self, memory_bytes: int, load_factor: float) -> None:
        """Begin an empty map, which is full with the entries that fit into `memory_bytes *
        load_factor`, at least one."""
        self._entries_max = max(int(memory_bytes * load_factor) // ENTRY_BYTES, 1)
        self.by_key: dict[bytes, int] = {}
        self.latest_offset = -1

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached: the keys of no further batch are to be added."""
        return len(self.by_key) >= self._entries_max

    def reach(self, offset: int) -> None:
        """Set `latest_offset`: all keys up to `offset`, inclusively, are in the map."""
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """Return the last offset of `key`, -1 if the map does not have the key."""
        return self.by_key.get(digest_of(key) if len(key) > KEY_BYTES_MAX else key, -1)
