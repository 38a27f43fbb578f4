"""Deadlines of members."""

from __future__ import annotations

from broker.groups.consumer.timers import MemberTimers
from broker.groups.member_deadlines import RETRY_MS, Again
from broker.groups.reconciliation.member_state import STABLE, UNREVOKED_PARTITIONS
from broker.groups.reconciliation.position import MemberPosition
from ground.sim_scheduler import SimScheduler

STAYS = MemberPosition[bytes](2, 1, STABLE)
TOLD = MemberPosition[bytes](2, 2, UNREVOKED_PARTITIONS)


class Watch:
    """Timers, and what they said."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.said: list[str] = []
        self.timers = MemberTimers(
            self.scheduler,
            lambda group, member, why, again: self.say(f"{group} {member}: {why}", again),
            lambda group, member, epoch, again: self.say(
                f"{group} {member} late at {epoch}", again
            ),
        )

    def say(self, what: str, again: Again) -> None:
        self.said.append(what)
        self.again = again


def test_a_session_ends_when_nobody_is_heard() -> None:
    watch = Watch()
    watch.timers.extend_session("g", "m", 100)
    watch.scheduler.run_for(90)
    watch.timers.extend_session("g", "m", 100)
    watch.scheduler.run_for(99)
    assert watch.said == []
    watch.scheduler.run_for(1)
    assert watch.said == ["g m: its session expired"]


def test_what_is_to_be_given_up_has_its_time() -> None:
    watch = Watch()
    watch.timers.position_changed("g", "m", TOLD, 100)
    watch.scheduler.run_for(100)
    assert watch.said == ["g m late at 2"]


def test_who_moved_on_is_in_time() -> None:
    watch = Watch()
    watch.timers.position_changed("g", "m", TOLD, 100)
    watch.timers.position_changed("g", "m", STAYS, 100)
    watch.timers.position_changed("g", "n", TOLD, -1)
    watch.timers.forget("g", "n")
    watch.scheduler.run_for(1000)
    assert watch.said == []
    assert watch.scheduler.pending() == 0


def test_nothing_is_expected_of_those_who_are_gone_or_led_elsewhere() -> None:
    watch = Watch()
    for member in ("m", "n"):
        watch.timers.extend_session("g", member, 100)
        watch.timers.position_changed("g", member, TOLD, 100)
    watch.timers.forget("g", "m")
    watch.timers.forget("g", "unknown")
    watch.timers.stop()
    watch.scheduler.run_for(1000)
    assert watch.said == []


def test_who_has_to_come_back_has_one_deadline_for_it() -> None:
    watch = Watch()
    watch.timers.await_return("g", "m", 100)
    watch.scheduler.run_for(60)
    watch.timers.await_return("g", "m", 100)
    watch.scheduler.run_for(40)
    assert watch.said == ["g m: it did not join or sync within its rebalance time-out"]
    watch.timers.await_return("g", "n", 100)
    watch.timers.stop_awaiting("g", "n")
    watch.timers.stop_awaiting("g", "unknown")
    watch.scheduler.run_for(1000)
    assert len(watch.said) == 1


def test_a_removal_that_was_not_written_is_tried_again() -> None:
    watch = Watch()
    watch.timers.extend_session("g", "m", 100)
    watch.timers.position_changed("g", "n", TOLD, 5000)
    watch.timers.await_return("g", "o", 9000)
    for _ in range(3):
        watch.scheduler.run_for(5000)
        watch.again()
        told = len(watch.said)
        watch.scheduler.run_for(RETRY_MS - 1)
        assert len(watch.said) == told
        watch.scheduler.run_for(1)
        assert watch.said[-1] == watch.said[-2] and len(watch.said) == told + 1


def test_who_was_heard_of_since_or_is_gone_is_not_removed_by_a_second_try() -> None:
    """The first may have been replayed, and its commit came too late to be told: the member has
    joined again meanwhile, with a whole session."""
    watch = Watch()
    watch.timers.extend_session("g", "m", 100)
    watch.timers.position_changed("g", "n", TOLD, 200)
    watch.scheduler.run_for(100)
    of_session = watch.again
    watch.timers.extend_session("g", "m", 5000)
    of_session()
    watch.scheduler.run_for(100)
    watch.timers.position_changed("g", "n", TOLD, 5000)
    watch.again()
    watch.timers.forget("g", "m")
    watch.timers.extend_session("g", "m", 5000)
    of_session()
    watch.scheduler.run_for(4999)
    assert watch.said == ["g m: its session expired", "g n late at 2"]
