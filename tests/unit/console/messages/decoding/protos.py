"""Descriptors of Protobuf without a compiler, for the tests of this folder."""

from __future__ import annotations

from google.protobuf import descriptor_pb2

_STRING, _INT64, _MESSAGE = 9, 3, 11


def order_file() -> descriptor_pb2.FileDescriptorProto:
    """shop.Order {id, item, at} with the message Item in it, and shop.Other."""
    file = descriptor_pb2.FileDescriptorProto(
        name="order.proto",
        package="shop",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
    )
    order = file.message_type.add(name="Order")
    order.field.add(name="order_id", number=1, type=_INT64, label=1)
    order.field.add(name="item", number=2, type=_MESSAGE, label=1, type_name=".shop.Order.Item")
    order.field.add(
        name="at", number=3, type=_MESSAGE, label=1, type_name=".google.protobuf.Timestamp"
    )
    order.nested_type.add(name="Item").field.add(name="sku", number=1, type=_STRING, label=1)
    file.message_type.add(name="Other").field.add(name="name", number=1, type=_STRING, label=1)
    return file


ITEM = b"\x0a\x03abc"
"""Order.Item of the sku abc."""
ORDER = b"\x08\x07\x12" + bytes([len(ITEM)]) + ITEM + b"\x1a\x02\x08\x00"
"""Order 7 of it, at the start of 1970."""
AS_DICT = {"order_id": "7", "item": {"sku": "abc"}, "at": "1970-01-01T00:00:00Z"}
