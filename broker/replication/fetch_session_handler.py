"""A follower's side of a fetch session: each request names only what changed since the last one.

Owns what the leader was told of every partition in the session (KIP-227). Never reads a log or
decides what is fetched; `broker.replication.replica_fetcher` marks what may have changed.

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

Wanted = Callable[[FetchKey], Position | None]
"""The position from which a partition is to be fetched; None where it is not."""


class FetchSessionHandler:
    """One session with one leader."""

    def __init__(self, settings: FetcherSettings) -> None:
        self._settings = settings
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self.told: dict[FetchKey, Position] = {}
        """What the leader knows, partition by partition."""
        self._dirty: dict[FetchKey, None] = {}

    def mark(self, key: FetchKey) -> None:
        """A partition came, moved or went: the next request may have to say so."""
        self._dirty[key] = None

    def request(
        self, wait_ms: int, everything: Iterable[FetchKey], wanted: Wanted
    ) -> ReplicaFetchOne | ReplicaFetchRequest | None:
        """The next Fetch: of what changed, or of `everything` where a session begins.

        None where there is nothing to fetch and nothing to forget.
        """
        settings = self._settings
        if len(self._dirty) == 1 and self.epoch != INITIAL_EPOCH:
            (key,) = self._dirty
            position = wanted(key)
            if position is not None and self.told.get(key) != position:
                return self._one(wait_ms, key, position)
        request = ReplicaFetchRequest(
            replica_state=ReplicaState(settings.node_id, settings.broker_epoch()),
            max_wait_ms=wait_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
        )
        return request if self._fill(request, everything, wanted) else None

    def _one(self, wait_ms: int, key: FetchKey, position: Position) -> ReplicaFetchOne:
        settings = self._settings
        self.told[key] = position
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

    def _fill(self, request: FetchRequest, everything: Iterable[FetchKey], wanted: Wanted) -> bool:
        """Name all that in `request`. False where that is nothing."""
        begins = self.epoch == INITIAL_EPOCH
        if begins:
            self.told = {}
        topics: dict[bytes, FetchTopic] = {}
        forgotten: dict[bytes, ForgottenTopic] = {}
        for key in everything if begins else self._dirty:
            position = wanted(key)
            if position is None:
                if self.told.pop(key, None) is not None:
                    topic_id, index = key
                    forgotten.setdefault(topic_id, ForgottenTopic("", topic_id)).partitions.append(
                        index
                    )
            elif self.told.get(key) != position:
                self.told[key] = position
                topic_id, index = key
                topics.setdefault(topic_id, FetchTopic("", topic_id)).partitions.append(
                    self._partition(index, position)
                )
        self._dirty = {}
        request.session_id, request.session_epoch = self.session_id, self.epoch
        request.topics = list(topics.values())
        request.forgotten_topics_data = list(forgotten.values())
        return bool(self.told or forgotten)

    def _partition(self, index: int, position: Position) -> FetchPartition:
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
        """The leader answered under this session; 0 where it has no room for one."""
        self.session_id = session_id
        if session_id == NO_SESSION:
            self.epoch = INITIAL_EPOCH
        else:
            self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1

    def refused(self, error: ErrorCode) -> None:
        """The leader does not know the session, or not this epoch of it: begin another.

        One that it knows is closed by naming it.
        """
        if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH

    def lost(self) -> None:
        """No answer: whether the leader saw the request is not known, so begin another session."""
        self.epoch = INITIAL_EPOCH
