"""The copying of partitions from a leader, by one connection, one request at a time.

Owns which partitions it copies, which of them wait after an error, and the loop: send a Fetch, give
each partition its part of the response (`broker.replication.followed_partition`), fetch again. A
request names only the partitions that moved, and a response only those with news, so that an idle
partition costs nothing.

Never decides leadership: `ReplicaFetcherManager` adds and removes the partitions. An error of a
partition delays only that partition, a failed request delays all.

Follows Kafka's `AbstractFetcherThread`, `ReplicaFetcherThread`, `RemoteLeaderEndPoint`; KIP-227
(sessions), KIP-320 (epochs), KIP-595 (diverging epochs), KIP-903 (broker epochs).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from broker.replication.fetch_session_handler import FetchSessionHandler
from broker.replication.fetcher_settings import FetcherSettings
from broker.replication.followed_partition import (
    FetchKey,
    FollowedPartition,
    FollowerState,
    Position,
)
from broker.replication.leader_log_bounds import LeaderLogBounds
from broker.replication.partition import Partition
from broker.requests.tracer import FollowerFetchTimes
from ground.ports import Channel, ChannelFailure, Scheduler, Timer
from protocol.errors import ErrorCode
from protocol.frames.replica_fetch_codec import OneFetched
from protocol.messages.fetch import FetchResponse, PartitionData
from protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from storage.log.log_dir_failure import LogDirFailure

_log = logging.getLogger(f"ottla.{__name__}")

FIRST_BACKOFF_MS = 50
FAILURES_WORTH_A_WARNING = 4

_DENIALS = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
_SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


class ReplicaFetcher:
    """A fetcher of some of the partitions of a leader."""

    def __init__(
        self,
        name: str,
        leader_id: int,
        connect: Callable[[], Channel],
        scheduler: Scheduler,
        settings: FetcherSettings,
    ) -> None:
        """Create a fetcher without partitions, with a channel to the leader that `connect()`
        opens."""
        self.name = name
        self.leader_id = leader_id
        self._connect = connect
        self._channel = connect()
        self._scheduler = scheduler
        self._settings = settings
        self._session = FetchSessionHandler(settings)
        self._followed: dict[FetchKey, FollowedPartition] = {}
        self._delayed: dict[FetchKey, FollowedPartition] = {}
        self._bounds = LeaderLogBounds(settings.node_id, settings.replica_socket_timeout_ms)
        self.failed: dict[Partition, None] = {}
        """Partitions that are not copied until their leader epoch changes.

        Their disk failed, or the leader has a later epoch.
        """
        # Answers to requests of an earlier generation are ignored.
        self._generation = 0
        self._busy = False
        self._waits_for_data = False
        self._failures = 0
        self._traced: FollowerFetchTimes | None = None
        """The Fetch whose answer is being processed, if a tracer wants its times."""
        self._interrupted_ms = float("-inf")
        self._step_soon = False
        self._retry: Timer | None = None
        self._backs_off = False
        self._closed = False

    # ---- partitions ------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of partitions, including those that failed."""
        return len(self._followed) + len(self.failed)

    def partitions(self) -> list[FollowedPartition]:
        """Return the partitions that are copied or wait."""
        return list(self._followed.values())

    def add(self, partition: Partition) -> None:
        """Copy `partition` under its current leader epoch; do nothing if it is copied already. If
        its disk fails now, it is added to `failed`."""
        key = (partition.topic_id, partition.index)
        current = self._followed.get(key)
        if (
            current is not None
            and current.leader_epoch == partition.leader_epoch
            and current.partition is partition
        ):
            return
        self.remove(partition)
        followed = FollowedPartition(partition)
        try:
            followed.begin()
        except LogDirFailure:
            self.failed[partition] = None
            return
        self._followed[key] = followed
        self._session.mark(key)
        self._interrupt()
        self._wake()

    def remove(self, partition: Partition) -> None:
        """Stop copying `partition`; the next fetch removes it from the session."""
        self.failed.pop(partition, None)
        key = (partition.topic_id, partition.index)
        if self._followed.pop(key, None) is not None:
            self._delayed.pop(key, None)
            self._bounds.drop(key)
            self._session.mark(key)

    def mark(self, partition: Partition) -> None:
        """Name a partition in the next fetch because its log changed on this broker alone. Do
        nothing if it is not copied."""
        key = (partition.topic_id, partition.index)
        if key in self._followed:
            self._session.mark(key)

    def reconnect(self) -> None:
        """Connect to the leader's new address, and abandon a pending request. The next request, in
        a new session, follows in a later turn."""
        self._replace_channel()
        self._backs_off = False
        self._wake()

    def close(self) -> None:
        """Stop fetching for good and close the connection."""
        self._closed = True
        self._generation += 1
        self._cancel_retry()
        self._channel.close()

    # ---- the loop --------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Send the next request in a later turn of the loop, unless a request is under way."""
        if not self._step_soon and not self._busy:
            self._step_soon = True  # partitions that are added together share a request
            self._scheduler.call_soon(self._step_now)

    def _step_now(self) -> None:
        """Send the next request, as `_wake` has scheduled."""
        self._step_soon = False
        self._send_next()

    def _send_next(self) -> None:
        """Send the next request, unless a request is under way or the fetcher backs off.

        Offsets of the leader are asked for before data.
        """
        if self._closed or self._busy or self._backs_off:
            return
        if self._retry is not None:
            self._cancel_retry()
        if self._delayed:
            self._resume()
        if self._bounds:
            bounds_request = self._bounds.request()
            self._send(bounds_request, lambda response: self._take_bounds(bounds_request, response))
            return
        wait_ms = self._wait_ms()
        request = self._session.request(wait_ms, self._followed, self._fetch_position)
        if request is not None:
            self._waits_for_data = True
            self._send(request, self._take_fetched)
        elif self._delayed:
            self._go_on_after(wait_ms)

    def _fetch_position(self, key: FetchKey) -> Position | None:
        """Return where to fetch the partition, or None while it cannot be fetched.

        A throttled partition that lags is delayed.
        """
        followed = self._followed.get(key)
        if followed is None or followed.state is not FollowerState.FETCHING:
            return None
        if followed.lag != 0 and self._settings.is_throttled(followed.partition):
            self._delay(followed, self._settings.replica_fetch_backoff_ms)
            return None
        return followed.position

    def _wait_ms(self) -> int:
        """Return how long the leader may wait for data, in ms: at most `replica.fetch.wait.max.ms`,
        and only until a delayed partition is due."""
        longest_ms = max(1, self._settings.replica_fetch_wait_max_ms)
        if not self._delayed:
            return longest_ms
        first_ms = min(followed.due_ms for followed in self._delayed.values())
        return max(1, int(min(longest_ms, first_ms - self._scheduler.monotonic_ms())))

    def _resume(self) -> None:
        """Include the partitions in fetches again whose delay is over."""
        now_ms = self._scheduler.monotonic_ms()
        for key, followed in list(self._delayed.items()):
            if followed.due_ms <= now_ms:
                del self._delayed[key]
                followed.resume()
                self._session.mark(key)

    def _send(self, request: Any, answered: Callable[[Any], None]) -> None:
        """Send a request; `answered` gets only a response, then the next request is sent.

        A failure backs off. Answers of an earlier connection are dropped.
        """
        generation = self._generation
        self._busy = True
        tracer = self._settings.tracer
        sent_s = 0.0 if tracer is None else tracer.clock_s()

        def done(response: Any, failure: ChannelFailure | None) -> None:
            """Process the response, or back off after a failure, then send the next request. Ignore
            an answer of an earlier connection."""
            if generation != self._generation:
                return
            self._busy = self._waits_for_data = False
            if tracer is not None:
                self._traced = FollowerFetchTimes(self.leader_id, sent_s, tracer.clock_s())
            if failure is not None:
                self._request_failed(failure)
            else:
                answered(response)
            self._send_next()

        self._channel.send(request, done, self._settings.replica_socket_timeout_ms)

    def _request_failed(self, failure: ChannelFailure) -> None:
        """Log that the leader did not answer, abandon the fetch session and back off."""
        level = logging.INFO if self._failures else logging.WARNING
        _log.log(
            level, "%s: no answer from broker %d: %s", self.name, self.leader_id, failure.value
        )
        self._session.lost()
        self._back_off()

    def _back_off(self) -> None:
        """Send nothing for a while: short at first, up to `replica.fetch.backoff.ms`."""
        self._failures += 1
        self._backs_off = True
        longest_ms = self._settings.replica_fetch_backoff_ms
        self._go_on_after(min(longest_ms, FIRST_BACKOFF_MS << min(self._failures - 1, 16)))

    def _go_on_after(self, delay_ms: float) -> None:
        """Send the next request after `delay_ms`; this replaces an earlier delay."""

        def retry() -> None:
            """Send the next request, because the delay is over."""
            self._retry = None
            self._backs_off = False
            self._send_next()

        self._cancel_retry()
        self._retry = self._scheduler.call_later(delay_ms, retry)

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _interrupt(self) -> None:
        """Abandon a request that waits for data, so that an added partition is fetched at once.

        Its session is abandoned, too. Do this at most once in `replica.fetch.backoff.ms`.
        """
        now_ms = self._scheduler.monotonic_ms()
        if not self._waits_for_data:
            return
        if now_ms - self._interrupted_ms < self._settings.replica_fetch_backoff_ms:
            return
        self._interrupted_ms = now_ms
        self._replace_channel()

    def _replace_channel(self) -> None:
        """Abandon the pending request with its session, and open another channel."""
        self._generation += 1
        self._busy = self._waits_for_data = False
        self._session.lost()
        self._channel.close()
        self._channel = self._connect()

    # ---- responses -------------------------------------------------------------------------------

    def _take_fetched(self, response: FetchResponse | OneFetched) -> None:
        """Apply each partition's part of the response to a Fetch.

        A first error of the session starts a new session at once; any other error of the whole
        response backs off.
        """
        if isinstance(response, OneFetched):
            self._failures = 0
            self._session.answered(response.session_id)
            self._take_partition((response.topic_id, response.partition), response)
            return
        error = ErrorCode(response.error_code)
        if error:
            self._session.refused(error)
            self._note_denial(error)
            if error not in _SESSION_ERRORS or self._failures:
                _log.warning("%s: broker %d refused: %s", self.name, self.leader_id, error.name)
                self._back_off()
            else:
                self._failures = 1  # a second error in a row waits
            return
        self._failures = 0
        self._session.answered(response.session_id)
        for topic in response.responses:
            for data in topic.partitions:
                self._take_partition((topic.topic_id, data.partition_index), data)

    def _take_partition(self, key: FetchKey, data: PartitionData | OneFetched) -> None:
        """Apply a partition's part of a response to its log. After an error, delay the partition.

        Ignores it if the partition is no longer fetched, or if its epoch or offset has changed
        since the request.
        """
        followed, sent_position = self._followed.get(key), self._session.sent_positions.get(key)
        if (
            followed is None
            or sent_position is None
            or followed.state is not FollowerState.FETCHING
        ):
            return
        before = followed.position
        if sent_position[:2] != before[:2]:  # the request was for another epoch or offset
            return
        try:
            if isinstance(data, OneFetched):
                error = self._append(followed, data)
            else:
                error = self._apply_partition(followed, data)
        except LogDirFailure:
            error = ErrorCode.KAFKA_STORAGE_ERROR
        if error:
            self._partition_failed(followed, error)
        elif data.records or followed.position != before:
            self._session.mark(key)

    def _apply_partition(self, followed: FollowedPartition, data: PartitionData) -> ErrorCode:
        """Append the data, or truncate the log at the leader's diverging epoch. If the log is out
        of range, request the leader's bounds; if the leader has a later epoch, add the partition to
        `failed`.

        Return the error for which the partition must be delayed, or NONE. Raises LogDirFailure.
        """
        error = ErrorCode(data.error_code)
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            followed.out_of_range()
            self._bounds.add(followed)
            self._session.mark(followed.key)
            return ErrorCode.NONE
        if error is ErrorCode.FENCED_LEADER_EPOCH:
            # The metadata with the later epoch follows, and adds the partition again.
            _log.info("%r: the leader has a later epoch", followed)
            self._mark_failed(followed)
            return ErrorCode.NONE
        if error:
            return error
        diverging = data.diverging_epoch
        if diverging is not None and diverging.epoch >= 0:
            before = followed.position
            followed.truncate_on_divergence(diverging.epoch, diverging.end_offset)
            self._settings.truncated()
            # The same fetch would get the same answer, so it is delayed.
            return ErrorCode.NONE if followed.position != before else ErrorCode.OFFSET_OUT_OF_RANGE
        return self._append(followed, data)

    def _append(self, followed: FollowedPartition, data: PartitionData | OneFetched) -> ErrorCode:
        """Append the data, adopt the leader's watermarks, and count the bytes. A tracer gets the
        append.

        Return the error of the append. Raises LogDirFailure.
        """
        if data.records:
            self._settings.count_bytes(followed.partition, len(data.records))  # type: ignore[arg-type]
        if self._settings.tracer is None or self._traced is None:
            return followed.take(data)
        before = followed.partition.log.log_end_offset
        error = followed.take(data)
        if followed.partition.log.log_end_offset > before:
            self._settings.tracer.record_copy(followed.partition, before, self._traced)
        return error

    def _note_denial(self, error: ErrorCode) -> None:
        """Call the `refused_by` of the settings if the error says that the leader denies this
        broker its fetches.

        Followers need no right on a topic, so the denial is about the broker.
        """
        if error in _DENIALS:
            self._settings.refused_by(self.leader_id, "FETCH")

    def _partition_failed(self, followed: FollowedPartition, error: ErrorCode) -> None:
        """Delay a partition after an error, for a growing time, and log it. If its disk failed, add
        it to `failed` instead."""
        if self._followed.get(followed.key) is not followed:
            return  # removed meanwhile, as all partitions of a failed disk
        if followed.partition.log.offline:
            self._mark_failed(followed)
            return
        self._note_denial(error)
        delay_ms = followed.retry_ms(self._settings.replica_fetch_backoff_ms)
        level = logging.WARNING if followed.failures == FAILURES_WORTH_A_WARNING else logging.DEBUG
        _log.log(level, "%r: %s; trying again in %d ms", followed, error.name, delay_ms)
        self._delay(followed, delay_ms)

    def _delay(self, followed: FollowedPartition, delay_ms: float) -> None:
        """Fetch the partition again only after `delay_ms`."""
        followed.delay(self._scheduler.monotonic_ms() + delay_ms)
        self._delayed[followed.key] = followed
        self._session.mark(followed.key)

    def _mark_failed(self, followed: FollowedPartition) -> None:
        """Stop fetching the partition and add it to `failed`, until the metadata adds it again."""
        self.remove(followed.partition)
        self.failed[followed.partition] = None

    # ---- out of range ----------------------------------------------------------------------------

    def _take_bounds(self, request: ListOffsetsRequest, response: ListOffsetsResponse) -> None:
        """Move the logs into the leader's bounds; a partition that was out of range fetches again.

        A partition with an error, or whose log stays as it was, is delayed.
        """
        self._failures = 0
        for followed, error, start, end in self._bounds.answered(request, response):
            if error is ErrorCode.FENCED_LEADER_EPOCH:
                self._mark_failed(followed)
                continue
            moved = False
            if not error:
                with suppress(LogDirFailure):
                    moved = followed.take_bounds(start, end)
                    self._settings.truncated()
            if moved:
                followed.resume()
                self._session.mark(followed.key)
            else:
                self._partition_failed(followed, error or ErrorCode.OFFSET_OUT_OF_RANGE)
