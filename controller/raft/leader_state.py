"""The state of a leader of the quorum: the progress of its replicas, and the high watermark.

Owns: the offset and the time of each voter's and observer's latest fetch, the high watermark, and
whether a majority has fetched lately (check-quorum). Never: sends, and never touches the log.

Follows KIP-595, KIP-835 (check-quorum as of KAFKA-15489) and Kafka's `LeaderState`.
"""

from __future__ import annotations

from dataclasses import dataclass

OBSERVERS_REMEMBERED_MS = 300_000
OBSERVERS_MAX = 1_000
"""The limit above which the observer that has been silent for longest is forgotten."""
CHECK_QUORUM_FACTOR = 1.5
"""The number of fetch time-outs without a majority of fetches after which a leader resigns."""


@dataclass(slots=True)
class ReplicaProgress:
    """The progress of a replica. Times are monotonic milliseconds; -1: never."""

    end_offset: int = -1
    fetched_ms: float = -1.0
    caught_up_ms: float = -1.0
    leader_end_offset: int = -1
    """The end of the leader's log at the latest fetch. A replica that later reaches it had caught
    up at the time of that fetch."""
    acknowledged: bool = False
    """Whether the replica has answered BeginQuorumEpoch, or fetched in this epoch."""


class LeaderState:
    """The state of one epoch of leadership."""

    def __init__(
        self, node_id: int, epoch: int, epoch_start: int, voters: tuple[int, ...], now_ms: float
    ) -> None:
        """Begin to lead `epoch`, whose LeaderChange record has the offset `epoch_start`. The wait
        for fetches of a majority starts at `now_ms`."""
        self.node_id = node_id
        self.epoch = epoch
        self.epoch_start = epoch_start
        """The offset of this epoch's LeaderChange record."""
        self.voters = {voter: ReplicaProgress() for voter in voters}
        self.voters[node_id].acknowledged = True
        self.observers: dict[int, ReplicaProgress] = {}
        """The observers, ordered by the time of their latest fetch."""
        self.high_watermark: int | None = None
        self._majority_ms = now_ms

    @property
    def majority(self) -> int:
        """The number of voters that is a majority."""
        return len(self.voters) // 2 + 1

    def flushed(self, end_offset: int) -> bool:
        """Raise this node's own end offset to `end_offset`, before which its log is durable. Return
        whether the high watermark has advanced."""
        own = self.voters[self.node_id]
        own.end_offset = max(own.end_offset, end_offset)
        return self._advance()

    def fetched(self, replica_id: int, offset: int, end_offset: int, now_ms: float) -> bool:
        """Update the progress of `replica_id`, a voter or an observer, at a fetch: it has
        everything before `offset`, the leader everything before `end_offset`. Return whether the
        high watermark has advanced."""
        progress = self.voters.get(replica_id)
        if progress is None:
            progress = self.observers.pop(replica_id, None) or ReplicaProgress()
            self._forget_silent(now_ms)
            if len(self.observers) >= OBSERVERS_MAX:
                del self.observers[next(iter(self.observers))]
            self.observers[replica_id] = progress
        if offset >= end_offset:
            progress.caught_up_ms = now_ms
        elif 0 <= progress.leader_end_offset <= offset:
            progress.caught_up_ms = max(progress.caught_up_ms, progress.fetched_ms)
        progress.fetched_ms = now_ms
        progress.leader_end_offset = end_offset
        progress.acknowledged = True
        progress.end_offset = offset
        self._note_majority(now_ms)
        return replica_id in self.voters and self._advance()

    def fetched_snapshot(self, replica_id: int, now_ms: float) -> None:
        """Update the time of a voter that fetches a snapshot: it is alive, though its log does not
        grow. Ignore observers."""
        progress = self.voters.get(replica_id)
        if progress is not None:
            progress.fetched_ms = now_ms
            progress.acknowledged = True
            self._note_majority(now_ms)

    def acknowledged(self, voter: int) -> None:
        """Mark a voter as acknowledged, because it has answered BeginQuorumEpoch. Ignore other
        nodes."""
        progress = self.voters.get(voter)
        if progress is not None:
            progress.acknowledged = True

    def unacknowledged(self) -> list[int]:
        """Return the voters that may not know yet that this node leads."""
        return [voter for voter, progress in self.voters.items() if not progress.acknowledged]

    def successors(self) -> tuple[int, ...]:
        """Return the other voters, in descending order of their logs' ends."""
        others = [voter for voter in self.voters if voter != self.node_id]
        return tuple(sorted(others, key=lambda voter: (-self.voters[voter].end_offset, voter)))

    def is_followed(self, now_ms: float) -> bool:
        """Return whether there are other voters, or observers that have fetched within
        `OBSERVERS_REMEMBERED_MS`."""
        self._forget_silent(now_ms)
        return len(self.voters) > 1 or bool(self.observers)

    def majority_lost_ms(self, fetch_timeout_ms: int) -> float | None:
        """Return the monotonic time in milliseconds at which the leader must resign unless a
        majority fetches before. None if this node is the only voter."""
        if self.majority <= 1:
            return None
        return self._majority_ms + CHECK_QUORUM_FACTOR * fetch_timeout_ms

    def _note_majority(self, now_ms: float) -> None:
        """Set the latest time at which a majority had fetched: that of the majority-th latest
        fetch, this node counted."""
        times = sorted(
            (progress.fetched_ms for voter, progress in self.voters.items()
             if voter != self.node_id),
            reverse=True,
        )  # fmt: skip
        if self.majority >= 2:
            self._majority_ms = max(self._majority_ms, times[self.majority - 2])

    def _advance(self) -> bool:
        """Raise the high watermark to the end of the records that a majority has, if they include a
        record of this epoch (Raft §5.4.2). Return whether it has advanced."""
        ends = sorted((p.end_offset for p in self.voters.values()), reverse=True)
        candidate = ends[self.majority - 1]
        if candidate <= self.epoch_start:
            return False
        if self.high_watermark is not None and candidate <= self.high_watermark:
            # A voter that lost its disk fetches from an earlier offset; this uncommits nothing.
            return False
        self.high_watermark = candidate
        return True

    def _forget_silent(self, now_ms: float) -> None:
        """Remove observers that have not fetched for `OBSERVERS_REMEMBERED_MS`."""
        limit = now_ms - OBSERVERS_REMEMBERED_MS
        while self.observers:
            observer, progress = next(iter(self.observers.items()))
            if progress.fetched_ms >= limit:
                return
            del self.observers[observer]
