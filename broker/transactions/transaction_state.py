"""The states of a transactional id, and the outcome of each event in each state: one table.

Owns only the table. Never looks at a transaction: the caller has compared producer id and epoch,
and chosen the event.

| state | meaning |
| --- | --- |
| Empty | a producer is initialized, no transaction is open |
| Ongoing | partitions (or a group's offsets) belong to an open transaction |
| PrepareCommit | the decision to commit is written; markers are on their way |
| PrepareAbort | the decision to abort is written; markers are on their way |
| CompleteCommit | every partition has its commit marker |
| CompleteAbort | every partition has its abort marker |
| Dead | the id expired; its tombstone is written |
| PrepareEpochFence | an open transaction must be aborted with a higher epoch |

PrepareEpochFence and Dead exist only within a decision and are never written to the log: the first
becomes PrepareAbort at once, the second a tombstone.

From protocol version 2 on (KIP-890) each end raises the epoch. So a retry, which has the epoch
before, differs from the end of the next transaction. An abort is also valid if no partition was
added, because the producer cannot know whether one was.

Follows Kafka's `TransactionState` and the rules of its `TransactionCoordinator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from protocol.errors import ErrorCode


class TransactionState(Enum):
    """A state, with its number in the log and its name in answers to administrators."""

    EMPTY = (0, "Empty")
    ONGOING = (1, "Ongoing")
    PREPARE_COMMIT = (2, "PrepareCommit")
    PREPARE_ABORT = (3, "PrepareAbort")
    COMPLETE_COMMIT = (4, "CompleteCommit")
    COMPLETE_ABORT = (5, "CompleteAbort")
    DEAD = (6, "Dead")
    PREPARE_EPOCH_FENCE = (7, "PrepareEpochFence")

    def __init__(self, status: int, shown: str) -> None:
        self.status = status
        self.shown = shown

    @property
    def is_prepared(self) -> bool:
        """True if the transaction's end is decided and its markers are not all written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


class TransactionEvent(Enum):
    """An event of a transactional id."""

    INITIALIZE = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn or AddOffsetsToTxn"
    COMMIT = "EndTxn v0-4, commit"
    ABORT = "EndTxn v0-4, abort"
    COMMIT_AND_BUMP = "EndTxn v5, commit, with the present epoch"
    ABORT_AND_BUMP = "EndTxn v5, abort, with the present epoch"
    COMMIT_AGAIN = "EndTxn v5, commit, with the epoch before the last end"
    ABORT_AGAIN = "EndTxn v5, abort, with the epoch before the last end"
    FENCE = "time-out of the transaction, or a new producer of the same id"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRE = "transactional.id.expiration.ms without a sign of life"


TransactionOutcome = TransactionState | ErrorCode | None
"""The next state; or the answer to a request that changes nothing (NONE for a retry of a completed
request); or None if the event cannot occur in that state."""

_BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
_WRONG = ErrorCode.INVALID_TXN_STATE
_FENCED = ErrorCode.PRODUCER_FENCED
_DONE = ErrorCode.NONE

_EMPTY = TransactionState.EMPTY
_ONGOING = TransactionState.ONGOING
_PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
_PREPARE_ABORT = TransactionState.PREPARE_ABORT
_COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
_COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
_DEAD = TransactionState.DEAD
_FENCE = TransactionState.PREPARE_EPOCH_FENCE

_COLUMNS = (
    _EMPTY,
    _ONGOING,
    _PREPARE_COMMIT,
    _PREPARE_ABORT,
    _COMPLETE_COMMIT,
    _COMPLETE_ABORT,
    _FENCE,
)

# fmt: off
_ROWS: Mapping[TransactionEvent, tuple[TransactionOutcome, ...]] = {
    #                                  Empty           Ongoing          PrepCommit        PrepAbort        ComplCommit     ComplAbort      EpochFence  # noqa: E501
    TransactionEvent.INITIALIZE:      (_EMPTY,         _FENCE,          _BUSY,            _BUSY,           _EMPTY,         _EMPTY,         None),  # noqa: E501
    TransactionEvent.ADD_PARTITIONS:  (_ONGOING,       _ONGOING,        _BUSY,            _BUSY,           _ONGOING,       _ONGOING,       None),  # noqa: E501
    TransactionEvent.COMMIT:          (_WRONG,         _PREPARE_COMMIT, _BUSY,            _BUSY,           _DONE,          _WRONG,         None),  # noqa: E501
    TransactionEvent.ABORT:           (_WRONG,         _PREPARE_ABORT,  _BUSY,            _BUSY,           _WRONG,         _DONE,          None),  # noqa: E501
    TransactionEvent.COMMIT_AND_BUMP: (_WRONG,         _PREPARE_COMMIT, _FENCED,          _FENCED,         _WRONG,         _WRONG,         None),  # noqa: E501
    TransactionEvent.ABORT_AND_BUMP:  (_PREPARE_ABORT, _PREPARE_ABORT,  _FENCED,          _FENCED,         _PREPARE_ABORT, _PREPARE_ABORT, None),  # noqa: E501
    TransactionEvent.COMMIT_AGAIN:    (_FENCED,        _FENCED,         _BUSY,            _BUSY,           _DONE,          _WRONG,         None),  # noqa: E501
    TransactionEvent.ABORT_AGAIN:     (_FENCED,        _FENCED,         _BUSY,            _BUSY,           _WRONG,         _DONE,          None),  # noqa: E501
    TransactionEvent.FENCE:           (None,           _FENCE,          None,             None,            None,           None,           _PREPARE_ABORT),  # noqa: E501
    TransactionEvent.MARKERS_WRITTEN: (None,           None,            _COMPLETE_COMMIT, _COMPLETE_ABORT, None,           None,           None),  # noqa: E501
    TransactionEvent.EXPIRE:          (_DEAD,          None,            None,             None,            _DEAD,          _DEAD,          None),  # noqa: E501
}
# fmt: on

_TABLE = {
    (event, state): outcome
    for event, row in _ROWS.items()
    for state, outcome in zip(_COLUMNS, row, strict=True)
}

_BY_STATUS = {state.status: state for state in TransactionState}
_BY_NAME = {state.shown: state for state in TransactionState}


def outcome(state: TransactionState, event: TransactionEvent) -> TransactionOutcome:
    """Return the outcome of `event` in `state`; always None in Dead, where no event can occur."""
    return _TABLE.get((event, state))


def state_of_status(status: int) -> TransactionState | None:
    """Return the state with the number `status` in the log, or None."""
    return _BY_STATUS.get(status)


def state_named(name: str) -> TransactionState | None:
    """Return the state with the name `name` in answers to administrators, or None."""
    return _BY_NAME.get(name)
