from __future__ import annotations

from typing import Any

import pytest

from tests.unit.protocol.made_up import Definition, classes, field, made, source, written
from tests.unit.protocol.made_up import definition as define

POINT: Definition = {"fields": [field("X", "int8"), field("Y", "int8", "2+")]}


def test_neighbours_of_fixed_size_are_written_at_once() -> None:
    fields = field("A", "int8"), field("B", "int32"), field("C", "bool")
    assert "out += _biT.pack(self.a, self.b, self.c)\n" in source(define("Made", *fields))
    assert written(made(*fields)(-1, 256, True), 0) == "ff" + "00000100" + "01"


@pytest.mark.parametrize(
    ("version", "data"), [(0, "0103"), (1, "010203"), (2, "010203"), (3, "0103")]
)
def test_a_field_is_written_in_its_versions_only(version: int, data: str) -> None:
    cls = made(field("A", "int8"), field("B", "int8", "1-2"), field("C", "int8"))
    assert written(cls(1, 2, 3), version) == data


def test_a_version_without_fields_is_empty() -> None:
    cls = made(field("A", "int8", "2+"))
    assert (written(cls(1), 1), written(cls(1), 2)) == ("", "01")
    assert written(made()(), 0) == ""


VALUES: list[tuple[str, Any, str, str]] = [
    ("uint16", 65_535, "ffff", "ffff"),
    ("float64", 1.5, "3ff8" + "00" * 6, "3ff8" + "00" * 6),
    ("uuid", b"\x01" * 16, "01" * 16, "01" * 16),
    ("string", "ab", "00026162", "036162"),
    ("bytes", b"ab", "000000026162", "036162"),
    ("records", b"ab", "000000026162", "036162"),
    ("[]int16", [1, -1], "000000020001ffff", "030001ffff"),
    ("[]uuid", [bytes(16)], "00000001" + "00" * 16, "02" + "00" * 16),
    ("[]string", ["a", ""], "000000020001610000", "03026101"),
]


@pytest.mark.parametrize(("kind", "value", "classic", "flexible"), VALUES)
def test_each_type_in_either_encoding(kind: str, value: Any, classic: str, flexible: str) -> None:
    cls = made(field("A", kind), flexible="1+")
    assert written(cls(value), 0) == classic
    assert written(cls(value), 1) == flexible + "00"


def test_structs_write_the_version_of_their_message() -> None:
    point = field("A", "[]Point", **POINT)
    module = classes(define("Made", point, field("B", "Point"), flexible="3+"))
    value = module.Made([module.Point(1, 9)], module.Point(3, 9))
    assert written(value, 1) == "00000001" + "01" + "03"
    assert written(value, 3) == "02" + "010900" + "030900" + "00"


NULLS: list[tuple[Definition, str, str]] = [
    (field("A", "string", nullableVersions="0+"), "ffff", "00"),
    (field("A", "bytes", nullableVersions="0+"), "ffffffff", "00"),
    (field("A", "records", nullableVersions="0+"), "ffffffff", "00"),
    (field("A", "[]int8", nullableVersions="0+"), "ffffffff", "00"),
    (field("A", "Point", nullableVersions="0+", **POINT), "ff", "ff"),
]
NULL_IDS = [spec["type"] for spec, _, _ in NULLS]


@pytest.mark.parametrize(("spec", "classic", "flexible"), NULLS, ids=NULL_IDS)
def test_null(spec: Definition, classic: str, flexible: str) -> None:
    cls = made(spec, flexible="1+")
    assert written(cls(None), 0) == classic
    assert written(cls(None), 1) == flexible + "00"


def test_a_signed_byte_says_that_a_struct_is_there() -> None:
    module = classes(define("Made", field("A", "Point", nullableVersions="0+", **POINT)))
    assert written(module.Made(module.Point(5)), 0) == "01" + "05"


@pytest.mark.parametrize(
    "spec",
    [
        field("A", "string", "2+", nullableVersions="3+"),
        field("A", "[]int8", "2+", nullableVersions="3+"),
        field("A", "Point", "2+", nullableVersions="3+", **POINT),
    ],
    ids=lambda spec: spec["type"],
)
def test_null_in_an_encoding_that_knows_none_is_a_bug_of_ours(spec: Definition) -> None:
    cls = made(spec, flexible="3+")
    with pytest.raises(AssertionError):
        written(cls(None), 2)


TAGGED = (
    field("A", "int8"),
    field("Late", "string", None, taggedVersions="2+", tag=1, default="x"),
    field("Early", "int16", None, taggedVersions="1+", tag=0, default="-1"),
    field("Items", "[]int8", None, taggedVersions="2+", tag=2),
    field("Point", "Point", None, taggedVersions="2+", tag=3, **POINT),
    field("Maybe", "Point", None, taggedVersions="2+", tag=4, nullableVersions="2+"),
)


def test_tagged_fields_are_not_written_where_they_have_their_defaults() -> None:
    module = classes(define("Made", *TAGGED, flexible="1+"))
    assert written(module.Made(5), 0) == "05"
    assert written(module.Made(5), 3) == "0500"
    assert written(module.Made(5, point=module.Point(0, 0)), 3) == "0500"


def test_tagged_fields_are_written_in_rising_order_of_their_tags() -> None:
    module = classes(define("Made", *TAGGED, flexible="1+"))
    value = module.Made(5, "", 0x0102, [7], module.Point(1, 2), None)
    tags = ["00020102", "010101", "02020207", "0303010200", "040100"]
    assert written(value, 3) == "05" + "05" + "".join(tags)


def test_tagged_fields_of_later_versions_are_left_out() -> None:
    module = classes(define("Made", *TAGGED, flexible="1+"))
    value = module.Made(5, "", 0x0102, [7], module.Point(1, 2), None)
    assert written(value, 1) == "05" + "01" + "00020102"
    assert written(value, 0) == "05"


def test_a_nullable_tagged_array_is_left_out_of_earlier_versions() -> None:
    spec = field("A", "[]int8", None, taggedVersions="2+", tag=0, nullableVersions="2+")
    cls = made(spec, flexible="1+")
    assert [written(cls(value), 1) for value in ([], [7], None)] == ["00"] * 3
    assert [written(cls(value), 2) for value in ([], [7], None)] == ["00", "0100020207", "01000100"]


def test_a_field_may_stay_classic_in_a_flexible_version() -> None:
    cls = made(field("ClientId", "string", flexibleVersions="none"), flexible="0+")
    assert written(cls("a"), 0) == "000161" + "00"


def test_an_array_of_a_type_that_no_message_of_kafkas_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no writer for an array of bytes"):
        made(field("A", "[]bytes"))
