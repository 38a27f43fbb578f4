"""Each codec there and back, the framings of other clients, and what lying bytes cost."""

from __future__ import annotations

import gzip
import random
import resource
import struct
import tracemalloc

import cramjam
import pytest

from protocol.compression import Codec, DecompressionLimit, compress, decompress
from protocol.record_batch import CorruptBatch

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"record %d of a topic, " % n for n in range(10_000))
LIMIT = 10_000_000


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT, random.Random(1).randbytes(100_000)])
def test_there_and_back(codec: Codec, data: bytes) -> None:
    packed = compress(codec, data)
    assert decompress(codec, packed, LIMIT) == data
    assert decompress(codec, memoryview(packed), len(data)) == data, "the limit itself is allowed"


@pytest.mark.parametrize("codec", CODECS)
def test_text_gets_smaller(codec: Codec) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 3


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        *((Codec.GZIP, level) for level in (-1, 1, 9)),
        *((Codec.LZ4, level) for level in (1, 9, 10, 12, 17)),
        *((Codec.ZSTD, level) for level in (-131072, -1, 0, 3, 22)),
    ],
)
def test_levels_that_kafka_allows(codec: Codec, level: int) -> None:
    assert decompress(codec, compress(codec, TEXT, level), LIMIT) == TEXT


@pytest.mark.parametrize(
    ("codec", "low", "high"), [(Codec.GZIP, 1, 9), (Codec.LZ4, 1, 17), (Codec.ZSTD, -50, 19)]
)
def test_levels_do_something(codec: Codec, low: int, high: int) -> None:
    words = random.Random(2).choices(TEXT.split()[:500], k=20_000)
    data = b" ".join(words)
    assert len(compress(codec, data, high)) < len(compress(codec, data, low))


@pytest.mark.parametrize("codec", [5, 7, -1])
def test_unknown_codecs(codec: int) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, b"data", LIMIT)
    with pytest.raises(ValueError, match="unknown"):
        compress(codec, b"data")


@pytest.mark.parametrize("codec", list(Codec))
def test_the_limit_is_hard(codec: Codec) -> None:
    with pytest.raises(DecompressionLimit):
        decompress(codec, compress(codec, TEXT), len(TEXT) - 1)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_takes_no_more_than_the_limit(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * 1024 * 1024))
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionLimit):
            decompress(codec, bomb, 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", CODECS)
def test_cut_off_anywhere(codec: Codec) -> None:
    packed = compress(codec, TEXT[:3000] * 10)
    sizes = {0, *range(1, 40), len(packed) // 2, *range(len(packed) - 12, len(packed))}
    if codec is Codec.SNAPPY:
        sizes.remove(16)  # the stream has no end mark: its header alone is an empty one
    for size in sorted(sizes):
        with pytest.raises(CorruptBatch):
            decompress(codec, packed[:size], LIMIT)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(5))
def test_flipped_bits_raise_nothing_but_corrupt_batch(codec: Codec, seed: int) -> None:
    rng = random.Random(seed)
    packed = compress(codec, TEXT)
    for _ in range(50):
        damaged = bytearray(packed)
        for _ in range(rng.choice([1, 1, 10])):
            damaged[rng.randrange(min(len(damaged), 500))] = rng.randrange(256)
        try:
            assert len(decompress(codec, damaged, LIMIT)) <= LIMIT
        except CorruptBatch:
            continue


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_trailing_bytes_are_damage(codec: Codec) -> None:
    with pytest.raises(CorruptBatch):
        decompress(codec, compress(codec, TEXT) + b"tail", LIMIT)


# --- framings ------------------------------------------------------------------------------------


def test_gzip_of_pythons_own_library() -> None:
    assert decompress(Codec.GZIP, gzip.compress(TEXT), LIMIT) == TEXT
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT


def test_raw_snappy_as_librdkafka_writes_it() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), LIMIT) == TEXT


def test_snappy_is_written_as_xerials_stream() -> None:
    packed = compress(Codec.SNAPPY, TEXT)
    assert packed[:16] == b"\x82SNAPPY\x00\0\0\0\x01\0\0\0\x01"
    (length,) = struct.unpack_from(">i", packed, 16)
    first = bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + length]))
    assert first == TEXT[: 32 * 1024]


def test_snappy_streams_one_after_the_other() -> None:
    twice = compress(Codec.SNAPPY, b"one ") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, twice, LIMIT) == b"one two"


def test_lz4_is_written_with_independent_blocks_and_read_with_linked_ones() -> None:
    packed = compress(Codec.LZ4, TEXT)
    assert packed[:4] == b"\x04\x22\x4d\x18"
    assert packed[4] & 0x20, "Kafka's reader needs the block independence flag"
    linked = cramjam.lz4.Compressor(content_checksum=True, block_linked=True)
    linked.compress(TEXT)
    assert decompress(Codec.LZ4, bytes(linked.finish()), LIMIT) == TEXT


# --- lies ----------------------------------------------------------------------------------------


def _peak_rss_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("length", [-(2**31), -2, -1, 0, 5, 2**31 - 1])
def test_snappy_block_lengths_that_lie(length: int) -> None:
    stream = compress(Codec.SNAPPY, b"")[:16] + struct.pack(">i", length) + b"\x04abc"
    before = _peak_rss_bytes()
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, stream, 2**40)
    assert _peak_rss_bytes() - before < 16_000_000


@pytest.mark.parametrize(
    "claimed", [b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80\x80\x01"]
)
def test_raw_snappy_that_claims_much(claimed: bytes) -> None:
    before = _peak_rss_bytes()
    with pytest.raises(CorruptBatch):
        decompress(Codec.SNAPPY, claimed + b"\x00a", 2**40)
    assert _peak_rss_bytes() - before < 16_000_000


def test_zstd_window_that_claims_much() -> None:
    three_raw_bytes = ((3 << 3) | 1).to_bytes(3, "little") + b"abc"
    before = _peak_rss_bytes()
    for window_log in (27, 31):
        frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3]) + three_raw_bytes
        try:
            assert decompress(Codec.ZSTD, frame, LIMIT) == b"abc"
        except CorruptBatch:
            assert window_log > 27
    assert _peak_rss_bytes() - before < 16_000_000
