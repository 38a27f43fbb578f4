"""A share-partition by itself; the numbers are those that Apache Kafka was seen to give."""

from __future__ import annotations

import pytest

from broker.share.delivery.acquisition import AcquiredRange, StoredBatch
from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import (
    CorruptState,
    PersistedState,
    Refusal,
    SharePartition,
)
from broker.share.record_state import RecordState
from broker.share.state_batches import StateBatch
from protocol.errors import ErrorCode
from tests.unit.broker.share.delivery.group_of_members import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Group,
)

FIVES = tuple((first, first + 4) for first in range(0, 50, 5))
TENS = tuple((first, first + 9) for first in range(0, 100, 10))


# --- acquisition ---------------------------------------------------------------------------------


def test_each_record_is_acquired_once() -> None:
    group = Group(*FIVES)
    assert group.fetch("a", 10) == [(0, 9, 1)]
    assert group.fetch("b", 10) == [(10, 19, 1)]
    assert group.partition.next_fetch_offset() == 20


@pytest.mark.parametrize(("wished", "last"), [(1, 4), (3, 4), (5, 4), (7, 9)])
def test_whole_stored_batches_are_acquired(wished: int, last: int) -> None:
    assert Group(*FIVES).fetch(max_records=wished) == [(0, last, 1)]


def test_a_limit_is_never_exceeded_in_the_mode_that_says_so() -> None:
    group = Group(*FIVES)
    assert group.fetch("a", 3, is_limited=True) == [(0, 2, 1)]
    assert group.fetch("b", 1, is_limited=True) == [(3, 3, 1)]
    assert group.fetch("b", 4, is_limited=True) == [(4, 4, 1), (5, 7, 1)]


def test_no_record_is_acquired_without_room_in_the_request() -> None:
    group = Group(*FIVES)
    assert group.fetch(max_records=0) == []
    assert group.states() == []


def test_a_batch_size_splits_ranges_at_stored_batches() -> None:
    assert Group(*FIVES).fetch(batch_size=7) == [
        (0, 9, 1),
        (10, 19, 1),
        (20, 29, 1),
        (30, 39, 1),
        (40, 49, 1),
    ]


def test_what_is_available_again_comes_before_what_is_new() -> None:
    group = Group(*FIVES)
    group.fetch("a", 10)
    group.acknowledge(0, 4, RELEASE, member="a")
    assert group.fetch("b", 10) == [(0, 4, 2), (10, 14, 1)]


def test_the_window_limits_what_is_in_flight() -> None:
    """The stored batch that crosses the limit comes whole; one open record blocks the window."""
    forties = [(first, first + 39) for first in range(0, 400, 40)]
    group = Group(*forties, settings=DeliverySettings(max_locks=100))
    assert [group.fetch(max_records=40) for _ in range(4)] == [
        [(0, 39, 1)],
        [(40, 79, 1)],
        [(80, 119, 1)],
        [],
    ]
    group.acknowledge(40, 79)
    assert group.fetch() == []
    group.acknowledge(0, 39)
    assert group.fetch(max_records=40) == [(120, 159, 1)]


def test_a_full_window_still_gives_what_is_available_inside() -> None:
    group = Group(*FIVES, settings=DeliverySettings(max_locks=10))
    group.fetch("a", 10)
    group.acknowledge(5, 9, RELEASE, member="a")
    assert group.fetch("b") == [(5, 9, 2)]
    assert group.fetch("b") == []


def test_records_that_the_log_lost_are_archived() -> None:
    group = Group(*FIVES)
    group.fetch("a", 15)
    group.acknowledge(0, 14, RELEASE, member="a")
    group.stored = [StoredBatch(10, 14)]
    assert group.fetch("b") == [(10, 14, 2)]
    assert group.states() == [(0, 9, "ARCHIVED", 1), (10, 14, "ACQUIRED", 2)]


# --- throttled delivery --------------------------------------------------------------------------


def test_a_batch_that_failed_often_comes_in_ever_smaller_parts() -> None:
    """With a limit of 5: three times whole, then in halves, then each record alone."""
    group = Group((0, 7))
    for delivery in (1, 2, 3):
        assert group.fetch() == [(0, 7, delivery)]
        group.acknowledge(0, 7, RELEASE)
    assert group.fetch("a") == [(0, 3, 4)]
    assert group.fetch("b") == [(4, 7, 4)]
    group.acknowledge(0, 3, RELEASE, member="a")
    group.acknowledge(4, 7, RELEASE, member="b")
    for offset in range(8):
        assert group.fetch() == [(offset, offset, 5)]
    group.acknowledge(0, 7, RELEASE)
    assert group.fetch() == []
    assert group.partition.start_offset == 8


def test_a_limit_of_two_is_not_throttled() -> None:
    group = Group((0, 7), settings=DeliverySettings(delivery_limit=2))
    assert group.fetch() == [(0, 7, 1)]
    group.acknowledge(0, 7, RELEASE)
    assert group.fetch() == [(0, 7, 2)]
    group.acknowledge(0, 7, RELEASE)
    assert group.states() == []
    assert group.partition.start_offset == 8


def test_a_throttled_batch_is_delivered_alone() -> None:
    group = Group((0, 7), (8, 9))
    for _ in range(3):
        group.fetch("a", 8)
        group.acknowledge(0, 7, RELEASE, member="a")
    assert group.fetch() == [(0, 3, 4)]


# --- acknowledgement -----------------------------------------------------------------------------


def test_accepted_records_move_the_start_offset() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    write = group.acknowledge(0, 6)
    assert write is not None
    assert (write.start_offset, write.final_count) == (0, 7)
    assert list(write.batches) == [StateBatch(0, 6, RecordState.ACKNOWLEDGED, 1)]
    assert group.partition.start_offset == 7
    group.acknowledge(7, 9)
    assert (group.partition.start_offset, group.partition.end_offset) == (10, 10)
    assert group.states() == []


def test_an_open_record_holds_the_start_offset() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    write = group.acknowledge(1, 9)
    assert write is not None and write.final_count == 9
    assert group.partition.start_offset == 0
    assert group.partition.final_count == 9


def test_types_by_offset() -> None:
    group = Group((0, 4))
    group.fetch()
    group.acknowledge(0, 4, ACCEPT, RELEASE, REJECT, GAP, ACCEPT)
    assert group.states() == [
        (0, 0, "ACKNOWLEDGED", 1),
        (1, 1, "AVAILABLE", 1),
        (2, 3, "ARCHIVED", 1),
        (4, 4, "ACKNOWLEDGED", 1),
    ]
    assert group.fetch("b") == [(1, 1, 2)]


def test_a_record_below_the_start_offset_is_ignored() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    group.acknowledge(0, 4)
    assert group.acknowledge(0, 4) is None
    assert group.acknowledge(2, 9) is not None
    assert group.partition.start_offset == 10


@pytest.mark.parametrize(
    ("first", "last", "member", "error"),
    [
        (0, 4, "b", ErrorCode.INVALID_RECORD_STATE),
        (10, 14, "m", ErrorCode.INVALID_REQUEST),
        (5, 14, "m", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_the_member_does_not_hold_is_refused(
    first: int, last: int, member: str, error: ErrorCode
) -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    with pytest.raises(Refusal) as refusal:
        group.acknowledge(first, last, member=member)
    assert refusal.value.error is error
    assert group.states() == [(0, 9, "ACQUIRED", 1)]


def test_one_error_undoes_all_acknowledgements_of_the_request() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    group.acknowledge(7, 7)
    with pytest.raises(Refusal):
        group.acknowledge(0, 9)
    assert group.states() == [
        (0, 6, "ACQUIRED", 1),
        (7, 7, "ACKNOWLEDGED", 1),
        (8, 9, "ACQUIRED", 1),
    ]


def test_nothing_is_in_flight_before_the_first_fetch() -> None:
    with pytest.raises(Refusal) as refusal:
        Group(*FIVES).acknowledge(0, 4)
    assert refusal.value.error is ErrorCode.INVALID_RECORD_STATE


# --- writes --------------------------------------------------------------------------------------


def test_a_change_that_is_being_persisted_blocks_its_records() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=5)
    write = group.begin(0, 4, RELEASE)
    assert group.fetch("b", 5) == [(5, 9, 1)]
    with pytest.raises(Refusal):
        group.begin(0, 4)
    group.persist(write)
    assert group.fetch("b", 5) == [(0, 4, 2)]


def test_a_failed_write_gives_the_records_back() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=5)
    group.persist(group.begin(0, 4), is_written=False)
    assert group.states() == [(0, 4, "ACQUIRED", 1)]
    assert group.partition.final_count == 0
    assert group.acknowledge(0, 4) is not None


def test_a_failed_write_after_the_lock_makes_the_records_available() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=5)
    write = group.begin(0, 4)
    assert group.expire() is None
    group.persist(write, is_written=False)
    assert group.fetch("b", 5) == [(0, 4, 2)]


def test_a_record_given_up_after_a_failed_write_becomes_a_dead_letter() -> None:
    group = Group(*FIVES, settings=DeliverySettings(delivery_limit=1, has_dead_letters=True))
    group.fetch(max_records=5)
    write = group.begin(0, 4)
    assert group.expire() is None
    group.persist(write, is_written=False)
    assert group.states() == [(0, 4, "ARCHIVING", 1)]
    assert [(letter.first, letter.last) for letter in group.letters] == [(0, 4)]


def test_records_that_were_archived_stay_so_whatever_the_write_does() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=10)
    write = group.begin(0, 9, RELEASE)
    group.partition.log_start_moved(7)
    group.persist(write, is_written=False)
    assert group.states() == [(0, 6, "ARCHIVED", 1), (7, 9, "ACQUIRED", 1)]


# --- locks and sessions --------------------------------------------------------------------------


def test_a_lock_expires_at_its_time() -> None:
    group = Group(*FIVES)
    group.fetch("a", 5)
    assert group.partition.next_expiry_ms() == 31_000.0
    assert group.partition.expire_locks(30_999.9) is None
    write = group.expire()
    assert write is not None and list(write.batches) == [StateBatch(0, 4, RecordState.AVAILABLE, 1)]
    assert group.partition.next_expiry_ms() is None
    assert group.fetch("b", 5) == [(0, 4, 2)]


def test_a_renewed_lock_begins_anew_and_keeps_the_count() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=5)
    group.now_ms += 20_000
    assert group.acknowledge(1, 3, RENEW) is None
    assert group.partition.expire_locks(31_000.0) is not None
    assert group.states() == [
        (0, 0, "AVAILABLE", 1),
        (1, 3, "ACQUIRED", 1),
        (4, 4, "AVAILABLE", 1),
    ]
    assert group.partition.next_expiry_ms() == 51_000.0


def test_a_group_may_forbid_to_renew() -> None:
    group = Group(*FIVES, settings=DeliverySettings(may_renew=False))
    group.fetch(max_records=5)
    with pytest.raises(Refusal):
        group.acknowledge(0, 4, RENEW)


def test_a_session_that_ends_releases_its_records() -> None:
    group = Group(*FIVES)
    group.fetch("a", 5)
    group.fetch("b", 5)
    group.persist(group.partition.release("a"))
    assert group.states() == [(0, 4, "AVAILABLE", 1), (5, 9, "ACQUIRED", 1)]
    assert group.partition.release("a") is None


def test_a_released_record_is_given_up_at_the_limit() -> None:
    group = Group((0, 0))
    for delivery in range(1, 6):
        assert group.fetch() == [(0, 0, delivery)]
        group.expire()
    assert group.fetch() == []
    assert group.partition.start_offset == 1


# --- the log's start -----------------------------------------------------------------------------


def test_the_log_start_moves_the_start_offset() -> None:
    group = Group(*TENS)
    group.fetch("a", 10)
    group.fetch("b", 10)
    group.acknowledge(0, 9, RELEASE, member="a")
    group.partition.log_start_moved(15)
    assert group.partition.start_offset == 15
    assert group.partition.next_fetch_offset() == 20
    group.persist(group.partition.release("b"))
    assert group.states() == [(10, 14, "ARCHIVED", 1), (15, 19, "AVAILABLE", 1)]
    group.partition.log_start_moved(3)
    assert group.partition.start_offset == 15


def test_a_write_that_ends_behind_the_log_start_leaves_the_start_offset() -> None:
    group = Group(*TENS[:4])
    group.fetch()
    write = group.begin(0, 39)
    group.partition.log_start_moved(50)
    group.persist(write)
    assert (group.partition.start_offset, group.partition.next_fetch_offset()) == (50, 50)


def test_what_the_log_has_lost_is_not_to_be_read_after_a_load() -> None:
    group = Group(*TENS[1:], batches=(StateBatch(5, 14, RecordState.AVAILABLE, 1),))
    assert group.partition.next_fetch_offset() == 0
    group.partition.log_start_moved(10)
    assert group.partition.next_fetch_offset() == 10
    assert group.fetch(max_records=20) == [(10, 14, 2), (15, 29, 1)]


def test_the_log_start_moves_an_empty_window() -> None:
    group = Group(*TENS)
    group.partition.log_start_moved(30)
    group.stored = [StoredBatch(30, 39)]
    assert group.fetch() == [(30, 39, 1)]


# --- transactions --------------------------------------------------------------------------------


def test_records_of_aborted_transactions_are_archived() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=20)
    rest = group.partition.archive_aborted(
        [AcquiredRange(0, 19, 1)], [StoredBatch(0, 4), StoredBatch(10, 14)]
    )
    assert rest == [(5, 9, 1), (15, 19, 1)]
    assert (group.partition.start_offset, group.partition.final_count) == (5, 5)
    group.acknowledge(5, 9)
    assert group.partition.start_offset == 15


def test_aborted_records_of_another_acquisition_stay_with_their_member() -> None:
    group = Group((0, 9), (10, 19))
    group.fetch("a", max_records=5, is_limited=True)
    ranges = [AcquiredRange(*taken) for taken in group.fetch("b")]
    assert group.partition.archive_aborted(ranges, [StoredBatch(0, 9)]) == [(10, 19, 1)]
    assert group.states()[:2] == [(0, 4, "ACQUIRED", 1), (5, 9, "ARCHIVED", 1)]
    group.acknowledge(0, 4, member="a")
    assert group.partition.start_offset == 10


# --- acquisitions that are not sent -----------------------------------------------------------


def test_what_is_not_sent_is_no_delivery() -> None:
    group = Group(*FIVES)
    group.fetch(max_records=5)
    group.acknowledge(0, 4, RELEASE)
    ranges = [AcquiredRange(*taken) for taken in group.fetch(max_records=10)]
    group.partition.take_back_acquisition("m", ranges)
    assert group.partition.next_expiry_ms() is None
    assert group.fetch("b", max_records=10) == [(0, 4, 2), (5, 9, 1)]


def test_what_was_released_meanwhile_is_not_taken_back() -> None:
    group = Group(*FIVES)
    ranges = [AcquiredRange(*taken) for taken in group.fetch(max_records=5)]
    write = group.partition.release("m")
    group.partition.take_back_acquisition("m", ranges)
    group.persist(write)
    assert group.fetch(max_records=5) == [(0, 4, 2)]


# --- dead letters --------------------------------------------------------------------------------

WITH_LETTERS = DeliverySettings(has_dead_letters=True, delivery_limit=2)


def test_a_rejected_record_is_archived_after_its_dead_letter() -> None:
    group = Group(*FIVES, settings=WITH_LETTERS)
    group.fetch(max_records=5)
    write = group.acknowledge(0, 4, ACCEPT, REJECT, REJECT, ACCEPT, ACCEPT)
    assert write is not None and write.batches[1] == StateBatch(1, 2, RecordState.ARCHIVING, 1)
    assert [(x.first, x.last, x.deliveries, x.is_rejected) for x in group.letters] == [
        (1, 2, 1, True)
    ]
    assert group.partition.start_offset == 1
    archived = group.partition.dead_letter_written(group.letters[0])
    assert list(archived.batches) == [StateBatch(1, 2, RecordState.ARCHIVED, 1)]
    group.persist(archived)
    assert group.partition.start_offset == 5


def test_a_record_that_is_given_up_becomes_a_dead_letter() -> None:
    group = Group((0, 0), (1, 1), settings=WITH_LETTERS)
    for end in (group.expire, lambda: group.acknowledge(1, 1, RELEASE)):
        group.fetch()
        end()
        group.fetch()
        end()
        if group.letters:
            group.persist(group.partition.dead_letter_written(group.letters[-1]))
    assert {(x.first, x.deliveries, x.is_rejected) for x in group.letters} >= {(0, 2, False)}


def test_dead_letters_go_on_after_a_load() -> None:
    state = PersistedState(
        3,
        [
            StateBatch(3, 4, RecordState.ARCHIVING, 1),
            StateBatch(5, 5, RecordState.ARCHIVING, 2),
            StateBatch(6, 6, RecordState.AVAILABLE, 1),
        ],
    )
    partition = SharePartition(state, lambda: WITH_LETTERS)
    assert [(x.first, x.last, x.is_rejected) for x in partition.unfinished_dead_letters] == [
        (3, 4, True),
        (5, 5, False),
    ]
    assert partition.next_fetch_offset() == 6


# --- load ----------------------------------------------------------------------------------------


def test_a_load_goes_on_where_the_state_ended() -> None:
    batches = (
        StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1),
        StateBatch(15, 19, RecordState.AVAILABLE, 2),
    )
    group = Group(*FIVES, start_offset=10, batches=batches)
    assert group.partition.start_offset == 15
    assert group.fetch(max_records=5) == [(15, 19, 3)]
    assert group.fetch(max_records=5) == [(20, 24, 1)]


def test_holes_of_a_loaded_state_are_read_again() -> None:
    """Records that were acquired and not acknowledged are not in the state, so they are new."""
    batches = (
        StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1),
        StateBatch(20, 24, RecordState.ACKNOWLEDGED, 1),
    )
    group = Group(*FIVES, start_offset=0, batches=batches)
    assert group.partition.next_fetch_offset() == 0
    assert group.fetch(max_records=5) == [(0, 4, 1)]
    group.acknowledge(0, 4)
    assert group.partition.start_offset == 5  # until all holes before the end are read
    assert group.fetch(max_records=100) == [(10, 19, 1), (25, 49, 1)]
    group.acknowledge(10, 19)
    group.acknowledge(25, 49)
    assert group.partition.start_offset == 50


@pytest.mark.parametrize(
    "batches",
    [
        [StateBatch(3, 4, RecordState.AVAILABLE, 1)],
        [StateBatch(7, 6, RecordState.AVAILABLE, 1)],
        [
            StateBatch(5, 9, RecordState.AVAILABLE, 1),
            StateBatch(9, 9, RecordState.AVAILABLE, 1),
        ],
    ],
)
def test_a_state_that_cannot_be_is_refused(batches: list[StateBatch]) -> None:
    with pytest.raises(CorruptState):
        SharePartition(PersistedState(5, batches), DeliverySettings)


def test_a_full_window_of_final_records_moves_on_after_a_hole_that_the_log_has_deleted() -> None:
    """Offsets 0 to 2 were not read since the load, and never can be: nothing else holds the start
    back."""
    final = StateBatch(3, 9, RecordState.ACKNOWLEDGED, 1)
    settings = DeliverySettings(max_locks=5)
    group = Group((3, 9), (10, 14), settings=settings, batches=(final,))
    group.partition.log_start_moved(5)
    assert group.partition.start_offset == 10
    assert group.partition.can_acquire()
    assert group.fetch() == [(10, 14, 1)]
