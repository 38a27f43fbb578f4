"""The mapping from a group or a transactional id to a partition of the coordinator's topic.

Owns only the hash: Java's `String.hashCode` with Kafka's `Utils.abs`, which must be the same on all
brokers of a cluster. Follows Kafka's `GroupCoordinatorService.partitionFor` and
`TransactionStateManager.partitionFor`.
"""

from __future__ import annotations

from functools import lru_cache

_CACHED_HASHES = 16_384
_CACHED_KEY_LENGTH = 256
"""The length, in characters, up to which a key's hash is cached. Clients may choose keys of up to
32 KB."""


def partition_for(key: str, partition_count: int) -> int:
    """Return the partition, of an internal topic's `partition_count`, that holds `key`: Java's hash
    of the key, modulo the count."""
    code = _cached_hash(key) if len(key) <= _CACHED_KEY_LENGTH else _java_hash(key)
    return code % partition_count


def _java_hash(text: str) -> int:
    """Return Java's `String.hashCode` of a text, made positive as Kafka's `Utils.abs` does."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        code = (31 * code + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    if code & 0x80000000:
        code -= 1 << 32
    return 0 if code == -(1 << 31) else abs(code)


_cached_hash = lru_cache(maxsize=_CACHED_HASHES)(_java_hash)
