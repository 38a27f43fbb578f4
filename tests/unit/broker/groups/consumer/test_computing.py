"""Targets that take longer than one turn of the loop."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker.groups.consumer.assignors.assignors import AssignmentCallback, Assignors
from tests.unit.broker.groups.consumer.stage import Stage, beat, joining


class Slow:
    """An assignor that is done when a test says so."""

    name = "slow"

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, AssignmentCallback]] = []

    def begin(self, members: Any, topics: Any, done: AssignmentCallback) -> list[Any]:
        self.waiting.append((members, done))
        return []

    def finish(self) -> None:
        """All of the first topic to each first member."""
        members, done = self.waiting.pop(0)
        first = next(iter(members))
        (topic_id,) = members[first].topic_ids
        done({first: {topic_id: (0, 1, 2, 3)}}, None)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def stage(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> Stage:
    from tests.unit.broker.groups.consumer import stage as module

    made = module.surroundings
    monkeypatch.setattr(
        module,
        "surroundings",
        lambda *args: made(*args)._replace(assignors=Assignors([slow])),
    )
    return Stage()


def test_a_group_goes_on_without_until_it_is_there(stage: Stage, slow: Slow) -> None:
    assert stage.tell(joining("m", "t")).member_epoch == 1
    assert stage.group.state.value == "Assigning"
    assert stage.tell(beat("m", 1)).member_epoch == 1
    assert len(slow.waiting) == 1
    slow.finish()
    assert stage.group.assignment_epoch == 2
    assert [key[1] for key, _ in stage.batches[-1]] == [7, 6]
    told = stage.tell(beat("m", 1))
    assert told.member_epoch == 2
    assert told.assignment is not None and len(told.assignment.topic_partitions) == 1


def test_what_was_asked_for_counts_though_the_group_went_on(stage: Stage, slow: Slow) -> None:
    stage.tell(joining("m", "t"))
    stage.tell(joining("n", "t"))
    slow.finish()
    assert (stage.group.epoch, stage.group.assignment_epoch) == (3, 2)
    stage.tell(beat("m", 1))
    assert len(slow.waiting) == 1
    slow.finish()
    assert stage.group.assignment_epoch == 3


def test_a_target_for_who_left_is_not_written(stage: Stage, slow: Slow) -> None:
    stage.tell(joining("m", "t"))
    stage.tell(joining("n", "t"))
    stage.tell(beat("m", -1))
    slow.finish()
    assert list(stage.group.targets) == ["n"]


def test_a_group_that_is_gone_gets_none(stage: Stage, slow: Slow) -> None:
    stage.tell(joining("m", "t"))
    stage.groups.clear()
    slow.finish()
    assert len(stage.batches) == 1


def test_an_assignor_that_fails_is_asked_again(
    stage: Stage, slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    stage.tell(joining("m", "t"))
    with caplog.at_level(logging.ERROR):
        slow.waiting.pop()[1](None, ValueError("no"))
    assert "group g: slow assigns nothing: no" in caplog.text
    stage.tell(beat("m", 1))
    slow.finish()
    assert stage.group.assignment_epoch == 2


def test_a_failure_is_told_once_until_it_succeeds(
    stage: Stage, slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(error: Exception) -> int:
        caplog.clear()
        stage.tell(beat("m", stage.group.members["m"].position.epoch))
        slow.waiting.pop()[1](None, error)
        return len(caplog.records)

    stage.tell(joining("m", "t"))
    slow.waiting.pop()[1](None, ValueError("no"))
    assert [fails(ValueError("no")), fails(TypeError("no")), fails(TypeError("other"))] == [0, 1, 0]
    stage.tell(beat("m", 1))
    slow.finish()
    stage.tell(joining("n", "t"))
    slow.waiting.pop()[1](None, ValueError("no"))
    assert fails(ValueError("no")) == 0
    assert caplog.text == ""
    stage.protocol.forget_group("g")
    assert fails(ValueError("no")) == 1
