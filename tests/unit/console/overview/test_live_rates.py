"""What went on is told by two looks that are near each other, and not all of it."""

from __future__ import annotations

from client.live.rates import Sample
from console.overview.live_rates import BUSIEST, POINTS_MAX, STALE_S, LiveRates
from tests.unit.console.one_console import plain


def sample(at: float, end: int, topics: int = 1) -> Sample:
    places = [(f"t{one}", 0) for one in range(topics)] + [("__own", 0)]
    return Sample(
        at,
        dict.fromkeys(places, 0),
        dict.fromkeys(places, end),
        dict.fromkeys(places, end * 100),
        {"g": {("t0", 0): 1}},
    )


def test_the_first_look_has_no_rates() -> None:
    rates = LiveRates()
    assert plain(rates.shown())["at"] is None
    rates.add(sample(5.0, 10), 1000.0, {"__own"})
    shown = plain(rates.shown())
    assert (shown["records_per_s"], shown["records"], shown["bytes"]) == (None, 10, 1000)
    assert shown["topics"][0]["records_per_s"] is None
    assert shown["points"] == {"at": [1000.0], "records": [None], "bytes": [None]}


def test_the_second_has_and_leaves_the_cluster_s_own_topics_out() -> None:
    rates = LiveRates()
    rates.add(sample(5.0, 10), 1000.0, {"__own"})
    rates.add(sample(7.0, 30), 1002.0, {"__own"})
    shown = plain(rates.shown())
    assert (shown["records_per_s"], shown["bytes_per_s"]) == (10.0, 1000.0)
    assert [one["topic"] for one in shown["topics"]] == ["t0"]
    assert shown["topics"][0]["spark"] == [None, 10.0]
    (of_group,) = shown["groups"]
    assert (of_group["lag"], of_group["partitions_without_lag"]) == (29, 0)
    assert (of_group["change_per_s"], of_group["read_per_s"]) == (10.0, 0.0)
    assert [one.topic for one in rates.topics] == ["__own", "t0"]


def test_what_came_while_nobody_looked_is_no_rate_of_now() -> None:
    rates = LiveRates()
    rates.add(sample(5.0, 10), 1000.0, ())
    rates.add(sample(6.0 + STALE_S, 1_000_000), 1031.0, ())
    assert plain(rates.shown())["records_per_s"] is None
    assert plain(rates.shown())["points"]["records"] == [None, None]


def test_the_history_has_an_end() -> None:
    rates = LiveRates()
    for moment in range(POINTS_MAX + 9):
        rates.add(sample(float(moment), moment, topics=20), float(moment), {"__own"})
    shown = plain(rates.shown())
    assert len(shown["points"]["at"]) == POINTS_MAX
    assert shown["points"]["at"][-1] == POINTS_MAX + 8
    assert len(shown["topics"]) == BUSIEST
    assert len(shown["topics"][0]["spark"]) == 60


def test_charts_cover_the_last_ten_minutes() -> None:
    rates = LiveRates()
    for moment in range(0, 1200, 10):
        rates.add(sample(float(moment), moment), float(moment), ())
    assert plain(rates.shown())["points"]["at"] == [float(at) for at in range(600, 1200, 10)]


def test_the_rate_of_topics_that_the_sample_before_did_not_have_is_not_zero() -> None:
    rates = LiveRates()
    rates.add(sample(5.0, 10, topics=0), 1000.0, {"__own"})
    rates.add(sample(7.0, 30), 1002.0, {"__own"})
    shown = plain(rates.shown())
    assert (shown["records_per_s"], shown["bytes_per_s"]) == (None, None)
