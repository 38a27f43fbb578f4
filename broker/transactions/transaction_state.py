"""The states of a transactional id, and what each event does in each of them: one table.

Owns the table alone. Never looks at a transaction: who asks has already compared producer id and
epoch, and names the event accordingly.

| state | what it is |
| --- | --- |
| Empty | a producer is initialized, no transaction is open |
| Ongoing | partitions (or a group's offsets) belong to an open transaction |
| PrepareCommit | the decision to commit is written; markers are on their way |
| PrepareAbort | the decision to abort is written; markers are on their way |
| CompleteCommit | every partition has its commit marker |
| CompleteAbort | every partition has its abort marker |
| Dead | the id expired; its tombstone is written and it is forgotten |
| PrepareEpochFence | an open transaction is to be aborted under a higher epoch |

PrepareEpochFence and Dead are passed through within one decision and are never written to the log:
the first becomes PrepareAbort at once, the second a tombstone.

From protocol version 2 on (KIP-890) each end raises the epoch. So the epoch tells a request that
is sent again (it has the epoch before) from the end of the next transaction, and an abort may come
where no partition was added, since the producer cannot know whether one was.

Follows Kafka's `TransactionState` and the rules of its `TransactionCoordinator`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from protocol.errors import ErrorCode


class TransactionState(Enum):
    """A state, with the number that the log has for it and the name that administrators see."""

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
        """Whether the outcome is decided and its markers are still to be written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


class Event(Enum):
    """What happens to a transactional id."""

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


Outcome = TransactionState | ErrorCode | None
"""The next state; or what the client is told, and nothing changes (NONE: it was done before); or
None where the event does not come in that state."""

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
_ROWS: Mapping[Event, tuple[Outcome, ...]] = {
    #                       Empty           Ongoing          PrepCommit        PrepAbort        ComplCommit     ComplAbort      EpochFence  # noqa: E501
    Event.INITIALIZE:      (_EMPTY,         _FENCE,          _BUSY,            _BUSY,           _EMPTY,         _EMPTY,         None),  # noqa: E501
    Event.ADD_PARTITIONS:  (_ONGOING,       _ONGOING,        _BUSY,            _BUSY,           _ONGOING,       _ONGOING,       None),  # noqa: E501
    Event.COMMIT:          (_WRONG,         _PREPARE_COMMIT, _BUSY,            _BUSY,           _DONE,          _WRONG,         None),  # noqa: E501
    Event.ABORT:           (_WRONG,         _PREPARE_ABORT,  _BUSY,            _BUSY,           _WRONG,         _DONE,          None),  # noqa: E501
    Event.COMMIT_AND_BUMP: (_WRONG,         _PREPARE_COMMIT, _FENCED,          _FENCED,         _WRONG,         _WRONG,         None),  # noqa: E501
    Event.ABORT_AND_BUMP:  (_PREPARE_ABORT, _PREPARE_ABORT,  _FENCED,          _FENCED,         _PREPARE_ABORT, _PREPARE_ABORT, None),  # noqa: E501
    Event.COMMIT_AGAIN:    (_FENCED,        _FENCED,         _BUSY,            _BUSY,           _DONE,          _WRONG,         None),  # noqa: E501
    Event.ABORT_AGAIN:     (_FENCED,        _FENCED,         _BUSY,            _BUSY,           _WRONG,         _DONE,          None),  # noqa: E501
    Event.FENCE:           (None,           _FENCE,          None,             None,            None,           None,           _PREPARE_ABORT),  # noqa: E501
    Event.MARKERS_WRITTEN: (None,           None,            _COMPLETE_COMMIT, _COMPLETE_ABORT, None,           None,           None),  # noqa: E501
    Event.EXPIRE:          (_DEAD,          None,            None,             None,            _DEAD,          _DEAD,          None),  # noqa: E501
}
# fmt: on

_TABLE = {
    (event, state): outcome
    for event, row in _ROWS.items()
    for state, outcome in zip(_COLUMNS, row, strict=True)
}

_BY_STATUS = {state.status: state for state in TransactionState}
_BY_NAME = {state.shown: state for state in TransactionState}


def outcome(state: TransactionState, event: Event) -> Outcome:
    """What `event` does in `state`. A dead id is in no coordinator's memory, so nothing comes."""
    return _TABLE.get((event, state))


def state_of_status(status: int) -> TransactionState | None:
    """The state that the log writes as `status`; None where there is none."""
    return _BY_STATUS.get(status)


def state_named(name: str) -> TransactionState | None:
    """The state that administrators call `name`; None where there is none."""
    return _BY_NAME.get(name)
