"""Every request is in one bucket of each stage, and the stages are what the marks say."""

from __future__ import annotations

import pytest

from broker.requests.request_times import (
    BOUNDS_S,
    QUICK_S,
    STAGES,
    RequestMetrics,
    RequestTimes,
    Stage,
)

NOTHING = dict.fromkeys(STAGES, 0.0)


def sums(metrics: RequestMetrics) -> dict[Stage, float]:
    return {stage: metrics.times(stage).sum_s for stage in STAGES}


def test_requests_and_bugs_are_counted_apart() -> None:
    metrics = RequestMetrics()
    for count in (metrics.begun, metrics.begun, metrics.failed):
        count()
    assert (metrics.requests, metrics.errors) == (2, 1)


@pytest.mark.parametrize("total_s", [QUICK_S / 2, QUICK_S, 2 * QUICK_S, 0.2, 1000.0])
def test_a_prepared_request_is_in_one_bucket_of_each_stage(total_s: float) -> None:
    metrics = RequestMetrics()
    metrics.at_once(total_s / 4, total_s)
    found = sums(metrics)
    assert found[Stage.LOCAL] == pytest.approx(total_s / 4)
    assert found[Stage.RESPONSE_SEND] == pytest.approx(total_s * 3 / 4)
    assert found[Stage.TOTAL] == pytest.approx(total_s)
    for stage in STAGES:
        counts = metrics.times(stage).counts
        assert sum(counts) == 1
        (bucket,) = [place for place, count in enumerate(counts) if count]
        below = BOUNDS_S[bucket - 1] if bucket else -1.0
        above = BOUNDS_S[bucket] if bucket < len(BOUNDS_S) else float("inf")
        assert below < found[stage] <= above, stage


def test_quick_ones_and_slow_ones_add_up() -> None:
    metrics = RequestMetrics()
    for _ in range(3):
        metrics.at_once(QUICK_S / 4, QUICK_S / 2)
    metrics.at_once(0.01, 0.02)
    total = metrics.times(Stage.TOTAL)
    assert total.up_to()[:2] == [0, 3] and total.up_to()[-1] == 4
    assert metrics.times(Stage.THROTTLE).up_to()[0] == 4
    assert total.sum_s == pytest.approx(3 * QUICK_S / 2 + 0.02)
    other = metrics.times(Stage.TOTAL)
    other.add(total)
    assert other.up_to()[-1] == 8 and metrics.times(Stage.TOTAL).up_to()[-1] == 4


def test_each_stage_is_what_lies_between_its_marks() -> None:
    metrics, times = RequestMetrics(), RequestTimes()
    times.received(10.0)
    times.set_metrics(metrics)
    times.begun(11.0)
    times.handled(13.0)
    times.answered(17.0, 0.5)
    times.sending(25.0)
    assert sums(metrics) == NOTHING
    times.sent(41.0)
    assert sums(metrics) == {
        Stage.REQUEST_QUEUE: 1.0,
        Stage.LOCAL: 2.0,
        Stage.REMOTE: 4.0,
        Stage.RESPONSE_QUEUE: 8.0,
        Stage.RESPONSE_SEND: 16.0,
        Stage.THROTTLE: 0.5,
        Stage.TOTAL: 31.0,
    }


def test_an_answer_during_the_call_ends_the_work_and_nothing_is_remote() -> None:
    metrics, times = RequestMetrics(), RequestTimes()
    times.received(1.0)
    times.set_metrics(metrics)
    times.answered(3.0)
    times.handled(7.0)
    times.sending(3.0)
    times.sent(4.0)
    assert sums(metrics) == NOTHING | {
        Stage.LOCAL: 2.0,
        Stage.RESPONSE_SEND: 1.0,
        Stage.TOTAL: 3.0,
    }


def test_what_has_no_answer_ends_with_its_work() -> None:
    metrics, times = RequestMetrics(), RequestTimes()
    times.received(1.0)
    times.set_metrics(metrics)
    times.answered(3.0, leaves=False)
    assert sums(metrics) == NOTHING | {Stage.LOCAL: 2.0, Stage.TOTAL: 2.0}


def test_answers_that_leave_together_have_a_time_each() -> None:
    metrics, times = RequestMetrics(), RequestTimes()
    for received_s in (1.0, 2.0):
        times.received(received_s)
        times.set_metrics(metrics)
        times.answered(received_s + 0.5)
    times.sending(3.0)
    times.received(3.0)
    times.set_metrics(metrics)
    times.answered(4.0)
    times.sent(5.0)
    assert metrics.times(Stage.TOTAL).counts[-3:] == [2, 0, 0]
    assert metrics.times(Stage.TOTAL).sum_s == 7.0
    times.sending(6.0)
    times.sent(6.5)
    assert metrics.times(Stage.TOTAL).sum_s == 10.5


def test_a_prepared_request_that_waits_or_leaves_late() -> None:
    metrics, times = RequestMetrics(), RequestTimes()
    times.received(0.5)
    times.set_metrics(metrics)
    times.put_off(1.0, 2.0)
    times.answered(6.0)
    times.sending(6.0)
    times.sent(6.5)
    found = sums(metrics)
    assert (found[Stage.LOCAL], found[Stage.REMOTE]) == (1.0, 4.0)
    times.leaves_late(10.0, 10.5)
    times.sent(12.5)
    assert sums(metrics)[Stage.RESPONSE_SEND] == 2.5
    assert metrics.times(Stage.TOTAL).up_to()[-1] == 2


def test_who_is_not_counted_leaves_nothing() -> None:
    times = RequestTimes()
    times.received(1.0)
    times.answered(2.0)
    times.leaves_late(1.0, 2.0)
    assert not times._leaving


class Followed:
    """What a trace hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def came(self, received_s: float, taken_s: float | None) -> None:
        self.heard.append(("came", received_s, taken_s))

    def answered(self, handled_s: float, answered_s: float, *, leaves: bool) -> None:
        self.heard.append(("answered", handled_s, answered_s, leaves))

    def sent(self, sending_s: float, sent_s: float) -> None:
        self.heard.append(("sent", sending_s, sent_s))


def test_who_follows_a_request_hears_of_that_one_only() -> None:
    metrics, times, trace = RequestMetrics(), RequestTimes(), Followed()
    times.received(10.0)
    times.begun(11.0)
    times.set_metrics(metrics)
    times.set_trace(trace)
    times.handled(13.0)
    times.answered(17.0)
    times.sending(25.0)
    assert trace.heard == [("came", 10.0, 11.0), ("answered", 13.0, 17.0, True)]
    times.sent(41.0)
    assert trace.heard[2:] == [("sent", 25.0, 41.0)]
    times.received(50.0)
    times.set_metrics(metrics)
    times.answered(51.0)
    times.sending(52.0)
    times.sent(53.0)
    assert len(trace.heard) == 3


def test_without_an_answer_its_end_is_that() -> None:
    metrics, times, trace = RequestMetrics(), RequestTimes(), Followed()
    times.received(10.0)
    times.set_metrics(metrics)
    times.set_trace(trace)
    times.answered(12.0, leaves=False)
    assert trace.heard == [("came", 10.0, None), ("answered", 12.0, 12.0, False)]
