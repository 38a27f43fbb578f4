from __future__ import annotations

import pytest

from protocol.errors import ProtocolError
from tests.unit.protocol.made_up import Definition, field, made, read, source
from tests.unit.protocol.made_up import definition as define

POINT: Definition = {"fields": [field("X", "int8"), field("Y", "int8", "2+")]}


def refused(cls: type, data: str, version: int) -> bool:
    try:
        read(cls, data, version)
    except ProtocolError:
        return True
    return False


def test_neighbours_of_fixed_size_are_read_at_once() -> None:
    fields = field("A", "int8"), field("B", "int32"), field("C", "bool")
    assert "a, b, c = _biT.unpack_from(buf, pos)\n" in source(define("Made", *fields))
    found = read(made(*fields), "ff0000010001", 0)
    assert (found.a, found.b, found.c) == (-1, 256, True)


@pytest.mark.parametrize(
    ("version", "data", "b"), [(0, "0103", -1), (1, "010203", 2), (2, "010203", 2), (3, "0103", -1)]
)
def test_a_field_of_some_versions_has_its_default_in_the_others(
    version: int, data: str, b: int
) -> None:
    cls = made(field("A", "int8"), field("B", "int8", "1-2", default="-1"), field("C", "int8"))
    found = read(cls, data, version)
    assert (found.a, found.b, found.c) == (1, b, 3)


SCALARS: list[tuple[str, str, str, object]] = [
    ("uint16", "ffff", "ffff", 65_535),
    ("uint32", "ffffffff", "ffffffff", 2**32 - 1),
    ("int64", "ff" * 8, "ff" * 8, -1),
    ("float64", "3ff8" + "00" * 6, "3ff8" + "00" * 6, 1.5),
    ("uuid", "01" * 16, "01" * 16, b"\x01" * 16),
    ("string", "00026162", "036162", "ab"),
    ("bytes", "000000026162", "036162", b"ab"),
    ("records", "000000026162", "036162", b"ab"),
]


@pytest.mark.parametrize(("kind", "classic", "flexible", "value"), SCALARS)
def test_each_type_in_either_encoding(
    kind: str, classic: str, flexible: str, value: object
) -> None:
    cls = made(field("A", kind), flexible="1+")
    assert read(cls, classic, 0).a == value
    assert read(cls, flexible + "00", 1).a == value


ARRAYS: list[tuple[str, str, list[object]]] = [
    ("int16", "0001ffff", [1, -1]),
    ("bool", "0001", [False, True]),
    ("uuid", "00" * 16 + "ff" * 16, [bytes(16), b"\xff" * 16]),
]


@pytest.mark.parametrize(("kind", "items", "value"), ARRAYS)
def test_arrays_in_either_encoding(kind: str, items: str, value: list[object]) -> None:
    cls = made(field("A", f"[]{kind}"), field("B", "int8"), flexible="1+")
    for version, data in ((0, "00000002" + items + "05"), (1, "03" + items + "05" + "00")):
        found = read(cls, data, version)
        assert (found.a, found.b) == (value, 5)


def test_an_array_of_strings() -> None:
    cls = made(field("A", "[]string"), flexible="1+")
    assert read(cls, "00000002" + "000161" + "0000", 0).a == ["a", ""]
    assert read(cls, "03" + "0261" + "01" + "00", 1).a == ["a", ""]


def test_structs_read_the_version_of_their_message() -> None:
    cls = made(field("A", "[]Point", **POINT), field("B", "Point"), flexible="3+")
    found = read(cls, "00000002" + "01" + "02" + "03", 1)
    assert [(p.x, p.y) for p in (*found.a, found.b)] == [(1, 0), (2, 0), (3, 0)]
    found = read(cls, "02" + "010900" + "030900" + "00", 3)  # each ends with its tagged fields
    assert [(p.x, p.y) for p in (*found.a, found.b)] == [(1, 9), (3, 9)]


NULLS: list[tuple[Definition, str, str]] = [
    (field("A", "string", nullableVersions="2+"), "ffff", "00"),
    (field("A", "bytes", nullableVersions="2+"), "ffffffff", "00"),
    (field("A", "records", nullableVersions="2+"), "ffffffff", "00"),
    (field("A", "[]int8", nullableVersions="2+"), "ffffffff", "00"),
    (field("A", "[]Point", nullableVersions="2+", **POINT), "ffffffff", "00"),
]
NULL_IDS = [spec["type"] for spec, _, _ in NULLS]


@pytest.mark.parametrize(("spec", "classic", "flexible"), NULLS, ids=NULL_IDS)
def test_null_is_read_in_the_versions_that_know_it(
    spec: Definition, classic: str, flexible: str
) -> None:
    cls = made(spec, flexible="3+")
    assert refused(cls, classic, 1)
    assert read(cls, classic, 2).a is None
    assert read(cls, flexible + "00", 3).a is None
    never = made({**spec, "nullableVersions": "none"}, flexible="3+")
    assert refused(never, classic, 2)
    assert refused(never, flexible + "00", 3)


def test_a_signed_byte_says_whether_a_struct_is_there() -> None:
    cls = made(field("A", "Point", nullableVersions="0+", **POINT), field("B", "int8"))
    assert (read(cls, "ff07", 0).a, read(cls, "ff07", 0).b) == (None, 7)
    found = read(cls, "010507", 0)
    assert (found.a.x, found.b) == (5, 7)


def test_an_array_length_is_held_against_the_least_its_elements_take() -> None:
    assert refused(made(field("A", "[]int64")), "00000002" + "00" * 8, 0)
    assert refused(made(field("A", "[]Point", **POINT)), "7fffffff" + "00", 0)
    assert refused(made(field("A", "[]string"), flexible="0+"), "ffffffff07" + "00", 0)


TAGGED = (
    field("A", "int8"),
    field("B", "int16", None, taggedVersions="1+", tag=0, default="-1"),
    field("C", "string", None, taggedVersions="2+", tag=1, nullableVersions="2+", default="null"),
    field("D", "Point", None, taggedVersions="2+", tag=2, **POINT),
    field("E", "Point", None, taggedVersions="2+", tag=3, nullableVersions="2+", default="null"),
)


def test_tagged_fields_that_were_not_sent_have_their_defaults() -> None:
    cls = made(*TAGGED, flexible="1+")
    for found in (read(cls, "05", 0), read(cls, "0500", 3)):
        assert (found.a, found.b, found.c, found.d, found.e) == (5, -1, None, None, None)


def test_tagged_fields_are_read_by_their_tags() -> None:
    tags = "04" + "00020102" + "01020261" + "0203010200" + "030401030400"
    found = read(made(*TAGGED, flexible="1+"), "05" + tags, 2)
    assert (found.b, found.c) == (0x0102, "a")
    assert (found.d.x, found.d.y, found.e.x, found.e.y) == (1, 2, 3, 4)


def test_tagged_fields_of_later_versions_and_unknown_ones_are_passed_over() -> None:
    found = read(made(*TAGGED, flexible="1+"), "05" + "02" + "01020261" + "6401ff", 1)
    assert (found.a, found.b, found.c) == (5, -1, None)
    assert read(made(field("A", "int8"), flexible="0+"), "05" + "01" + "6401ff", 0).a == 5


@pytest.mark.parametrize("size", ["02", "03", "01", "ffffffff0f"])
def test_a_known_tagged_field_ends_where_its_value_does(size: str) -> None:
    """Kafka does not look at its size either."""
    cls = made(*TAGGED, flexible="1+")
    assert read(cls, "05" + "01" + "00" + size + "0102", 1).b == 0x0102


def test_the_last_of_a_tagged_field_given_twice_counts() -> None:
    cls = made(*TAGGED, flexible="1+")
    assert read(cls, "05" + "02" + "00020102" + "00020304", 1).b == 0x0304


def test_a_field_may_stay_classic_in_a_flexible_version() -> None:
    client_id = field("ClientId", "string", nullableVersions="0+", flexibleVersions="none")
    cls = made(client_id, field("A", "int8"), flexible="0+")
    found = read(cls, "000161" + "07" + "00", 0)
    assert (found.client_id, found.a) == ("a", 7)
    assert read(cls, "ffff" + "07" + "00", 0).client_id is None
