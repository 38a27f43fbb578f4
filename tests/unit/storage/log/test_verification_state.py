"""The guard and the lowest sequence of a producer whose transaction is being verified."""

from __future__ import annotations

from storage.log.verification_state import VerificationGuard, VerificationState


def test_a_guard_equals_itself_alone() -> None:
    state = VerificationState(1, 5, 0, supports_epoch_bump=False)
    assert state.guard == state.guard
    assert state.guard != VerificationGuard()


def test_the_lowest_sequence_is_of_the_latest_epoch() -> None:
    state = VerificationState(1, 5, 1, supports_epoch_bump=True)
    state.note_batch(7, 1)
    assert state.lowest_sequence == 5
    state.note_batch(3, 1)
    assert state.lowest_sequence == 3
    state.note_batch(1, 0)
    assert (state.epoch, state.lowest_sequence) == (1, 3), "an old epoch tells nothing"
    state.note_batch(9, 2)
    assert (state.epoch, state.lowest_sequence) == (2, 9)
