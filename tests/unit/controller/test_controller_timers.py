"""`controller.controller_timers`: what runs by the clock, and when it does not."""

from __future__ import annotations

from controller.controller_timers import ControllerTimers
from controller.settings import ControllerSettings
from tests.simulation.sim_scheduler import SimScheduler


class Calls:
    """Notes what the timers ask for."""

    def __init__(self) -> None:
        self.late: list[bool] = []
        self.no_ops = 0

    def fence_expired(self, late: bool) -> None:
        self.late.append(late)

    def write_no_op(self) -> None:
        self.no_ops += 1


def timers(scheduler: SimScheduler, calls: Calls, *voters: int) -> ControllerTimers:
    settings = ControllerSettings(
        node_id=1, cluster_id="c", directory_id=b"", metadata_log_dir="/d", voters=voters
    )
    return ControllerTimers(settings, scheduler, calls)


def test_sessions_are_looked_at_several_times_a_session() -> None:
    scheduler, calls = SimScheduler(), Calls()
    timers(scheduler, calls, 1).start()
    scheduler.run_for(9_000)
    assert calls.late == [False] * 6


def test_no_ops_only_where_somebody_else_looks() -> None:
    for voters, count in (((1,), 0), ((1, 2, 3), 4)):
        scheduler, calls = SimScheduler(), Calls()
        timers(scheduler, calls, *voters).start()
        scheduler.run_for(2_000)
        assert calls.no_ops == count


def test_a_process_that_did_not_run_says_so() -> None:
    """After SIGSTOP the controller cannot tell who was silent: it was deaf itself."""
    scheduler, calls = SimScheduler(), Calls()
    timers(scheduler, calls, 1).start()
    scheduler.run_for(1_500)
    scheduler.now_ms += 20_000
    scheduler.run_for(0)
    assert calls.late == [False, True]


def test_stopped() -> None:
    scheduler, calls = SimScheduler(), Calls()
    running = timers(scheduler, calls, 1, 2)
    running.start()
    running.stop()
    scheduler.run_for(60_000)
    assert (calls.late, calls.no_ops) == ([], 0)
    assert scheduler.pending() == 0
