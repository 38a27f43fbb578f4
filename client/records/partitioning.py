"""Which partition a record goes to: by the hash of its key, as Kafka's own producer does it.

Records without a key go where the batch before did not. Pure; follows `Utils.murmur2` and
`BuiltInPartitioner` of Kafka 4.3, and KIP-480 for keyless records.
"""

from __future__ import annotations

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_UINT32 = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
REMEMBERED_MAX = 100_000


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash, unsigned."""
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
    """The partitions of one topic. Remembers the keys that it has seen, so many at most."""

    def __init__(self, partitions: int, first: int) -> None:
        """`first`: the partition of the first batch of records without keys."""
        self._partitions = partitions
        self._next = first % partitions
        self._seen: dict[bytes, int] = {}

    def of_key(self, key: bytes) -> int:
        found = self._seen.get(key)
        if found is None:
            found = partition_of(key, self._partitions)
            if len(self._seen) < REMEMBERED_MAX:
                self._seen[key] = found
        return found

    def of_batch(self) -> int:
        """For the next batch of records without keys."""
        found = self._next
        self._next = (found + 1) % self._partitions
        return found
