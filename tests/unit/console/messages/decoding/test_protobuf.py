"""Protobuf's bytes become the fields that were set; what the descriptors lack is said."""

from __future__ import annotations

import pytest
from google.protobuf import descriptor_pb2

from console.messages.decoding.protobuf import ProtoFiles
from console.messages.decoding.wire import Undecodable
from tests.unit.console.messages.decoding.protos import AS_DICT, ITEM, ORDER, order_file


def test_by_name_out_of_a_set() -> None:
    data = descriptor_pb2.FileDescriptorSet(file=[order_file()]).SerializeToString()
    message = ProtoFiles.of_set(data).message("shop.Order")
    assert message.name == "shop.Order"
    assert message.decode(ORDER) == AS_DICT


def test_by_place_out_of_a_file() -> None:
    files = ProtoFiles([order_file().SerializeToString()])
    assert files.message_at((0,)).decode(ORDER) == AS_DICT
    assert files.message_at((0, 0)).decode(ITEM) == {"sku": "abc"}
    assert files.message_at((1,)).name == "shop.Other"
    with pytest.raises(Undecodable, match="no message number 2"):
        files.message_at((2,))


def test_what_is_wrong() -> None:
    files = ProtoFiles([order_file().SerializeToString()])
    with pytest.raises(Undecodable, match="no message shop.Missing"):
        files.message("shop.Missing")
    with pytest.raises(Undecodable, match="not match the Protobuf message shop.Order"):
        files.message("shop.Order").decode(b"\xff\xff")
    with pytest.raises(Undecodable, match="not a descriptor set"):
        ProtoFiles.of_set(b"\xff\xff")
    with pytest.raises(Undecodable, match="not a Protobuf descriptor"):
        ProtoFiles([b"\xff\xff"])
    lonely = order_file()
    lonely.dependency.append("missing.proto")
    with pytest.raises(Undecodable, match="lack missing.proto: run protoc with --include_imports"):
        ProtoFiles([lonely.SerializeToString()])
