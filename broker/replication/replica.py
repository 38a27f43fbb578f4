"""A follower as its leader knows it: how far it has copied, and when it had copied everything.

Owns what a follower's fetches told. Changes by fetches of the current leader epoch only
(`broker.replication.followers` sees to that). Never decides who is in sync. Follows Kafka's
`Replica` and `ReplicaState`.

A fetch session stands in for its idle partitions: a follower that has read to the end of a
partition, and goes on fetching in the same session, is caught up there as of its last fetch,
without a look at the partition. `session` is that session, for as long as nothing happens.
"""

from __future__ import annotations

from typing import Protocol

NEVER = float("-inf")
UNKNOWN_OFFSET = -1
NO_BROKER_EPOCH = -1


class ReplicaSession(Protocol):
    """The fetch session of a follower."""

    last_used_ms: float
    """When its last fetch came (monotonic)."""


class Replica:
    """One follower of one partition. Times are monotonic milliseconds."""

    __slots__ = (
        "_caught_up_ms",
        "_last_fetch_leader_end",
        "_last_fetch_ms",
        "broker_epoch",
        "broker_id",
        "log_end_offset",
        "log_start_offset",
        "session",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch: int | None = None
        """The epoch that its last fetch named; None before the first."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.session: ReplicaSession | None = None
        self._caught_up_ms = NEVER
        self._last_fetch_leader_end = UNKNOWN_OFFSET
        self._last_fetch_ms = NEVER

    def __repr__(self) -> str:
        return f"broker {self.broker_id} at {self.log_end_offset}"

    @property
    def caught_up_ms(self) -> float:
        """The last time at which it had read all that the leader then had."""
        session = self.session
        if session is None or session.last_used_ms < self._caught_up_ms:
            return self._caught_up_ms
        return session.last_used_ms

    def is_caught_up(self, leader_end: int, now_ms: float, lag_max_ms: float) -> bool:
        """Whether it misses nothing, or missed nothing `lag_max_ms` ago."""
        return self.log_end_offset == leader_end or now_ms - self.caught_up_ms <= lag_max_ms

    def fetched(
        self, offset: int, log_start: int, leader_end: int, broker_epoch: int, now_ms: float
    ) -> None:
        """It asks for `offset`, so it has all before; `leader_end` is the leader's end now.

        A follower that is always a little behind counts as caught up when it asks for what was
        the end at its fetch before.
        """
        if self.session is not None:
            self.rest()
        if offset >= leader_end:
            self._caught_up_ms = max(self._caught_up_ms, now_ms)
        elif offset >= self._last_fetch_leader_end:
            self._caught_up_ms = max(self._caught_up_ms, self._last_fetch_ms)
        self.log_end_offset = offset
        self.log_start_offset = log_start
        self._last_fetch_leader_end = max(self._last_fetch_leader_end, leader_end)
        self._last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def stand_in(self, session: ReplicaSession) -> None:
        """`session` stands in for it from now on."""
        self.session = session

    def rest(self) -> None:
        """Its session stands in for it no more: keep the time of the last fetch before this."""
        if self.session is not None:
            self._last_fetch_ms = self.session.last_used_ms
            self._caught_up_ms = max(self._caught_up_ms, self._last_fetch_ms)
            self.session = None

    def reset(self, leader_end: int, now_ms: float, *, in_sync: bool) -> None:
        """A leader epoch begins: nobody in sync is late yet, and nobody else nearly there."""
        self.session = None
        self._caught_up_ms = self._last_fetch_ms = now_ms if in_sync else NEVER
        self._last_fetch_leader_end = leader_end
