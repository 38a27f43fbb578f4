"""The partition of a key, as Java's clients choose it."""

from __future__ import annotations

import pytest

from testbed.operations.partitioner import murmur2, partition_of

# What Kafka's own murmur2 gives, as signed numbers.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", KNOWN)
def test_keys_are_hashed_as_by_java(key: bytes) -> None:
    assert murmur2(key) == KNOWN[key] & 0xFFFFFFFF


def test_a_partition_is_one_of_those_there_are() -> None:
    assert partition_of(b"k", 2) == 0
    assert {partition_of(b"%d" % key, 3) for key in range(30)} == {0, 1, 2}
