"""The wake-up of parked fetches of sessions after a change: consumers' at once, followers' soon.

The records that many clients append in one turn of the event loop go to each follower in one
response, and one fetch confirms them. With twenty transactional producers that saves most of the
cost of replication. A consumer's fetch is not delayed. Owns the followers' sessions that are to be
woken. Never reads a log.
"""

from __future__ import annotations

from broker.purgatory.purgatory import Purgatory
from broker.replication.fetch_session import NO_REPLICA, FetchSession
from broker.replication.partition import Partition
from ground.ports import Scheduler


class SessionWaking:
    """The wake-up of the sessions whose fetches wait in `purgatory`."""

    def __init__(self, purgatory: Purgatory, scheduler: Scheduler) -> None:
        self._purgatory = purgatory
        self._scheduler = scheduler
        self._followers: dict[FetchSession, None] = {}

    def session_changed(self, session: FetchSession, _partition: Partition) -> None:
        """Try the parked fetch of `session`, one of whose partitions has changed: a consumer's now,
        a follower's in the loop's next turn. A fetch that can be answered completes."""
        if session.replica_id == NO_REPLICA:
            self._purgatory.check(session)
        elif self._purgatory.is_watched(session):
            if not self._followers:
                self._scheduler.call_soon(self._wake_followers)
            self._followers[session] = None

    def _wake_followers(self) -> None:
        """Try the parked fetches of the followers whose sessions have changed since the last
        turn."""
        followers, self._followers = self._followers, {}
        for session in followers:
            self._purgatory.check(session)
