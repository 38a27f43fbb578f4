from __future__ import annotations

import pytest

from ground.topic_partition import TopicPartition
from log_format.checkpoints import (
    checkpoint_lines,
    checkpoint_offsets,
    cluster_id_text,
    topic_id_text,
)
from protocol.primitives import uuid_to_string
from storage.log.checkpoints import (
    MetaProperties,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)


def test_offsets() -> None:
    offsets = {TopicPartition("a.b-c", 0): 5, TopicPartition("a.b-c", 11): 2**40}
    assert checkpoint_offsets(encode_offsets(offsets)) == offsets
    assert checkpoint_lines(b"0\n1\na 0 5\n") == ["a 0 5"]


@pytest.mark.parametrize(
    "data", [b"", b"1\n0\n", b"0\n2\na 0 5\n", b"0\n1\na 0 5", b"0\n1\na 0\n", b"\xff\n", b"0\nx\n"]
)
def test_damaged_offsets(data: bytes) -> None:
    assert checkpoint_offsets(data) is None


def test_the_topic_id() -> None:
    topic_id = bytes(range(16))
    assert topic_id_text(encode_partition_metadata(topic_id)) == uuid_to_string(topic_id)
    assert topic_id_text(b"version: 0\n") is None


def test_the_cluster_id() -> None:
    assert cluster_id_text(encode_meta_properties(MetaProperties("a=b_-c", 1))) == "a=b_-c"
    assert cluster_id_text(b"#\nversion=1\n") is None
