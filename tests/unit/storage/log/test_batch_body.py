"""What a batch unpacks to: at once, by jobs, and given back."""

from __future__ import annotations

import pytest

from ground.sliced_work import first_slice, in_one_go
from protocol.compression import Codec
from protocol.record_batch import HEADER_SIZE, CorruptBatch, read_header
from storage.log.batch_body import SLICE_BYTES, BatchBody
from tests.unit.storage.harness import keyed_batch

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def body_of(batch: memoryview, made: list[int] | None = None) -> BatchBody:
    def allocate(size: int) -> bytearray:
        if made is not None:
            made.append(size)
        return bytearray(size)

    return BatchBody(batch, read_header(batch), allocate)


@pytest.mark.parametrize("size", [1, 60_000, SLICE_BYTES - 100, SLICE_BYTES, 5_000_000])
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_and_size(codec: Codec, size: int) -> None:
    plain = keyed_batch((b"k", bytes(size)))
    made: list[int] = []
    body = body_of(keyed_batch((b"k", bytes(size)), compression=codec), made)
    in_one_go(body.open())
    assert body.view == plain[HEADER_SIZE:]
    assert all(SLICE_BYTES < one <= 16 * max(size, SLICE_BYTES) for one in made)
    assert (made == []) == (len(plain) - HEADER_SIZE <= SLICE_BYTES)
    in_one_go(body.close())
    assert len(body.view) < len(plain)


def test_a_batch_that_is_not_compressed_is_not_touched() -> None:
    batch = keyed_batch((b"k", b"v"))
    body = body_of(batch)
    assert first_slice(body.open()) == [None]
    assert body.view == batch[HEADER_SIZE:] and body.view.obj is batch.obj


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [100, 3_000_000])
def test_damage(codec: Codec, size: int) -> None:
    batch = keyed_batch((b"k", bytes(size)), compression=codec)
    body = body_of(memoryview(bytes(batch[:-3]) + b"\xff\xff\xff"))
    with pytest.raises(CorruptBatch):
        in_one_go(body.open())
