"""What Protobuf's mapping to JSON refuses is shown by its fields, and hides nothing beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("google.protobuf")

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
)

from console.messages.decoding.protobuf import ProtoFiles
from console.messages.decoding.wire import Undecodable

_STRING, _INT64, _DOUBLE, _MESSAGE, _ENUM, _FLOAT = 9, 3, 1, 11, 14, 2
_ONE, _MANY = 1, 3
OTHER = any_pb2.Any(type_url="type.googleapis.com/o.Other", value=b"\x0a\x017")
SHOWN_OTHER = {"type_url": "type.googleapis.com/o.Other", "value": "CgE3"}
LATE = timestamp_pb2.Timestamp(seconds=10**15, nanos=5)
SHOWN_LATE = {"seconds": "1000000000000000", "nanos": 5}


def files() -> ProtoFiles:
    """n.Note {title, weight, any, more, named, at, took, mask, struct, value, inner, color}."""
    file = descriptor_pb2.FileDescriptorProto(name="n.proto", package="n", syntax="proto3")
    own = ("any", "timestamp", "duration", "field_mask", "struct")
    file.dependency.extend(f"google/protobuf/{name}.proto" for name in own)
    note = file.message_type.add(name="Note")
    fields = (
        ("title", _STRING, _ONE, None),
        ("weight", _FLOAT, _ONE, None),
        ("any", _MESSAGE, _ONE, ".google.protobuf.Any"),
        ("more", _MESSAGE, _MANY, ".google.protobuf.Any"),
        ("named", _MESSAGE, _MANY, ".n.Note.NamedEntry"),
        ("at", _MESSAGE, _ONE, ".google.protobuf.Timestamp"),
        ("took", _MESSAGE, _ONE, ".google.protobuf.Duration"),
        ("mask", _MESSAGE, _ONE, ".google.protobuf.FieldMask"),
        ("struct", _MESSAGE, _ONE, ".google.protobuf.Struct"),
        ("inner", _MESSAGE, _ONE, ".n.Note"),
        ("nothing", _ENUM, _ONE, ".google.protobuf.NullValue"),
        ("count", _INT64, _ONE, None),
        ("color", _ENUM, _ONE, ".n.Color"),
    )
    for number, (name, kind, label, of) in enumerate(fields, 1):
        note.field.add(name=name, number=number, type=kind, label=label, type_name=of)
    entry = note.nested_type.add(name="NamedEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=8, label=_ONE)
    entry.field.add(
        name="value", number=2, type=_MESSAGE, label=_ONE, type_name=".google.protobuf.Any"
    )
    colors = file.enum_type.add(name="Color")
    colors.value.add(name="NONE", number=0)
    colors.value.add(name="RED", number=1)
    return ProtoFiles([file.SerializeToString()])


def decoded(**fields: Any) -> Any:
    message = files().message("n.Note")
    note = message._class(title="precious", weight=0.1, count=1 << 60, color=1)
    for name, value in fields.items():
        getattr(note, name).MergeFromString(value.SerializeToString())
    found: Any = message.decode(note.SerializeToString())
    for name, shown in {
        **{"title": "precious", "weight": 0.1, "count": str(1 << 60), "color": "RED"}
    }.items():
        assert found.pop(name) == shown
    json.dumps(found, allow_nan=False)
    return found


def test_an_any_of_an_unknown_type_is_its_url_and_bytes_wherever_it_is() -> None:
    assert decoded(any=OTHER) == {"any": SHOWN_OTHER}
    message = files().message("n.Note")
    note = message._class(inner=message._class(title="in"))
    note.inner.any.MergeFromString(OTHER.SerializeToString())
    note.more.add(type_url="type.googleapis.com/n.Note", value=b"\x0a\x01x")
    note.more.add().MergeFromString(OTHER.SerializeToString())
    note.named[True].MergeFromString(OTHER.SerializeToString())
    assert message.decode(note.SerializeToString()) == {
        "more": [{"@type": "type.googleapis.com/n.Note", "title": "x"}, SHOWN_OTHER],
        "named": {"true": SHOWN_OTHER},
        "inner": {"title": "in", "any": SHOWN_OTHER},
    }


def test_an_any_of_a_known_type_that_is_broken_or_holds_what_is() -> None:
    url = "type.googleapis.com/n.Note"
    broken = any_pb2.Any(type_url=url, value=b"\xff")
    assert decoded(any=broken) == {"any": {"type_url": url, "value": "/w=="}}
    assert decoded(any=any_pb2.Any(value=b"x")) == {"any": {"value": "eA=="}}
    late = any_pb2.Any()
    late.Pack(LATE)
    assert decoded(any=late) == {"any": {"@type": late.type_url, **SHOWN_LATE}}
    strange = any_pb2.Any()
    strange.Pack(struct_pb2.Value(number_value=float("nan")))
    assert decoded(any=strange) == {"any": {"@type": strange.type_url, "value": "NaN"}}


def test_times_out_of_their_range_and_masks_without_a_json_form() -> None:
    assert decoded(at=LATE) == {"at": SHOWN_LATE}
    assert decoded(took=duration_pb2.Duration(seconds=-(10**15))) == {
        "took": {"seconds": "-1000000000000000"}
    }
    mask = field_mask_pb2.FieldMask(paths=["a_B", "c"])
    assert decoded(mask=mask) == {"mask": {"paths": ["a_B", "c"]}}


def test_numbers_of_a_struct_that_json_lacks() -> None:
    struct = struct_pb2.Struct()
    struct.update({"a": [1, float("inf"), {"b": float("nan")}], "c": "x", "d": None})
    struct.fields["empty"].SetInParent()
    assert decoded(struct=struct) == {
        "struct": {"a": [1, "Infinity", {"b": "NaN"}], "c": "x", "d": None, "empty": None}
    }


def test_messages_that_lie_in_each_other_too_deeply() -> None:
    url = "type.googleapis.com/n.Note"
    message = files().message("n.Note")
    data = b""
    for _ in range(2_000):
        note = message._class()
        note.any.type_url, note.any.value = url, data
        data = note.SerializeToString()
    with pytest.raises(Undecodable, match="too deeply"):
        message.decode(data)
