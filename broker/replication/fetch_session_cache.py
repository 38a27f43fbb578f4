"""The fetch sessions of a broker (KIP-227): created, found by id, and evicted to make room.

Owns the sessions, at most `max.incremental.fetch.session.cache.slots`. A session that was not used
for `min.incremental.fetch.session.eviction.ms` gives its place to a new one. Never handles what a
session remembers of its partitions (`broker.replication.fetch_session`).

Follows Kafka's `FetchSessionCache`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from broker.replication.fetch_session import (
    NO_REPLICA,
    NO_SESSION,
    FetchSession,
    FollowerSession,
)
from broker.replication.partition import Partition
from protocol.errors import ErrorCode


class FetchSessionCache:
    """All fetch sessions of a broker, least recently used first."""

    def __init__(
        self,
        slots: int,
        eviction_ms: int,
        random_bytes: Callable[[int], bytes],
        on_change: Callable[[FetchSession, Partition], None],
        serves_consumers_from_followers: bool = False,
    ) -> None:
        """Create an empty cache.

        `serves_consumers_from_followers`: whether a replica selector is configured, which sends
        consumers to followers.
        """
        self.slots = slots
        self.eviction_ms = eviction_ms
        self.serves_consumers_from_followers = serves_consumers_from_followers
        self._random_bytes = random_bytes
        self._on_change = on_change
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[FetchSession]:
        """Return an iterator over the sessions, least recently used first."""
        return iter(self._sessions.values())

    def create(
        self,
        partition_count: int,
        uses_topic_ids: bool,
        now_ms: float,
        replica_id: int = NO_REPLICA,
    ) -> FetchSession | None:
        """Add a new session to the cache and return it, maybe after the eviction of another
        session. None: the cache is full, and the fetch goes without a session.

        `replica_id` is the follower's broker id, -1 for a consumer. `partition_count` is the size
        of the new session.
        """
        if len(self._sessions) >= self.slots and not self._evict(
            partition_count, now_ms, replica_id
        ):
            return None
        session_id = self._new_id()
        session: FetchSession
        if replica_id == NO_REPLICA:
            session = FetchSession(session_id, uses_topic_ids, now_ms, self._on_change)
        else:
            wakes = self.serves_consumers_from_followers
            session = FollowerSession(
                session_id, uses_topic_ids, now_ms, self._on_change, replica_id, wakes
            )
        self._sessions[session_id] = session
        return session

    def resume(
        self,
        session_id: int,
        epoch: int,
        uses_topic_ids: bool,
        now_ms: float,
        replica_id: int = NO_REPLICA,
    ) -> FetchSession | ErrorCode:
        """Return the session that an incremental request continues, which counts as a use of it.
        Return the error of the request if the id, the epoch or the use of topic ids does not
        match."""
        session = self._sessions.get(session_id)
        if session is None or session.replica_id != replica_id:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        self.touch(session, now_ms)
        return session

    def only_reader_of(
        self,
        partition: Partition,
        session_id: int,
        epoch: int,
        uses_topic_ids: bool,
        replica_id: int = NO_REPLICA,
    ) -> FetchSession | None:
        """Return the reader's session if it has `partition` and no changes of other partitions.

        Return None otherwise, also if the request does not match the session.
        """
        session = self._sessions.get(session_id)
        if (
            session is None
            or session.epoch != epoch
            or session.replica_id != replica_id
            or session.uses_topic_ids != uses_topic_ids
        ):
            return None
        wanted = session.by_partition.get(partition)
        changed = session.changed
        if wanted is None or len(changed) > 1 or (changed and wanted.key not in changed):
            return None
        return session

    def touch(self, session: FetchSession, now_ms: float) -> None:
        """Set the time of the last use of `session`, and make it the last to be evicted."""
        session.touch(now_ms)
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)

    def remove(self, session_id: int) -> bool:
        """Remove and close this session. Return whether it existed."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        session.close()
        return True

    def _evict(self, partition_count: int, now_ms: float, replica_id: int) -> bool:
        """Evict a session to make room. Return whether there was one to evict.

        That is the oldest session if it was unused for `eviction_ms`. Otherwise it is the consumer
        session with the fewest partitions. A new follower evicts it in any case, a new consumer
        only if it is old enough and smaller than the new session. No consumer evicts a follower
        that is in use.
        """
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        victim = oldest if now_ms - oldest.last_used_ms > self.eviction_ms else None
        consumers = [s for s in self._sessions.values() if s.replica_id == NO_REPLICA]
        if victim is None and consumers:
            smallest = min(consumers, key=lambda s: len(s.partitions))
            settled = now_ms - smallest.created_ms > self.eviction_ms
            if replica_id != NO_REPLICA or (settled and len(smallest.partitions) < partition_count):
                victim = smallest
        if victim is None:
            return False
        self.remove(victim.session_id)
        return True

    def _new_id(self) -> int:
        """Return a random session id that is neither 0 nor in use."""
        while True:
            session_id = int.from_bytes(self._random_bytes(4), "big") & 0x7FFFFFFF
            if session_id != NO_SESSION and session_id not in self._sessions:
                return session_id
