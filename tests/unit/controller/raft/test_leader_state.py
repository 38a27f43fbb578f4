"""`controller.raft.leader_state`: the high watermark and the majority."""

from __future__ import annotations

from controller.raft.leader_state import OBSERVERS_MAX, LeaderState
from controller.voter_set import ReplicaKey, VoterSet


def leader(*voters: int, start: int = 10) -> LeaderState:
    return LeaderState(ReplicaKey(1), 5, start, VoterSet.of_ids(*voters), 0.0)


def test_alone() -> None:
    state = leader(1)
    assert not state.flushed(10)
    assert state.flushed(11)
    assert state.high_watermark == 11
    assert state.majority_lost_ms(2_000) is None


def test_two_of_three() -> None:
    state = leader(1, 2, 3)
    assert not state.flushed(20)
    assert state.fetched(ReplicaKey(2), 15, 20, 1.0)
    assert state.high_watermark == 15
    assert not state.fetched(ReplicaKey(3), 12, 20, 2.0)
    assert state.fetched(ReplicaKey(3), 20, 20, 3.0)
    assert state.high_watermark == 20


def test_only_with_a_record_of_its_own_epoch() -> None:
    """Raft §5.4.2, figure 8: what an earlier leader left is not committed by counting."""
    state = leader(1, 2, 3, start=10)
    state.flushed(10)
    assert not state.fetched(ReplicaKey(2), 10, 10, 1.0)
    assert not state.fetched(ReplicaKey(3), 10, 10, 1.0)
    assert state.high_watermark is None


def test_it_never_goes_back() -> None:
    state = leader(1, 2, 3)
    state.flushed(20)
    state.fetched(ReplicaKey(2), 20, 20, 1.0)
    assert not state.fetched(ReplicaKey(2), 11, 20, 2.0)
    assert state.high_watermark == 20


def test_observers_do_not_count() -> None:
    state = leader(1, 2, 3)
    state.flushed(20)
    assert not state.fetched(ReplicaKey(9), 20, 20, 1.0)
    assert state.high_watermark is None
    assert list(state.observers) == [ReplicaKey(9)]
    state.fetched(ReplicaKey(8), 20, 20, 400_000.0)
    assert list(state.observers) == [ReplicaKey(8)]


def test_so_many_observers_at_most_and_the_silent_go_first() -> None:
    """Their ids are what they say: without a limit, one peer could fill the memory."""
    state = leader(1)
    for number in range(OBSERVERS_MAX):
        state.fetched(ReplicaKey(100 + number), 10, 10, float(number))
    state.fetched(ReplicaKey(100), 10, 10, 2_000.0)
    state.fetched(ReplicaKey(5_000), 10, 10, 2_001.0)
    assert len(state.observers) == OBSERVERS_MAX
    ids = [key.id for key in state.observers]
    assert 100 in ids and 5_000 in ids and 101 not in ids
    state.fetched(ReplicaKey(6_000), 10, 10, 301_500.0)
    assert [key.id for key in state.observers] == [100, 5_000, 6_000]


def test_when_a_majority_is_lost() -> None:
    """KAFKA-15489: 1.5 fetch time-outs after a majority was last heard of."""
    state = leader(1, 2, 3, 4, 5)
    state.fetched(ReplicaKey(2), 10, 10, 1_000.0)
    assert state.majority_lost_ms(2_000) == 3_000
    state.fetched(ReplicaKey(3), 10, 10, 500.0)
    assert state.majority_lost_ms(2_000) == 3_500


def test_successors_and_who_has_not_answered() -> None:
    state = leader(1, 2, 3)
    assert state.unacknowledged() == [2, 3]
    state.fetched(ReplicaKey(3), 12, 20, 1.0)
    assert state.unacknowledged() == [2]
    assert state.successors() == (3, 2)
