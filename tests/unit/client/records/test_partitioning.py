"""The hash and the partitions of Kafka's own producer."""

from __future__ import annotations

import pytest

from client.records.partitioning import REMEMBERED_MAX, Partitioner, murmur2, partition_of


# From `UtilsTest.testMurmur2` of Kafka, which has them as signed numbers.
@pytest.mark.parametrize(
    ("data", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2(data: bytes, signed: int) -> None:
    assert murmur2(data) == signed % 2**32


def test_keys_stay_and_batches_go_round() -> None:
    one = Partitioner(3, 7)
    assert [one.of_batch() for _ in range(4)] == [1, 2, 0, 1]
    assert one.of_key(b"abc") == 479470107 % 3 == one.of_key(b"abc")
    assert one.of_key(b"21") == (-973932308 & 0x7FFFFFFF) % 3


def test_not_every_key_is_remembered() -> None:
    one = Partitioner(2, 0)
    for number in range(REMEMBERED_MAX + 10):
        one.of_key(b"%d" % number)
    assert len(one._seen) == REMEMBERED_MAX


def test_a_partition_is_one_of_those_there_are() -> None:
    assert partition_of(b"k", 2) == 0
    assert {partition_of(b"%d" % key, 3) for key in range(30)} == {0, 1, 2}
