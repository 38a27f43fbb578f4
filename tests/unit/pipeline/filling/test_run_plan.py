"""From where to where a run reads its topic, what it skips, and in which batches."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.filling.run_plan import (
    RunPlan,
    led_by_others,
    next_batch,
    plan_run,
    refuse_cut_off,
)
from pipeline.sources import TopicState
from pipeline.tables.progress import Gap
from pipeline.topics import Offsets, Position

NOON_S = 1_796_126_400.0


def state(offsets: dict[int, Offsets], has_all: bool = True) -> TopicState:
    return TopicState("id", "A", offsets, has_all_partitions=has_all)


def planned(there: TopicState, reached: dict[int, int], skips_lost: bool = False) -> RunPlan:
    return plan_run("t", there, reached, skips_lost=skips_lost, now_s=NOON_S)


def test_it_goes_on_where_the_table_ends_and_begins_new_partitions() -> None:
    there = state({0: Offsets(0, 10), 1: Offsets(5, 8)})
    assert planned(there, {}) == RunPlan({0: 0, 1: 5}, {0: 10, 1: 8}, [])
    assert planned(there, {0: 7}) == RunPlan({0: 7, 1: 5}, {0: 10, 1: 8}, [])
    assert planned(there, {0: 7}).offsets == 6


def test_records_that_are_gone_are_named_with_the_option_that_goes_on() -> None:
    with pytest.raises(PipelineError, match="offsets 3 to 4 of t-0 were deleted .* --skip-lost"):
        planned(state({0: Offsets(5, 9)}), {0: 3})


def test_records_that_are_gone_become_gaps() -> None:
    there = state({0: Offsets(5, 9), 1: Offsets(7, 7), 2: Offsets(2, 4)})
    gaps = [Gap(0, 3, 5, "2026-12-01T12:00:00Z"), Gap(1, 0, 7, "2026-12-01T12:00:00Z")]
    reached = {0: 3, 1: 0, 2: 2}
    wanted = RunPlan({0: 5, 1: 7, 2: 2}, {0: 9, 1: 7, 2: 4}, gaps)
    assert planned(there, reached, skips_lost=True) == wanted
    assert planned(there, {0: 5, 1: 7}, skips_lost=True).gaps == []


def test_a_topic_that_was_made_again_is_noticed_without_an_id() -> None:
    for skips in (False, True):
        with pytest.raises(PipelineError, match="up to offset 12, the topic ends at 9: it was del"):
            planned(state({0: Offsets(0, 9)}), {0: 12}, skips)
    fewer = {0: Offsets(0, 40)}
    with pytest.raises(
        PipelineError, match=r"of t that the topic has not \(1, 2\): it was deleted"
    ):
        planned(state(fewer), {0: 30, 2: 30, 1: 30})
    of_a_folder = planned(state(fewer, has_all=False), {0: 30, 1: 30})
    assert (of_a_folder.starts, of_a_folder.ends) == ({0: 30}, {0: 40}), "which may hold a few"


def test_a_batch_takes_its_share_of_each_partition() -> None:
    starts, ends = {0: 0, 1: 50, 2: 7}, {0: 300, 1: 150, 2: 7}
    assert next_batch(starts, ends, 400) == {0: 300, 1: 150}, "nothing is new in partition 2"
    assert next_batch(starts, ends, 40) == {0: 30, 1: 60}
    batches = 0
    while starts != ends:
        starts |= next_batch(starts, ends, 1)
        batches += 1
        assert batches <= 300
    assert batches == 300, "one offset of each at least"


def test_the_log_is_looked_at_where_another_leader_has_come() -> None:
    there = state(
        {
            0: replace(Offsets(0, 10), leader_epoch=4),
            1: replace(Offsets(0, 10), leader_epoch=5),
            2: Offsets(0, 10),
            3: replace(Offsets(6, 10), leader_epoch=5),
            4: replace(Offsets(0, 10), leader_epoch=5),
        }
    )
    reached = {0: 10, 1: 10, 2: 10, 3: 5, 4: 10, 9: 1}
    epochs = {0: 4, 1: 4, 2: 4, 3: 4, 9: 4}
    assert led_by_others(there, reached, epochs) == {1: Position(10, 4)}
    refuse_cut_off("t", reached, [])
    with pytest.raises(
        PipelineError, match=r"lost its newest .* t-1 \(loaded to offset 10\); name"
    ):
        refuse_cut_off("t", reached, [1])
