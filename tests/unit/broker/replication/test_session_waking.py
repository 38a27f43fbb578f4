from __future__ import annotations

from typing import cast

from broker.purgatory.delayed_operations import DelayedFetch
from broker.purgatory.purgatory import Purgatory
from broker.replication.fetch_session import NO_REPLICA, FetchSession
from broker.replication.partition import Partition
from broker.replication.session_waking import SessionWaking
from ground.sim_scheduler import SimScheduler


class Sessions:
    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.purgatory = Purgatory("Fetch", self.scheduler)
        self.waking = SessionWaking(self.purgatory, self.scheduler)
        self.reads: list[FetchSession] = []
        self.answered: list[FetchSession] = []

    def parked(self, replica_id: int, *, enough: bool = True) -> FetchSession:
        session = FetchSession(1, True, 0, self.waking.session_changed, replica_id)

        def read() -> bool:
            self.reads.append(session)
            return enough

        fetch = DelayedFetch(read, lambda: self.answered.append(session))
        self.purgatory.watch(fetch, [session], 500)
        return session

    def change(self, session: FetchSession) -> None:
        self.waking.session_changed(session, cast(Partition, None))


def test_a_consumer_is_answered_at_once() -> None:
    sessions = Sessions()
    consumer = sessions.parked(NO_REPLICA)
    sessions.change(consumer)
    assert sessions.answered == [consumer]


def test_what_is_appended_in_one_turn_goes_to_each_follower_at_once() -> None:
    sessions = Sessions()
    two, three = sessions.parked(2), sessions.parked(3, enough=False)
    for one in (two, three, two, three):
        sessions.change(one)
    assert sessions.reads == []
    sessions.scheduler.run_for(0)
    assert (sessions.reads, sessions.answered) == ([two, three], [two])
    sessions.change(three)  # and again in the next turn
    sessions.scheduler.run_for(0)
    assert sessions.reads == [two, three, three]


def test_nothing_is_scheduled_for_a_follower_that_does_not_wait() -> None:
    sessions = Sessions()
    gone = FetchSession(1, True, 0, sessions.waking.session_changed, 2)
    sessions.change(gone)
    assert sessions.scheduler.pending() == 0
