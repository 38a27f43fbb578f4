"""What every outcome has where a handler says no more."""

from __future__ import annotations

from broker.coordinator.outcome import NOTHING, Outcome, call_reply, no_reply
from protocol.errors import ErrorCode


def test_a_reply_that_takes_the_error_itself() -> None:
    told: list[ErrorCode] = []
    outcome = Outcome(told.append, error=ErrorCode.REBALANCE_IN_PROGRESS)
    call_reply(outcome.error, outcome.reply)
    assert told == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_nothing_to_write_and_nobody_to_tell() -> None:
    assert not NOTHING.records and NOTHING.reply is no_reply
    call_reply(NOTHING.error, NOTHING.reply)
