"""The last hour of lag: what is kept, and since when a group does not keep up."""

from __future__ import annotations

from collections.abc import Sequence

from client.core.leaders import Partition
from client.groups.uncommitted import Uncommitted
from console.groups.lag_history import (
    GRACE,
    GROUPS_MAX,
    PARTITIONS_MAX,
    POINTS_MAX,
    SERIES_MAX,
    Behind,
    LagHistory,
)

AT = ("t", 0)
STEP_MS = 10_000


def history_of(committed: Sequence[int], ends: Sequence[int], at: Partition = AT) -> LagHistory:
    """A look each ten seconds, the first at 0."""
    history = LagHistory()
    for number, (offset, end) in enumerate(zip(committed, ends, strict=True)):
        history.add(number * STEP_MS, {"g": {at: offset}}, {at: end})
    return history


def behind_of(committed: Sequence[int], ends: Sequence[int]) -> Behind:
    return history_of(committed, ends).behind("g")[AT]


def test_a_busy_group_that_reads_what_comes_keeps_up() -> None:
    ends = [100 * one for one in range(1, 11)]
    committed = [end - 50 for end in ends]
    found = behind_of(committed, ends)
    assert (found.lag, found.since_ms, found.from_start) == (50, None, False)


def test_one_that_stopped_is_behind_since_it_had_read_everything() -> None:
    ends = [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]
    committed = [100, 200, 300, 300, 300, 300, 300, 300, 300, 300]
    found = behind_of(committed, ends)
    assert found == Behind(700, 2 * STEP_MS, False, 2 * STEP_MS, 3 * STEP_MS)


def test_one_that_is_too_slow_is_behind_though_it_moves() -> None:
    ends = [100 * one for one in range(1, 21)]
    committed = [100, 200, *(200 + 10 * one for one in range(1, 19))]
    found = behind_of(committed, ends)
    assert found.since_ms == STEP_MS
    assert found.unmoved_since_ms == 19 * STEP_MS
    assert not found.from_start


def test_one_that_was_late_when_it_was_first_seen() -> None:
    found = behind_of([10] * 6, [100] * 6)
    assert found == Behind(90, 0, True, 0, None)


def test_a_group_is_not_judged_by_its_first_looks() -> None:
    found = behind_of([10] * GRACE, [100] * GRACE)
    assert (found.since_ms, found.from_start) == (None, True)


def test_one_that_has_caught_up_is_late_no_more() -> None:
    found = behind_of([0, 0, 0, 0, 0, 50, 90], [10, 20, 30, 40, 50, 60, 90])
    assert found == Behind(0, None, False, 6 * STEP_MS, None)


def test_a_partition_without_a_leader_is_not_known_meanwhile() -> None:
    history = LagHistory()
    for number, ends in enumerate([{AT: 5}, {}, {AT: 9}]):
        history.add(number, {"g": {AT: 5}}, ends)
    assert history.history("g").partitions == {AT: [0, None, 4]}
    assert history.history("g").total == [0, None, 4]


def test_an_hour_is_kept() -> None:
    count = POINTS_MAX + 40
    history = history_of(list(range(count)), [one + 1 for one in range(count)])
    found = history.history("g")
    assert len(found.times_ms) == len(found.total) == len(found.partitions[AT]) == POINTS_MAX
    assert found.times_ms[0] == 40 * STEP_MS
    assert history.spark("g", 60) == [1] * 60


def test_a_partition_that_came_later_has_no_line_before() -> None:
    history = LagHistory()
    other = ("t", 1)
    history.add(0, {"g": {AT: 1}}, {AT: 1})
    history.add(1, {"g": {AT: 1, other: 2}}, {AT: 1, other: 5})
    assert history.history("g").partitions[other] == [None, 3]
    assert history.history("g", [other, ("gone", 0)]).partitions == {other: [None, 3]}


def test_the_line_of_a_group_begins_when_all_its_partitions_have_a_commit() -> None:
    """A new group reads 30 records a sample; each first commit would add a step to its sum."""
    history = LagHistory()
    places = [("t", index) for index in range(3)]
    for number in range(6):
        committed = dict.fromkeys(places[: number + 1], 30 * number)
        history.add(number, {"g": committed}, dict.fromkeys(places, 200))
    assert history.history("g").total == [None, None, 420, 330, 240, 150]
    assert history.history("g").partitions[places[0]][0] == 200
    assert history.spark("g", 60) == [None, None, 420, 330, 240, 150]


def test_the_line_goes_on_after_a_partition_lost_its_commit() -> None:
    history = LagHistory()
    history.add(0, {"g": {AT: 1, ("t", 1): 1}}, {AT: 5, ("t", 1): 5})
    history.add(1, {"g": {AT: 1}}, {AT: 5}, {"g": Uncommitted(1, 4)})
    assert history.history("g").total == [8, 4]
    assert history.uncommitted("g") == (1, 4)
    assert history.uncommitted("unknown") == (0, 0)


def test_a_group_that_is_gone_is_forgotten() -> None:
    history = history_of([1], [1])
    history.add(STEP_MS, {}, {})
    assert history.groups == []
    assert history.lag("g").records is None
    assert history.worst("g") is None
    assert history.spark("g", 60) == []


def test_of_many_partitions_those_with_most_lag_are_kept() -> None:
    history = LagHistory()
    many = {("t", index): 0 for index in range(PARTITIONS_MAX + 50)}
    history.add(0, {"g": many}, {at: at[1] for at in many})
    kept = [index for _, index in history.history("g").partitions]
    assert min(kept) == 50
    assert len(kept) == PARTITIONS_MAX
    assert history.lag("g") == (sum(range(PARTITIONS_MAX + 50)), 0)


def test_many_groups_share_the_room() -> None:
    history = LagHistory()
    committed = {f"g{index:05}": {("t", one): 0 for one in range(20)} for index in range(3000)}
    history.add(0, committed, {("t", one): one for one in range(20)})
    assert len(history.groups) == GROUPS_MAX
    series = sum(len(history.history(name).partitions) for name in history.groups)
    assert series <= SERIES_MAX


def test_the_partition_that_is_behind_for_longest_stands_for_its_group() -> None:
    history = LagHistory()
    other = ("t", 1)
    for number in range(12):
        ends = {AT: 10 * number, other: 10 * number}
        committed = {AT: min(10 * number, 50), other: min(10 * number, 20)}
        history.add(number * STEP_MS, {"g": committed}, ends)
    worst = history.worst("g")
    assert worst is not None
    assert worst.since_ms == 2 * STEP_MS
