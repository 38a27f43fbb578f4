"""When the expressions of a group are looked up, and what follows."""

from __future__ import annotations

from typing import cast

from broker.groups.consumer.expressions import resolved_records
from broker.groups.consumer.state.member import Subscription
from broker.groups.consumer.state.records import member_record
from tests.unit.broker.groups.consumer.stage import Stage, T, U, beat, joining, slices
from tests.unit.broker.groups.consumer.surroundings import PythonExpressions
from tests.unit.broker.groups.playbook import image_with

V = bytes([3]) * 16


def lookup(stage: Stage) -> PythonExpressions:
    return cast(PythonExpressions, stage.surroundings.lookup)


def by(stage: Stage, member_id: str, expression: str) -> int:
    answer = stage.tell(
        joining(member_id, subscribed_topic_names=None, subscribed_topic_regex=expression)
    )
    return answer.error_code or answer.member_epoch


def test_an_expression_is_looked_up_beside_the_heartbeat() -> None:
    stage = Stage()
    assert by(stage, "m", "t|v") == 1
    assert [[key[1] for key, _ in batch] for batch in stage.batches] == [[5, 8], [16, 3]]
    assert stage.group.topics_of("t|v") == ("t",)
    assert stage.tell(beat("m", 1)).member_epoch == 2


def test_one_that_matches_nothing_is_no_new_epoch() -> None:
    stage = Stage()
    by(stage, "m", "zz")
    assert [[key[1] for key, _ in batch] for batch in stage.batches] == [[5, 8], [16]]
    assert stage.group.epoch == 1


def test_one_that_is_none_changes_nothing() -> None:
    stage = Stage()
    assert by(stage, "m", "(") == 128
    assert stage.groups == {}


def test_one_that_is_known_counts_at_once() -> None:
    stage = Stage()
    by(stage, "m", "t")
    assert by(stage, "n", "t") == 3
    assert stage.group.epoch == 3


def test_only_one_look_up_at_a_time() -> None:
    stage = Stage()
    lookup(stage).held = []
    by(stage, "m", "t")
    stage.tell(beat("m", 1))
    held = lookup(stage).held
    assert held is not None and len(held) == 1
    held.pop()()
    assert stage.group.topics_of("t") == ("t",)


def test_what_nobody_subscribes_by_any_more_is_not_written() -> None:
    stage = Stage()
    lookup(stage).held = []
    by(stage, "m", "t")
    stage.tell(beat("m", 1, subscribed_topic_regex=""))
    held = lookup(stage).held
    assert held is not None
    before = len(stage.batches)
    held.pop()()
    assert len(stage.batches) == before
    stage.groups.clear()
    by(stage, "m", "t")
    held.pop()()


def test_topics_that_come_are_found_ten_seconds_after_the_last_look_up() -> None:
    stage = Stage()
    by(stage, "m", "t|v")
    stage.tell(beat("m", 1))
    stage.image = image_with(t=(T, 4), u=(U, 2), v=(V, 1))
    stage.wait(10_000)
    stage.tell(beat("m", 2))
    assert stage.group.topics_of("t|v") == ("t",)
    stage.wait(1)
    stage.tell(beat("m", 2))
    assert stage.group.topics_of("t|v") == ("t", "v")
    told = stage.tell(beat("m", 2))
    assert told.member_epoch == 3
    assert [topic.topic_id for topic in told.assignment.topic_partitions] == [T, V]


def test_other_metadata_with_the_same_names_is_no_reason() -> None:
    stage = Stage()
    by(stage, "m", "t")
    stage.image = image_with(t=(T, 5), u=(U, 2))
    stage.wait(11_000)
    before = stage.group.regexes["t"].looked_up_ms
    stage.tell(beat("m", 1))
    assert stage.group.regexes["t"].looked_up_ms == before


def test_all_is_looked_up_anew_after_the_refresh_interval() -> None:
    stage = Stage(group_consumer_regex_refresh_interval_ms=20_000)
    by(stage, "m", "t")
    stage.tell(beat("m", 1))
    before = stage.group.regexes["t"].looked_up_ms
    stage.wait(20_001)
    stage.tell(beat("m", 2))
    assert stage.group.regexes["t"].looked_up_ms == before + 20_001
    assert stage.group.epoch == 2


def test_after_a_restart_topics_are_looked_up_again() -> None:
    stage = Stage()
    by(stage, "m", "t")
    stage.protocol.forget_group("g")
    stage.wait(10_001)
    before = len(stage.batches)
    stage.tell(beat("m", 1))
    kinds = [[key[1] for key, _ in batch] for batch in stage.batches[before:]]
    assert kinds[-1] == [16]


def test_a_member_finds_what_it_may_describe() -> None:
    """Whoever is heard when a look-up is due decides for all of the expression's members."""
    stage = Stage()
    of_t = {"rebalance_timeout_ms": 30_000, "subscribed_topic_regex": ".*"}
    joins = beat("m", 0, {}, **of_t)._replace(may_describe=lambda names: {"t"} & {*names})
    stage.tell(joins)
    assert stage.group.topics_of(".*") == ("t",)
    stage.tell(beat("n", 0, {}, **of_t))
    assert stage.group.topics_of(".*") == ("t",)
    stage.image = image_with(t=(T, 4), u=(U, 2), v=(V, 1))
    stage.wait(10_001)
    stage.tell(beat("n", 0, {}, **of_t))
    assert stage.group.topics_of(".*") == ("t", "u", "v")


def test_what_many_expressions_give_is_written_in_slices() -> None:
    stage = Stage()
    found = {f"x{number}": ["t"] * 10_000 for number in range(10)}
    for number, expression in enumerate(found):
        stage.replay([member_record("g", f"m{number}", Subscription(regex=expression))])
    steps = resolved_records(stage.group, found, stage.image.topics, 1, 0)
    count, records = slices(steps)
    assert len(records) == 11
    assert count == 10
