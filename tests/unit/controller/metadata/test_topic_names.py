"""`topic_names`. The words are compared with Kafka's in `test_controller_apis`."""

from __future__ import annotations

import pytest

from controller.metadata.topic_names import (
    can_collide,
    collision_index,
    is_internal,
    normalized,
    topic_name_fault,
)


@pytest.mark.parametrize("name", ["a", "A-Z_0.9", "...", "x" * 249, "__consumer_offsets"])
def test_legal(name: str) -> None:
    assert topic_name_fault(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "ä", "a/b", "a\n", "a\0", "日"])
def test_illegal(name: str) -> None:
    assert topic_name_fault(name) is not None


def test_collisions() -> None:
    assert not can_collide("foo")
    assert normalized("a.b_c") == normalized("a_b.c")
    assert collision_index(["foo", "a.b"]) == {"a_b": "a.b"}


def test_internal() -> None:
    assert is_internal("__consumer_offsets")
    assert is_internal("__transaction_state")
    assert not is_internal("foo")
