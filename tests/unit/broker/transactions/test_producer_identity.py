from __future__ import annotations

from dataclasses import replace

import pytest

from broker.transactions.producer_identity import end_event, may_initialize
from broker.transactions.transaction_metadata import EPOCH_MAX, TransactionMetadata, created
from broker.transactions.transaction_state import TransactionEvent, TransactionState
from protocol.errors import ErrorCode

OPEN = TransactionMetadata(7, 3, 60_000, TransactionState.ONGOING, previous_producer_id=7)
ROTATED = replace(
    OPEN,
    state=TransactionState.COMPLETE_COMMIT,
    producer_id=8,
    producer_epoch=0,
    previous_producer_id=7,
    client_version=2,
)
LAST = EPOCH_MAX - 1
FENCED = ErrorCode.PRODUCER_FENCED
UNKNOWN = ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(
    ("metadata", "expected", "good"),
    [
        (OPEN, (7, 0), True),
        (OPEN, (8, 3), False),
        (created(9, 1, 1), (4, 4), True),
        (ROTATED, (7, LAST), True),
        (ROTATED, (7, LAST - 1), False),
        (ROTATED, (8, 0), True),
    ],
)
def test_who_may_be_initialized_again(
    metadata: TransactionMetadata, expected: tuple[int, int], good: bool
) -> None:
    assert may_initialize(metadata, expected) is good


@pytest.mark.parametrize(
    ("metadata", "identity", "version", "event"),
    [
        (OPEN, (7, 3), 0, TransactionEvent.COMMIT),
        (OPEN, (7, 2), 0, FENCED),
        (OPEN, (7, 4), 0, FENCED),
        (OPEN, (8, 3), 0, UNKNOWN),
        (OPEN, (7, 3), 2, TransactionEvent.COMMIT_AND_BUMP),
        (OPEN, (7, 2), 2, FENCED),
        (replace(OPEN, client_version=1), (7, 2), 2, FENCED),
        (replace(OPEN, client_version=2), (7, 2), 2, TransactionEvent.COMMIT_AGAIN),
        (OPEN, (7, 1), 2, FENCED),
        (OPEN, (7, 4), 2, FENCED),
        (ROTATED, (7, LAST), 2, TransactionEvent.COMMIT_AGAIN),
        (ROTATED, (7, LAST), 0, UNKNOWN),
        (replace(ROTATED, client_version=1), (7, LAST), 2, UNKNOWN),
        (ROTATED, (7, LAST - 1), 2, UNKNOWN),
        (ROTATED, (8, 0), 2, TransactionEvent.COMMIT_AND_BUMP),
        (replace(ROTATED, producer_epoch=1), (7, LAST), 2, UNKNOWN),
    ],
)
def test_which_end_is_meant(
    metadata: TransactionMetadata,
    identity: tuple[int, int],
    version: int,
    event: TransactionEvent | ErrorCode,
) -> None:
    assert end_event(metadata, identity, True, version) is event
    aborts = {
        TransactionEvent.COMMIT: TransactionEvent.ABORT,
        TransactionEvent.COMMIT_AND_BUMP: TransactionEvent.ABORT_AND_BUMP,
        TransactionEvent.COMMIT_AGAIN: TransactionEvent.ABORT_AGAIN,
    }
    expected = aborts[event] if isinstance(event, TransactionEvent) else event
    assert end_event(metadata, identity, False, version) is expected


def test_the_next_producer_id_is_known_before_it_is_in_use() -> None:
    preparing = replace(OPEN, producer_epoch=LAST).decided(True, 2, 8, 1)
    assert end_event(preparing, (8, 0), False, 2) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert end_event(preparing, (8, 1), False, 2) is UNKNOWN
