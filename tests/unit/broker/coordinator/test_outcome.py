"""What every outcome has where a handler says no more."""

from __future__ import annotations

from broker.coordinator.outcome import (
    BYTES_PER_BATCH,
    NOTHING,
    RECORDS_PER_BATCH,
    Outcome,
    batches_of,
    call_reply,
    no_reply,
)
from protocol.errors import ErrorCode


def test_a_reply_that_takes_the_error_itself() -> None:
    told: list[ErrorCode] = []
    outcome = Outcome(told.append, error=ErrorCode.REBALANCE_IN_PROGRESS)
    call_reply(outcome.error, outcome.reply)
    assert told == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_nothing_to_write_and_nobody_to_tell() -> None:
    assert not NOTHING.records and NOTHING.reply is no_reply
    call_reply(NOTHING.error, NOTHING.reply)


def test_a_batch_has_a_limit_of_records_and_one_of_bytes() -> None:
    short, tombstone = (b"k", b"v"), (b"k", None)
    large = (b"k", bytes(BYTES_PER_BATCH - 3))
    largest = (b"k", bytes(2 * BYTES_PER_BATCH))
    many = [short] * (RECORDS_PER_BATCH + 1)
    assert [len(part) for part in batches_of(many)] == [RECORDS_PER_BATCH, 1]
    records = [short, large, tombstone, largest, short, large]
    parts = list(batches_of(records))
    assert parts == [[short, large], [tombstone], [largest], [short, large]]
    assert list(batches_of([])) == []
