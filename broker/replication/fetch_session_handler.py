"""The follower's side of a fetch session: each request names only what changed since the last.

Owns the position of every partition in the session that the leader knows (KIP-227). Never reads a
log or decides what is fetched; `broker.replication.replica_fetcher` marks the partitions that may
have changed.

Follows Kafka's `FetchSessionHandler`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker.replication.fetch_session import INITIAL_EPOCH, LAST_EPOCH, NO_SESSION
from broker.replication.fetcher_settings import FetcherSettings
from broker.replication.followed_partition import FetchKey, Position
from protocol.errors import ErrorCode
from protocol.frames.replica_fetch_codec import ReplicaFetchOne, ReplicaFetchRequest
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

PositionOf = Callable[[FetchKey], Position | None]
"""A lookup of the position from which to fetch a partition; None if it is not fetched."""


class FetchSessionHandler:
    """A fetch session with a leader."""

    def __init__(self, settings: FetcherSettings) -> None:
        self._settings = settings
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.sent_positions: dict[FetchKey, Position] = {}
        """The positions that the leader knows, by partition."""
        self._dirty: dict[FetchKey, None] = {}

    def mark(self, key: FetchKey) -> None:
        """Mark a partition that was added, moved or removed; the next request names it if its
        position has changed."""
        self._dirty[key] = None

    def request(
        self, wait_ms: int, everything: Iterable[FetchKey], position_of: PositionOf
    ) -> ReplicaFetchOne | ReplicaFetchRequest | None:
        """Return the next Fetch, of the marked partitions that changed, or of `everything` in a new
        session. Their positions count as sent, and the marks are cleared.

        Return None if there is nothing to fetch and nothing to forget.
        """
        settings = self._settings
        if len(self._dirty) == 1 and self.epoch != INITIAL_EPOCH:
            (key,) = self._dirty
            position = position_of(key)
            if position is not None and self.sent_positions.get(key) != position:
                return self._request_for_one(wait_ms, key, position)
        request = ReplicaFetchRequest(
            replica_state=ReplicaState(settings.node_id, settings.broker_epoch()),
            max_wait_ms=wait_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
        )
        return request if self._fill(request, everything, position_of) else None

    def _request_for_one(self, wait_ms: int, key: FetchKey, position: Position) -> ReplicaFetchOne:
        """Return a request for the only partition that has changed.

        Stores its position as sent and clears the marks.
        """
        settings = self._settings
        self.sent_positions[key] = position
        self._dirty = {}
        topic_id, index = key
        leader_epoch, fetch_offset, log_start, last_epoch = position
        return ReplicaFetchOne(
            wait_ms,
            settings.replica_fetch_min_bytes,
            settings.replica_fetch_response_max_bytes,
            self.session_id,
            self.epoch,
            topic_id,
            index,
            leader_epoch,
            fetch_offset,
            last_epoch,
            log_start,
            settings.replica_fetch_max_bytes,
            settings.node_id,
            settings.broker_epoch(),
        )

    def _fill(
        self, request: FetchRequest, everything: Iterable[FetchKey], position_of: PositionOf
    ) -> bool:
        """Add to `request` the session and the partitions that changed or that are to be forgotten.
        Store their positions as sent, and clear the marks. Return False if the session has no
        partition and forgets none."""
        begins = self.epoch == INITIAL_EPOCH
        if begins:
            self.sent_positions = {}
        topics: dict[bytes, FetchTopic] = {}
        forgotten: dict[bytes, ForgottenTopic] = {}
        for key in everything if begins else self._dirty:
            position = position_of(key)
            if position is None:
                if self.sent_positions.pop(key, None) is not None:
                    topic_id, index = key
                    forgotten.setdefault(topic_id, ForgottenTopic("", topic_id)).partitions.append(
                        index
                    )
            elif self.sent_positions.get(key) != position:
                self.sent_positions[key] = position
                topic_id, index = key
                topics.setdefault(topic_id, FetchTopic("", topic_id)).partitions.append(
                    self._fetch_partition(index, position)
                )
        self._dirty = {}
        request.session_id, request.session_epoch = self.session_id, self.epoch
        request.topics = list(topics.values())
        request.forgotten_topics_data = list(forgotten.values())
        return bool(self.sent_positions or forgotten)

    def _fetch_partition(self, index: int, position: Position) -> FetchPartition:
        """Return the partition's part of a Fetch request."""
        leader_epoch, fetch_offset, log_start, last_epoch = position
        return FetchPartition(
            index,
            leader_epoch,
            fetch_offset,
            last_epoch,
            log_start,
            self._settings.replica_fetch_max_bytes,
        )

    def answered(self, session_id: int) -> None:
        """Set the session of an answer without error, and the epoch of the next request. 0: the
        leader has no room for a session, so the next request names all partitions."""
        self.session_id = session_id
        if session_id == NO_SESSION:
            self.epoch = INITIAL_EPOCH
        else:
            self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1

    def refused(self, error: ErrorCode) -> None:
        """Let the next request begin another session, because the leader does not know this
        session, or not its epoch.

        If the leader knows the session, the next request names it and so closes it.
        """
        if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH

    def lost(self) -> None:
        """Let the next request begin another session: it is unknown whether the leader has seen the
        last request."""
        self.epoch = INITIAL_EPOCH
