"""`controller.controller_timers`: what runs by the clock, and when it does not."""

from __future__ import annotations

from typing import Any

from controller.controller_timers import ControllerTimers
from controller.metadata.delegation_token import TokenKey
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from ground.sim_scheduler import SimScheduler


class Calls:
    """A controller with one broker, and what the timers ask of it."""

    def __init__(self, scheduler: SimScheduler) -> None:
        self.scheduler = scheduler
        self.heard_ms = scheduler.monotonic_ms()
        self.session_ms = 9_000.0
        self.granted = 0
        self.fenced: list[float] = []
        self.looked = 0
        self.no_ops = 0
        self.balanced: list[float] = []
        self.elected = 0
        self.removed: list[float] = []

    def next_session_end_ms(self) -> float:
        return self.heard_ms + self.session_ms

    def has_expired(self) -> bool:
        self.looked += 1
        return not self.fenced and self.scheduler.monotonic_ms() >= self.next_session_end_ms()

    def grant_sessions(self) -> None:
        self.granted += 1
        self.heard_ms = self.scheduler.monotonic_ms()

    def fence_expired(self) -> None:
        if self.has_expired():
            self.fenced.append(self.scheduler.monotonic_ms())
            self.heard_ms = self.scheduler.monotonic_ms()

    def write_no_op(self) -> None:
        self.no_ops += 1

    def balance_leaders(self) -> bool:
        self.balanced.append(self.scheduler.monotonic_ms())
        return len(self.balanced) == 1

    def elect_unclean(self) -> bool:
        self.elected += 1
        return False

    def remove_expired_tokens(self) -> bool:
        self.removed.append(self.scheduler.monotonic_ms())
        return len(self.removed) == 1


def timers(scheduler: SimScheduler, calls: Calls, *voters: int, **more: Any) -> ControllerTimers:
    settings = ControllerSettings(
        node_id=1,
        cluster_id="c",
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(*voters),
        **more,
    )
    return ControllerTimers(settings, scheduler, calls)


def begin(*voters: int, **more: Any) -> tuple[SimScheduler, Calls]:
    scheduler = SimScheduler()
    calls = Calls(scheduler)
    timers(scheduler, calls, *voters, **more).start()
    return scheduler, calls


def test_a_silent_broker_is_fenced_promptly() -> None:
    scheduler, calls = begin(1)
    scheduler.run_for(2_000)
    calls.heard_ms = scheduler.monotonic_ms()
    dead_ms = calls.heard_ms
    scheduler.run_for(20_000)
    (fenced_ms,) = calls.fenced
    assert 9_000 <= fenced_ms - dead_ms <= 9_300


def test_heartbeats_cost_no_timer() -> None:
    scheduler, calls = begin(1)
    for _ in range(30):
        scheduler.run_for(2_000)
        calls.heard_ms = scheduler.monotonic_ms()
    assert not calls.fenced
    assert calls.looked <= 10


def test_what_came_while_the_controller_was_held_up_counts() -> None:
    """Heartbeats that wait in a socket are read before anybody is fenced."""
    scheduler, calls = begin(1)
    scheduler.now_ms += 9_010
    scheduler.run_for(0)
    assert not calls.fenced
    calls.heard_ms = scheduler.monotonic_ms()
    scheduler.run_for(1_000)
    assert not calls.fenced


def test_held_up_between_the_two_looks() -> None:
    scheduler, calls = begin(1)
    scheduler.run_for(9_050)
    scheduler.now_ms += 2_000
    scheduler.run_for(0)
    assert not calls.fenced
    scheduler.run_for(200)
    assert calls.fenced


def test_no_ops_at_their_interval() -> None:
    for interval_ms, count in ((0, 0), (500, 4)):
        scheduler, calls = begin(1, metadata_max_idle_interval_ms=interval_ms)
        scheduler.run_for(2_000)
        assert calls.no_ops == count


def test_a_process_that_did_not_run_says_so() -> None:
    """After SIGSTOP the controller cannot tell who was silent: it was deaf itself."""
    scheduler, calls = begin(1)
    scheduler.run_for(1_500)
    scheduler.now_ms += 20_000
    scheduler.run_for(1_000)
    assert calls.granted == 1
    assert not calls.fenced


def test_elections_by_the_clock() -> None:
    scheduler, calls = begin(1, leader_imbalance_check_interval_ms=60_000)
    start_ms = scheduler.monotonic_ms()
    calls.session_ms = 10_000_000
    scheduler.run_for(301_000)
    turns = [round(at - start_ms) for at in calls.balanced]
    # What is too much for one turn goes on at once.
    assert turns == [60_000, 60_001, 120_001, 180_001, 240_001, 300_001]
    assert calls.elected == 1


def test_no_rebalance_where_it_is_switched_off() -> None:
    scheduler, calls = begin(1, leader_imbalance_check_interval_ms=0)
    scheduler.run_for(700_000)
    assert not calls.balanced


def test_stopped() -> None:
    scheduler = SimScheduler()
    calls = Calls(scheduler)
    running = timers(scheduler, calls, 1, 2)
    running.start()
    running.stop()
    scheduler.run_for(1_000_000)
    assert (calls.looked, calls.no_ops, calls.balanced, calls.elected) == (0, 0, [], 0)
    assert scheduler.pending() == 0


def test_stopped_by_its_own_call() -> None:
    """To fence may be how a controller learns that it leads no more."""
    scheduler = SimScheduler()
    calls = Calls(scheduler)
    running = timers(scheduler, calls, 1)
    calls.fence_expired = running.stop  # type: ignore[method-assign]
    running.start()
    scheduler.run_for(20_000)
    assert scheduler.pending() == 0


def test_tokens_that_expired_go_by_the_clock_where_there_are_tokens() -> None:
    for key, turns in ((TokenKey("a key"), [60_000, 60_001, 120_001]), (None, [])):
        scheduler, calls = begin(1, token_key=key, delegation_token_expiry_check_interval_ms=60_000)
        start_ms = scheduler.monotonic_ms()
        calls.session_ms = 10_000_000
        scheduler.run_for(121_000)
        assert [round(at - start_ms) for at in calls.removed] == turns


def test_tokens_may_have_a_time_of_their_own() -> None:
    scheduler, of_tokens = SimScheduler(1), SimScheduler(2)
    calls = Calls(scheduler)
    settings = ControllerSettings(
        node_id=1,
        cluster_id="c",
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(1),
        token_key=TokenKey("a key"),
        delegation_token_expiry_check_interval_ms=60_000,
    )
    ControllerTimers(settings, scheduler, calls, of_tokens).start()
    scheduler.run_for(121_000)
    assert calls.removed == [] and calls.fenced
    of_tokens.run_for(60_000)
    assert len(calls.removed) == 1
