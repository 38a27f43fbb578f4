from __future__ import annotations

import gzip

import cramjam
import pytest

from log_format.records.unpacking import CODECS, BadCompression, unpack
from protocol.compression import compress

TEXT = b"".join(b"%d" % number for number in range(100_000))
ALL = pytest.mark.parametrize("codec", [1, 2, 3, 4], ids=CODECS[1:])


@ALL
@pytest.mark.parametrize("size", [0, 1, 100, 70_000, len(TEXT)])
def test_what_the_server_packs(codec: int, size: int) -> None:
    assert unpack(codec, memoryview(compress(codec, TEXT[:size]))) == TEXT[:size]


@ALL
def test_no_more_than_the_limit(codec: int) -> None:
    packed = memoryview(compress(codec, TEXT[:30_000]))
    assert unpack(codec, packed, 30_000) == TEXT[:30_000]
    with pytest.raises(BadCompression):
        unpack(codec, packed, 29_999)


@ALL
def test_damage_is_told(codec: int) -> None:
    packed = compress(codec, TEXT[:30_000])
    for damaged in (packed[:-9], packed[: len(packed) // 2], b"no such thing", b"\xff" * 30):
        with pytest.raises(BadCompression):
            unpack(codec, memoryview(damaged))


def test_forms_of_other_clients() -> None:
    raw = bytes(cramjam.snappy.compress_raw(TEXT))  # librdkafka
    assert unpack(2, memoryview(raw)) == TEXT
    streams = compress(2, TEXT) + compress(2, TEXT)
    assert unpack(2, memoryview(streams)) == TEXT + TEXT
    members = gzip.compress(b"one") + gzip.compress(b"two")
    assert unpack(1, memoryview(members)) == b"onetwo"


def test_a_claim_is_not_believed() -> None:
    with pytest.raises(BadCompression, match="claims"):
        unpack(2, memoryview(b"\xff\xff\xff\x7f" + b"a" * 20))


def test_an_unknown_codec() -> None:
    with pytest.raises(BadCompression, match="unknown compression 5"):
        unpack(5, memoryview(b"a"))
