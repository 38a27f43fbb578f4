"""Every broker must agree on the partition of a group or transactional id."""

from __future__ import annotations

import pytest

from broker.coordinator.coordinator_partitions import _cached_hash, partition_for


@pytest.mark.parametrize("key", ["", "a", "Grüße, 世界", "polygenelubricants"])
def test_the_partition_is_that_of_javas_hash(key: str) -> None:
    code = {"": 0, "a": 97, "Grüße, 世界": -166104223, "polygenelubricants": -(2**31)}[key]
    positive = 0 if code == -(2**31) else abs(code)
    for partitions in (1, 50, 2**31 - 1):
        assert partition_for(key, partitions) == positive % partitions


def test_the_hash_of_a_long_key_is_not_kept() -> None:
    before = _cached_hash.cache_info().currsize
    assert partition_for("a" * 30_000, 50) == partition_for("a" * 30_000, 50)
    assert _cached_hash.cache_info().currsize == before
