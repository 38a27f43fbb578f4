"""A rate over slices, step by step; `test_client_quota_manager_kafka` has Kafka's own numbers."""

from __future__ import annotations

from broker.quotas.sampled_rate import SampledRate, Window

FIVE = Window(5, 1000)


def test_a_new_client_has_the_whole_slices_that_it_did_not_live_in() -> None:
    rate = SampledRate()
    assert (rate.per_second(100, FIVE), rate.span_ms(100, FIVE)) == (0, 4000)
    rate.record(8000, 100, FIVE)
    assert rate.per_second(100, FIVE) == 2000
    assert rate.span_ms(600, FIVE) == 4500


def test_what_was_taken_longer_ago_than_a_window_counts_no_more() -> None:
    rate = SampledRate()
    rate.record(8000, 0, FIVE)
    assert rate.per_second(4999, FIVE) > 0
    assert rate.per_second(5000, FIVE) == 0
    assert rate.span_ms(5000, FIVE) == 4000


def test_a_slice_ends_when_it_is_as_long_as_it_may_be() -> None:
    rate = SampledRate()
    for now_ms in (0, 999, 1000, 1999, 2000):
        rate.record(100, now_ms, FIVE)
    assert rate.span_ms(5900, FIVE) == 5900
    assert rate.span_ms(5999, FIVE) == 4999  # the first one's last record was at 999
    assert rate.per_second(5999, FIVE) == 300 / 4.999


def test_it_keeps_one_slice_more_than_the_window_has() -> None:
    rate = SampledRate()
    for second in range(1000):
        rate.record(1, second * 1000, FIVE)
    assert len(rate._values) == 6
    assert rate.per_second(999_000, FIVE) == 5 / 4


def test_a_window_that_grows_and_shrinks_loses_nothing() -> None:
    rate = SampledRate()
    for now_ms, window in ((0, Window(1, 1000)), (1000, Window(5, 1000)), (2000, FIVE)):
        rate.record(10, now_ms, window)
    rate.record(10, 3000, Window(1, 1000))
    assert rate.per_second(3000, FIVE) > 0


def test_what_was_not_given_is_taken_back() -> None:
    rate = SampledRate()
    rate.record(500, 0, FIVE)
    rate.record(-500, 10, FIVE)
    assert rate.per_second(20, FIVE) == 0
