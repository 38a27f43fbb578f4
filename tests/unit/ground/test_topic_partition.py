"""Folder names."""

from __future__ import annotations

import pytest

from ground.topic_partition import (
    DELETE_DIR_SUFFIX,
    STRAY_DIR_SUFFIX,
    TopicPartition,
    is_set_aside,
    parse_directory,
    set_aside_name,
    set_aside_partition,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("topic-0", ("topic", 0)),
        ("my-topic.x_y-12", ("my-topic.x_y", 12)),
        ("__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("topic", None),
        ("-0", None),
        ("topic-", None),
        ("topic-x", None),
        ("topic-01", None),
        ("topic-0.abc-delete", None),
        ("topic-0.abc-future", None),
        ("lost+found", None),
    ],
)
def test_names_of_live_folders(name: str, expected: tuple[str, int] | None) -> None:
    assert parse_directory(name) == expected


def test_a_partition_is_its_pair_and_prints_as_its_folder() -> None:
    partition = TopicPartition("a-b", 3)
    assert partition == ("a-b", 3)
    assert str(partition) == "a-b-3"


def test_a_folder_set_aside_is_known_by_its_name() -> None:
    name = set_aside_name(TopicPartition("a-b", 3), "0123" * 8, DELETE_DIR_SUFFIX)
    assert name == f"a-b-3.{'0123' * 8}-delete"
    assert set_aside_partition(name) == ("a-b", 3)
    assert [set_aside_partition(live) for live in ("a-b-3", "a-1.b-0")] == [None, None]
    assert is_set_aside(name, DELETE_DIR_SUFFIX)
    assert not is_set_aside(name, STRAY_DIR_SUFFIX)
    assert not is_set_aside("a-delete", DELETE_DIR_SUFFIX)
    assert not is_set_aside("topic-0", DELETE_DIR_SUFFIX)
    assert not is_set_aside("topic-0.before-delete", DELETE_DIR_SUFFIX)  # a person's copy


def test_a_long_topic_is_cut_so_that_the_name_stays_legal() -> None:
    name = set_aside_name(TopicPartition("t" * 249, 10), "f" * 32, DELETE_DIR_SUFFIX)
    assert len(name) == 255
    assert is_set_aside(name, DELETE_DIR_SUFFIX)
