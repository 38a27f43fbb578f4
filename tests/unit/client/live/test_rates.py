"""Rates between two looks."""

from __future__ import annotations

from dataclasses import replace

from client.live.rates import GroupRate, Sample, TopicRate, group_rates, screen, topic_rates

BEFORE = Sample(
    10.0,
    {("a", 0): 0, ("a", 1): 0, ("b", 0): 5},
    {("a", 0): 100, ("a", 1): 50, ("b", 0): 10},
    {("a", 0): 1000, ("a", 1): 500, ("b", 0): 900},
    {"g": {("a", 0): 90, ("a", 1): 50}, "h": {("b", 0): 10}, "gone": {("z", 0): 1}},
)
NOW = Sample(
    12.0,
    {("a", 0): 0, ("a", 1): 0, ("b", 0): 8, ("c", 0): 0},
    {("a", 0): 300, ("a", 1): 60, ("b", 0): 10, ("c", 0): 4},
    {("a", 0): 3000, ("a", 1): 600, ("b", 0): 300, ("c", 0): 40},
    {
        "g": {("a", 0): 100, ("a", 1): 60},
        "h": {("b", 0): 10},
        "gone": {("z", 0): 1},
        "new": {("c", 0): 1},
    },
)


def test_topics_by_what_comes() -> None:
    assert topic_rates(BEFORE, NOW) == [
        TopicRate("a", 105.0, 1050.0, 2, 360, 3600),
        TopicRate("b", 0.0, 0.0, 1, 2, 300),  # retention took some of it
        TopicRate("c", None, None, 1, 4, 40),
    ]


def test_groups_by_how_far_they_are_behind() -> None:
    assert group_rates(BEFORE, NOW) == [
        GroupRate("g", 200, 95.0, 10.0),
        GroupRate("new", 3, None, None),
        GroupRate("gone", None, None, 0.0, 1),
        GroupRate("h", 0, 0.0, 0.0),
    ]


def test_partitions_without_a_commit_are_no_part_of_the_lag() -> None:
    (rate,) = group_rates(BEFORE, replace(NOW, committed={"g": {("a", 0): 100}}))
    assert (rate.lag, rate.change_per_s, rate.uncommitted) == (200, 95.0, (1, 60))


def test_sizes_that_may_not_be_seen_are_not_shown_as_nothing() -> None:
    before, now = replace(BEFORE, sizes={}), replace(NOW, sizes={})
    (found, *_) = topic_rates(before, now)
    assert found == TopicRate("a", 105.0, None, 2, 360, None)
    heading, _, row = screen([found], [], 40)
    assert heading == "105 records/s written to 1 topic, 0 groups"
    assert row.split() == ["a", "105", "-", "2", "360", "-"]


def test_a_partition_whose_end_is_not_known_changes_no_rate() -> None:
    with_leader = Sample(10.0, {}, {("a", 0): 100, ("a", 1): 70}, {}, BEFORE.committed)
    without = Sample(12.0, {}, {("a", 0): 300}, {}, NOW.committed)
    ahead, *_ = group_rates(with_leader, without)
    assert ahead == GroupRate("g", 200, 95.0, 10.0, 1)
    row = screen([], [ahead], 40)[-1]
    assert row.startswith("g      at least 200  +95")


def test_one_screen() -> None:
    lines = screen(topic_rates(BEFORE, NOW), group_rates(BEFORE, NOW), 40)
    assert lines == [
        "105 records/s, 1.1 kB/s written to 3 topics, 4 groups",
        "TOPIC  RECORDS/S  BYTES/S  PARTITIONS  RECORDS  BYTES",
        "a      105        1.1 kB   2           360      3.6 kB",
        "b      0          0 B      1           2        300 B",
        "c      -          -        1           4        40 B",
        "",
        "GROUP  LAG  CHANGE/S  READ/S",
        "g      200  +95       10",
        "new    3    -         -",
        "gone   -    -         0",
        "h      0    0         0",
    ]


def test_a_screen_is_not_overrun() -> None:
    topics = [TopicRate(f"t{one}", 1.0, 1.0, 1, 1, 1) for one in range(50)]  # type: ignore[arg-type]
    groups = [GroupRate(f"g{one}", 1, 0.0, 0.0) for one in range(50)]
    for height in (1, 6, 24):
        assert len(screen(topics, groups, height)) <= height
    lines = screen(topics, groups[:2], 24)
    assert sum(line.startswith("t") for line in lines) == 18
    assert sum(line.startswith("g") for line in lines) == 2
    assert screen([], [], 10)[0] == "0 records/s, 0 B/s written to 0 topics, 0 groups"
