"""What is logged of a plug-in on the loop: once in a while, by its name."""

from __future__ import annotations

import pytest

from broker.plugins.loop_calls import LINE_EVERY_MS, LoopCalls


class Clock:
    now_ms = 0.0

    def __call__(self) -> float:
        return self.now_ms


def run(calls: LoopCalls, clock: Clock, took_ms: float) -> None:
    began = calls.clock_ms()
    clock.now_ms += took_ms
    calls.ended(began)


def test_a_slow_call_is_told_and_a_quick_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    calls = LoopCalls("acme:Rights", clock)
    run(calls, clock, 1.0)
    assert caplog.messages == []
    run(calls, clock, 2.5)
    assert caplog.messages == [
        "acme:Rights took 2.5 ms of the event loop, on which all clients wait"
    ]


def test_slow_calls_are_told_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    calls = LoopCalls("acme:Rights", clock)
    for _ in range(5):
        run(calls, clock, 2)
    assert len(caplog.messages) == 1
    clock.now_ms += LINE_EVERY_MS
    run(calls, clock, 2)
    assert caplog.messages[1].endswith(" (4 times more since it was last said)")


def test_failures_have_a_trace_and_a_limit_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    calls = LoopCalls("acme:Rights", clock)
    run(calls, clock, 2)
    calls.failed(ValueError("of mine"))
    calls.failed(ValueError("of mine"))
    calls.invalid_answer("gave nonsense")
    assert caplog.messages[1:] == ["acme:Rights failed"]
    assert "ValueError: of mine" in caplog.text
    clock.now_ms += LINE_EVERY_MS
    calls.invalid_answer("gave nonsense")
    assert caplog.messages[-1].startswith("acme:Rights gave nonsense (2 times more")
