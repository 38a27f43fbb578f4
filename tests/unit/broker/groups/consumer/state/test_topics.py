"""One number for what the topics of a group look like."""

from __future__ import annotations

from broker.groups.consumer.state.topics import NO_TOPICS, ids_of, metadata_hash
from tests.unit.broker.groups.playbook import image_with

A, B = b"a" * 16, b"b" * 16
TOPICS = image_with(a=(A, 3), b=(B, 1)).topics


def test_the_hash_follows_what_a_group_is_assigned_by() -> None:
    both = metadata_hash(["a", "b"], TOPICS)
    assert both == metadata_hash(["b", "a"], TOPICS)
    assert both == metadata_hash(["b", "a", "missing"], TOPICS)
    others = (
        image_with(a=(A, 4), b=(B, 1)),
        image_with(a=(B, 3), b=(A, 1)),
        image_with(a=(A, 3)),
    )
    for image in others:
        assert metadata_hash(["a", "b"], image.topics) != both
    assert -(2**63) <= both < 2**63


def test_topics_that_do_not_exist_have_no_hash() -> None:
    assert metadata_hash(["missing"], TOPICS) == NO_TOPICS
    assert metadata_hash([], TOPICS) == NO_TOPICS


def test_ids_of_names() -> None:
    assert ids_of(["a", "missing", "a"], TOPICS) == {A}
