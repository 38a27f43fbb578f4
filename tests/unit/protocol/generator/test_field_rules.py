from __future__ import annotations

import pytest

from protocol.generator.field_rules import (
    Lines,
    attribute,
    is_fixed,
    least_size,
    least_struct_size,
    local,
    reader,
    runs,
    scalar_default,
    version_condition,
)
from protocol.generator.schema import Versions
from tests.unit.protocol.made_up import field, parsed, parsed_field

ALL = Versions(0, 3)


def test_lines_are_indented_by_blocks() -> None:
    lines = Lines()
    with lines.block("if a:"):
        with lines.block("if b:"):
            lines.add("c")
        lines.add("")
        lines.add("d")
    lines.add("e")
    assert lines.lines == ["if a:", "    if b:", "        c", "", "    d", "e"]


@pytest.mark.parametrize(
    ("versions", "condition"),
    [
        ((0, 3), None),
        ((0, 9), None),
        ((2, 2), "version == 2"),
        ((0, 1), "version <= 1"),
        ((2, 3), "version >= 2"),
        ((1, 2), "1 <= version <= 2"),
    ],
)
def test_a_version_is_tested_only_where_it_has_to_be(
    versions: tuple[int, int], condition: str | None
) -> None:
    assert version_condition(Versions(*versions), ALL) == condition


@pytest.mark.parametrize(
    ("name", "in_class", "in_read"),
    [
        ("TopicId", "topic_id", "topic_id"),
        ("Class", "class_", "class_"),
        ("Version", "version", "version_"),
    ],
)
def test_names_hide_neither_keywords_nor_variables_of_read(
    name: str, in_class: str, in_read: str
) -> None:
    spec = parsed_field(field(name, "int8"))
    assert (attribute(spec), local(spec)) == (in_class, in_read)


def test_readers_have_the_names_of_primitives() -> None:
    spec = parsed_field(field("A", "string"))
    assert reader(spec, nullable=False, compact=False) == "read_string"
    assert reader(spec, nullable=True, compact=True) == "read_compact_nullable_string"


def test_only_scalars_are_of_fixed_size() -> None:
    assert is_fixed(parsed_field(field("A", "uuid")))
    assert not is_fixed(parsed_field(field("A", "[]uuid")))
    assert not is_fixed(parsed_field(field("A", "string")))


@pytest.mark.parametrize(
    ("kind", "classic", "flexible"),
    [("int64", 8, 8), ("uuid", 16, 16), ("string", 2, 1), ("bytes", 4, 1), ("bool", 1, 1)],
)
def test_the_least_that_an_element_takes(kind: str, classic: int, flexible: int) -> None:
    spec = parsed_field(field("A", f"[]{kind}"))
    assert least_size(spec, ALL, flexible=False) == classic
    assert least_size(spec, ALL, flexible=True) == flexible


def test_the_least_that_a_struct_takes() -> None:
    inner = [field("Name", "string"), field("Ids", "[]int32")]
    (_, struct) = parsed(
        field("Id", "uuid"),
        field("Later", "int64", "2+"),  # not in every version: it may be missing
        field("Tagged", "int64", None, taggedVersions="1+", tag=0),
        field("Inner", "Inner", fields=inner),
        field("Maybe", "Inner", nullableVersions="0+"),
        flexible="1+",
    ).structs
    assert least_struct_size(struct, Versions(0, 0), flexible=False) == 16 + (2 + 4) + 1
    # One byte more for the tagged fields of each of the two structs.
    assert least_struct_size(struct, Versions(1, 3), flexible=True) == 16 + (1 + 1 + 1) + 1 + 1


def test_an_empty_struct_counts_as_one_byte_in_an_array() -> None:
    empty = parsed_field(field("A", "[]Empty", fields=[field("Later", "int8", "2+")]))
    assert least_size(empty, ALL, flexible=False) == 1


def test_neighbours_of_fixed_size_and_equal_versions_go_together() -> None:
    (struct,) = parsed(
        field("A", "int8"),
        field("B", "int64"),
        field("C", "int8", "1+"),
        field("D", "string"),
        field("E", "int8"),
        field("F", "int8", None, taggedVersions="1+", tag=0),
        field("G", "bool"),
        field("H", "[]int8"),
        flexible="1+",
    ).structs
    found = [(versions, "".join(f.name for f in run)) for versions, run in runs(struct, ALL)]
    assert found == [(ALL, "AB"), (Versions(1, 3), "C"), (ALL, "D"), (ALL, "EG"), (ALL, "H")]


@pytest.mark.parametrize(
    ("kind", "default", "python"),
    [
        ("int32", None, "0"),
        ("int32", "-1", "-1"),
        ("int32", -1, "-1"),
        ("int32", "0x7fffffff", "2147483647"),
        ("bool", None, "False"),
        ("bool", "true", "True"),
        ("bool", True, "True"),
        ("bool", "false", "False"),
        ("float64", None, "0.0"),
        ("string", None, '""'),
        ("string", "all", '"all"'),
        ("bytes", None, 'b""'),
        ("uuid", None, "p.ZERO_UUID"),
    ],
)
def test_defaults(kind: str, default: object, python: str) -> None:
    assert scalar_default(parsed_field(field("A", kind, default=default))) == python
