"""The state of a follower on its leader: how far it has copied, and when it last caught up.

Owns what a follower's fetches reported. Only fetches of the current leader epoch change it
(`broker.replication.followers` ensures that). Never decides which replicas are in sync. Follows
Kafka's `Replica` and `ReplicaState`.

A fetch session stands in for its idle partitions. A follower that has read to the end of a
partition, and still fetches in the same session, is caught up there as of its last fetch. That
takes no work for the partition. `session` is that session until the partition changes or the
follower fetches it again.
"""

from __future__ import annotations

from typing import Protocol

NEVER = float("-inf")
UNKNOWN_OFFSET = -1
NO_BROKER_EPOCH = -1


class ReplicaSession(Protocol):
    """The fetch session of a follower."""

    last_used_ms: float
    """The time of the last fetch in the session (monotonic)."""


class Replica:
    """A follower of a partition. Times are monotonic milliseconds."""

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
        """The broker epoch of the follower's last fetch; None before the first."""
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
        """The last time at which the follower had read everything that the leader then had."""
        session = self.session
        if session is None or session.last_used_ms < self._caught_up_ms:
            return self._caught_up_ms
        return session.last_used_ms

    def is_caught_up(self, leader_end: int, now_ms: float, lag_max_ms: float) -> bool:
        """Return whether the follower lacks nothing, or did so within the last `lag_max_ms`."""
        return self.log_end_offset == leader_end or now_ms - self.caught_up_ms <= lag_max_ms

    def fetched(
        self, offset: int, log_start: int, leader_end: int, broker_epoch: int, now_ms: float
    ) -> None:
        """Store a fetch at `offset`: the follower has all records before it. It may count as caught
        up now. A session no longer stands in for it.

        `leader_end` is the leader's current end. A follower that is always a little behind counts
        as caught up if it fetches from the leader's end at its previous fetch.
        """
        if self.session is not None:
            self.detach_session()
        if offset >= leader_end:
            self._caught_up_ms = max(self._caught_up_ms, now_ms)
        elif offset >= self._last_fetch_leader_end:
            self._caught_up_ms = max(self._caught_up_ms, self._last_fetch_ms)
        self.log_end_offset = offset
        self.log_start_offset = log_start
        self._last_fetch_leader_end = max(self._last_fetch_leader_end, leader_end)
        self._last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def attach_session(self, session: ReplicaSession) -> None:
        """Let `session` stand in for the follower from now on: each fetch in the session counts as
        a fetch at the leader's end."""
        self.session = session

    def detach_session(self) -> None:
        """Detach the session that stands in for the follower, and keep its last fetch's time."""
        if self.session is not None:
            self._last_fetch_ms = self.session.last_used_ms
            self._caught_up_ms = max(self._caught_up_ms, self._last_fetch_ms)
            self.session = None

    def reset(self, leader_end: int, now_ms: float, *, in_sync: bool) -> None:
        """Begin a leader epoch: in-sync followers count as caught up now, the others as never. The
        offsets stay, and no session stands in for the follower."""
        self.session = None
        self._caught_up_ms = self._last_fetch_ms = now_ms if in_sync else NEVER
        self._last_fetch_leader_end = leader_end
