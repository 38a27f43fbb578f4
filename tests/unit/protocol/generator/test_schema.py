from __future__ import annotations

import pytest

from protocol.generator.schema import LAST_VERSION, Versions, parse_message, snake_case
from tests.unit.protocol.made_up import definition, field, parsed, parsed_field


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("0-3", 0, 3), ("2+", 2, LAST_VERSION), ("4", 4, 4), ("none", 1, 0), (None, 1, 0)],
)
def test_a_range_of_versions(text: str | None, low: int, high: int) -> None:
    versions = Versions.parse(text)
    assert (versions.low, versions.high) == (low, high)
    assert bool(versions) == (low <= high)


def test_ranges_intersect() -> None:
    assert Versions(0, 5) & Versions(3, 9) == Versions(3, 5)
    assert not Versions(0, 2) & Versions(3, 9)
    assert Versions(2, 4).covers(Versions(2, 4))
    assert Versions(0, 5).covers(Versions(1, 4))
    assert not Versions(1, 4).covers(Versions(0, 4))
    assert not Versions(1, 4).covers(Versions(1, 5))


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("TopicId", "topic_id"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("ISRNodes", "isr_nodes"),
        ("LeaderHWOffset", "leader_hw_offset"),
        ("Name", "name"),
    ],
)
def test_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


def test_a_message_and_its_field() -> None:
    message = parse_message(
        definition(
            "PingRequest",
            field("NodeIds", "[]int32", "1+", nullableVersions="2+", default="null"),
            valid="0-3",
            flexible="2+",
            type="request",
            apiKey=7,
        )
    )
    assert (message.name, message.kind, message.api_key) == ("PingRequest", "request", 7)
    assert (message.versions, message.flexible) == (Versions(0, 3), Versions(2, 3))
    (node_ids,) = message.structs[-1].fields
    assert (node_ids.attribute, node_ids.type, node_ids.is_array) == ("node_ids", "int32", True)
    assert (node_ids.versions, node_ids.nullable) == (Versions(1, 3), Versions(2, 3))
    assert (node_ids.default, node_ids.tag, bool(node_ids.tagged)) == ("null", None, False)


def test_a_message_that_is_never_flexible() -> None:
    assert not parsed(field("A", "int8"), flexible="none").flexible
    assert not parsed(field("A", "int8"), valid="0-3", flexible="4+").flexible


def test_a_tagged_field_that_says_no_versions_has_those_of_its_tag() -> None:
    spec = parsed_field(field("A", "int8", None, taggedVersions="2+", tag=5), flexible="1+")
    assert (spec.tag, spec.tagged, spec.versions) == (5, Versions(2, 3), Versions(2, 3))


def test_a_field_that_stays_classic_in_flexible_versions() -> None:
    assert parsed_field(field("ClientId", "string", flexibleVersions="none")).always_classic
    assert not parsed_field(field("ClientId", "string")).always_classic


def test_structs_come_before_the_ones_that_they_are_in() -> None:
    message = parsed(
        field("Topics", "[]Topic", fields=[field("Parts", "[]Part", fields=[field("P", "int8")])]),
        field("Node", "Node", fields=[field("Id", "int32")]),
    )
    assert [struct.name for struct in message.structs] == ["Part", "Topic", "Node", "Made"]
    topics, node = message.structs[-1].fields
    assert (topics.struct, topics.is_array) == (message.structs[1], True)
    assert (node.struct, node.is_array) == (message.structs[2], False)


def test_a_common_struct_is_one_struct_wherever_it_is_used() -> None:
    message = parsed(
        field("Source", "Cursor"),
        field("Target", "Cursor"),
        commonStructs=[{"name": "Cursor", "versions": "0+", "fields": [field("Offset", "int64")]}],
    )
    source, target = message.structs[-1].fields
    assert source.struct is target.struct
    assert [struct.name for struct in message.structs] == ["Cursor", "Made"]
