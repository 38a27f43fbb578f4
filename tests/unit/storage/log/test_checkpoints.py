"""The small files' formats, byte for byte as Kafka writes them, and what counts as damage."""

from __future__ import annotations

import pytest

from ground.topic_partition import TopicPartition
from storage.log.checkpoints import (
    MetaProperties,
    decode_clean_shutdown,
    decode_meta_properties,
    decode_offsets,
    decode_partition_metadata,
    encode_clean_shutdown,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)

TOPIC_ID = bytes(range(16))


def test_offsets() -> None:
    offsets = {TopicPartition("a.b", 0): 12, TopicPartition("a-b", 3): 2**40}
    assert encode_offsets(offsets) == b"0\n2\na.b 0 12\na-b 3 1099511627776\n"
    assert decode_offsets(encode_offsets(offsets)) == offsets
    assert decode_offsets(encode_offsets({})) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"0\n",
        b"0\n1\n",
        b"0\n2\na 0 1\n",
        b"0\n1\na 0 1",
        b"0\n1\na 0\n",
        b"0\n1\na x 1\n",
        b"1\n0\n",
        b"\xff\xfe",
        b"\0" * 20,
    ],
)
def test_damaged_offsets(data: bytes) -> None:
    assert decode_offsets(data) is None


def test_partition_metadata() -> None:
    data = encode_partition_metadata(TOPIC_ID)
    assert data == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert decode_partition_metadata(data) == TOPIC_ID
    assert decode_partition_metadata(data + b"\n") == TOPIC_ID


@pytest.mark.parametrize(
    "data", [b"", b"version: 0\n", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", b"\0" * 30]
)
def test_damaged_partition_metadata(data: bytes) -> None:
    assert decode_partition_metadata(data) is None


def test_clean_shutdown() -> None:
    assert encode_clean_shutdown(7) == b'{"version":0,"brokerEpoch":7}'
    assert decode_clean_shutdown(b'{"version":0,"brokerEpoch":7}') == 7


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"brokerEpoch":"x"}', b"\0\0"])
def test_a_marker_without_an_epoch_is_a_marker(data: bytes) -> None:
    assert decode_clean_shutdown(data) == -1


def test_meta_properties() -> None:
    properties = MetaProperties("4L6g3nShT-eMCtK--X86sw", 3, TOPIC_ID)
    data = encode_meta_properties(properties)
    assert data.decode().splitlines() == [
        "#",
        "cluster.id=4L6g3nShT-eMCtK--X86sw",
        "directory.id=AAECAwQFBgcICQoLDA0ODw",
        "node.id=3",
        "version=1",
    ]
    assert decode_meta_properties(data) == properties


def test_meta_properties_as_kafka_writes_them() -> None:
    kafka = (
        b"#\n#Sat Nov 21 12:00:00 UTC 2026\ncluster.id=abc\\=d\\:e\nnode.id=1\n"
        b"directory.id=AAECAwQFBgcICQoLDA0ODw\nversion=1\n"
    )
    assert decode_meta_properties(kafka) == MetaProperties("abc=d:e", 1, TOPIC_ID)
    quoted = MetaProperties("abc=d:e", 1)
    assert decode_meta_properties(encode_meta_properties(quoted)) == quoted
    old = b"cluster.id=abc\nbroker.id=2\nversion=0\n"
    assert decode_meta_properties(old) == MetaProperties("abc", 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version=1\n",
        b"version=1\ncluster.id=a\n",
        b"version=1\ncluster.id=a\nnode.id=x\n",
        b"\xff",
    ],
)
def test_damaged_meta_properties(data: bytes) -> None:
    assert decode_meta_properties(data) is None
