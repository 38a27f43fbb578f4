"""Which partition of a coordinator's topic a group or a transactional id belongs to.

Owns the hash alone: Java's `String.hashCode` and Kafka's `Utils.abs`, which every broker of a
cluster must agree on. Follows Kafka's `GroupCoordinatorService.partitionFor` and
`TransactionStateManager.partitionFor`.
"""

from __future__ import annotations

from functools import lru_cache

_HASHES_KEPT = 16_384
_LONGEST_KEPT = 256
"""Characters of a key whose hash is kept: clients choose the keys, of up to 32 KB."""


def partition_for(key: str, partition_count: int) -> int:
    """The partition of an internal topic with `partition_count` partitions that holds `key`."""
    code = _kept_hash(key) if len(key) <= _LONGEST_KEPT else _java_hash(key)
    return code % partition_count


def _java_hash(text: str) -> int:
    """`String.hashCode` of Java, made positive as Kafka's `Utils.abs` does."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        code = (31 * code + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    if code & 0x80000000:
        code -= 1 << 32
    return 0 if code == -(1 << 31) else abs(code)


_kept_hash = lru_cache(maxsize=_HASHES_KEPT)(_java_hash)
