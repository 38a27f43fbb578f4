"""What a leader of the quorum knows of the others, and what follows from it.

Owns: how far each voter and observer has fetched and when, the high watermark, and whether a
majority was heard of lately (check-quorum). Never: sends, and never touches the log.

Follows KIP-595, KIP-835 (check-quorum as of KAFKA-15489) and Kafka's `LeaderState`.
"""

from __future__ import annotations

from dataclasses import dataclass

OBSERVERS_REMEMBERED_MS = 300_000
OBSERVERS_MAX = 1_000
"""Of more the one that has been silent for the longest time is forgotten."""
CHECK_QUORUM_FACTOR = 1.5
"""Fetch time-outs without a majority of fetches before a leader resigns."""


@dataclass(slots=True)
class ReplicaProgress:
    """How far one replica is. Times are monotonic milliseconds; -1: never."""

    end_offset: int = -1
    fetched_ms: float = -1.0
    caught_up_ms: float = -1.0
    leader_end_offset: int = -1
    """Where the leader's log ended at the latest fetch: who reaches that was caught up then."""
    acknowledged: bool = False
    """Has answered BeginQuorumEpoch, or fetched in this epoch."""


class LeaderState:
    """One epoch of leadership."""

    def __init__(
        self, node_id: int, epoch: int, epoch_start: int, voters: tuple[int, ...], now_ms: float
    ) -> None:
        self.node_id = node_id
        self.epoch = epoch
        self.epoch_start = epoch_start
        """Offset of this epoch's LeaderChange record."""
        self.voters = {voter: ReplicaProgress() for voter in voters}
        self.voters[node_id].acknowledged = True
        self.observers: dict[int, ReplicaProgress] = {}
        """The one that fetched last is the last."""
        self.high_watermark: int | None = None
        self._majority_ms = now_ms

    @property
    def majority(self) -> int:
        """How many voters are more than half."""
        return len(self.voters) // 2 + 1

    def flushed(self, end_offset: int) -> bool:
        """This node's own log is durable up to `end_offset`. True: more is committed."""
        mine = self.voters[self.node_id]
        mine.end_offset = max(mine.end_offset, end_offset)
        return self._advance()

    def fetched(self, replica_id: int, offset: int, end_offset: int, now_ms: float) -> bool:
        """`replica_id` has everything before `offset`, the leader has it before `end_offset`.

        True: more is committed.
        """
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

    def heard(self, replica_id: int, now_ms: float) -> None:
        """A voter that fetches a snapshot is alive and follows, though its log does not grow."""
        progress = self.voters.get(replica_id)
        if progress is not None:
            progress.fetched_ms = now_ms
            progress.acknowledged = True
            self._note_majority(now_ms)

    def acknowledged(self, voter: int) -> None:
        """A voter has answered BeginQuorumEpoch."""
        progress = self.voters.get(voter)
        if progress is not None:
            progress.acknowledged = True

    def unacknowledged(self) -> list[int]:
        """Voters that may not know yet who leads."""
        return [voter for voter, progress in self.voters.items() if not progress.acknowledged]

    def successors(self) -> tuple[int, ...]:
        """The other voters, the one with the longest log first."""
        others = [voter for voter in self.voters if voter != self.node_id]
        return tuple(sorted(others, key=lambda voter: (-self.voters[voter].end_offset, voter)))

    def is_followed(self, now_ms: float) -> bool:
        """Whether there are other voters, or observers that have fetched lately."""
        self._forget_silent(now_ms)
        return len(self.voters) > 1 or bool(self.observers)

    def majority_lost_ms(self, fetch_timeout_ms: int) -> float | None:
        """When to resign if no majority fetches until then; None for a quorum of one."""
        if self.majority <= 1:
            return None
        return self._majority_ms + CHECK_QUORUM_FACTOR * fetch_timeout_ms

    def _note_majority(self, now_ms: float) -> None:
        """The majority-th latest fetch is the time when a majority was last heard of."""
        times = sorted(
            (progress.fetched_ms for voter, progress in self.voters.items()
             if voter != self.node_id),
            reverse=True,
        )  # fmt: skip
        if self.majority >= 2:
            self._majority_ms = max(self._majority_ms, times[self.majority - 2])

    def _advance(self) -> bool:
        """Commit what a majority has, once that includes a record of this epoch (Raft §5.4.2)."""
        ends = sorted((p.end_offset for p in self.voters.values()), reverse=True)
        candidate = ends[self.majority - 1]
        if candidate <= self.epoch_start:
            return False
        if self.high_watermark is not None and candidate <= self.high_watermark:
            # A voter that lost its disk fetches from an earlier offset; what is committed stays.
            return False
        self.high_watermark = candidate
        return True

    def _forget_silent(self, now_ms: float) -> None:
        limit = now_ms - OBSERVERS_REMEMBERED_MS
        while self.observers:
            observer, progress = next(iter(self.observers.items()))
            if progress.fetched_ms >= limit:
                return
            del self.observers[observer]
