"""The choice of a record's partition: by the hash of its key, as Kafka's own producer does it.

Each batch of records without keys goes to the next partition. Pure; follows `Utils.murmur2` and
`BuiltInPartitioner` of Kafka, and KIP-480 for keyless records.
"""

from __future__ import annotations

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_UINT32 = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
REMEMBERED_MAX = 100_000


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit hash of a key, unsigned."""
    length = len(data)
    whole = length & ~3
    mixed = _SEED ^ length
    for pos in range(0, whole, 4):
        part = int.from_bytes(data[pos : pos + 4], "little") * _FACTOR & _UINT32
        part = (part ^ part >> 24) * _FACTOR & _UINT32
        mixed = (mixed * _FACTOR & _UINT32) ^ part
    if whole < length:
        mixed ^= int.from_bytes(data[whole:], "little")
        mixed = mixed * _FACTOR & _UINT32
    mixed = (mixed ^ mixed >> 13) * _FACTOR & _UINT32
    return mixed ^ mixed >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key in a topic of so many partitions."""
    return (murmur2(key) & _POSITIVE) % partitions


class Partitioner:
    """The partitioner of one topic. It caches the partitions of up to REMEMBERED_MAX keys."""

    def __init__(self, partitions: int, first: int) -> None:
        """Begin; `first`, modulo `partitions`, is the partition of the first keyless batch."""
        self._partitions = partitions
        self._next = first % partitions
        self._seen: dict[bytes, int] = {}

    def of_key(self, key: bytes) -> int:
        """Return the partition of a key. Remembers the answer for the first REMEMBERED_MAX keys."""
        partition = self._seen.get(key)
        if partition is None:
            partition = partition_of(key, self._partitions)
            if len(self._seen) < REMEMBERED_MAX:
                self._seen[key] = partition
        return partition

    def of_batch(self) -> int:
        """Return the partition for the next batch of records without keys: each call returns the
        following one."""
        partition = self._next
        self._next = (partition + 1) % self._partitions
        return partition
