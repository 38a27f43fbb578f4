"""The state of a leader of the quorum: the progress of its replicas, and the high watermark.

Owns: the offset and the time of each voter's and observer's latest fetch, the high watermark, and
whether a majority has fetched lately (check-quorum). Never: sends, and never touches the log.

The voters may change while a node leads (KIP-853). A leader that is no voter any more leads on
until that is committed, but does not count itself.

Follows KIP-595, KIP-835 (check-quorum as of KAFKA-15489), KIP-853 and Kafka's `LeaderState`.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.voter_set import ReplicaKey, VoterSet

OBSERVERS_REMEMBERED_MS = 300_000
OBSERVERS_MAX = 1_000
"""The limit above which the observer that has been silent for longest is forgotten."""
CAUGHT_UP_WITHIN_MS = 3_600_000
"""The time since its latest fetch within which an observer may become a voter, as in Kafka."""
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
        self, me: ReplicaKey, epoch: int, epoch_start: int, voters: VoterSet, now_ms: float
    ) -> None:
        """Begin to lead `epoch`, whose LeaderChange record has the offset `epoch_start`. The wait
        for fetches of a majority starts at `now_ms`."""
        self.me = me
        self.epoch = epoch
        self.epoch_start = epoch_start
        """The offset of this epoch's LeaderChange record."""
        self.voters: dict[ReplicaKey, ReplicaProgress] = {}
        self.observers: dict[ReplicaKey, ReplicaProgress] = {}
        """The observers, ordered by the time of their latest fetch."""
        self.high_watermark: int | None = None
        self._voter_set = voters
        self._own = ReplicaProgress(acknowledged=True)
        self._majority_ms = now_ms
        self.change_voters(voters, now_ms)

    @property
    def node_id(self) -> int:
        """The id of this node."""
        return self.me.id

    @property
    def majority(self) -> int:
        """The number of voters that is a majority."""
        return len(self._voter_set) // 2 + 1

    @property
    def is_voter(self) -> bool:
        """Whether this node is a voter, and so counts itself."""
        return self.me in self._voter_set

    def change_voters(self, voters: VoterSet, now_ms: float) -> bool:
        """Lead with other voters from now on. The progress of a replica that becomes a voter, or
        an observer, stays. Return whether the high watermark has advanced.

        The wait for fetches of a majority starts again at `now_ms`.
        """
        before = {**self.observers, **self.voters}
        self._voter_set = voters
        self.voters = {}
        for voter in voters.voters:
            replica = next((key for key in before if voter.is_replica(key)), voter.key)
            self.voters[replica] = before.pop(replica, ReplicaProgress())
        if self.is_voter:
            key = next(key for key in self.voters if key.id == self.me.id)
            del self.voters[key]
            self.voters[self.me] = self._own
        before.pop(self.me, None)
        silence_first = sorted(before.items(), key=lambda item: item[1].fetched_ms)
        self.observers = {
            key: progress for key, progress in silence_first if progress.fetched_ms >= 0
        }
        self._majority_ms = now_ms
        return self._advance()

    def flushed(self, end_offset: int) -> bool:
        """Raise this node's own end offset to `end_offset`, before which its log is durable. Return
        whether the high watermark has advanced."""
        self._own.end_offset = max(self._own.end_offset, end_offset)
        return self._advance()

    def fetched(self, replica: ReplicaKey, offset: int, end_offset: int, now_ms: float) -> bool:
        """Update the progress of `replica`, a voter or an observer, at a fetch: it has everything
        before `offset`, the leader everything before `end_offset`. Return whether the high
        watermark has advanced."""
        progress = self._voter(replica)
        is_voter = progress is not None
        if progress is None:
            progress = self.observers.pop(replica, None) or ReplicaProgress()
            self._forget_silent(now_ms)
            if len(self.observers) >= OBSERVERS_MAX:
                del self.observers[next(iter(self.observers))]
            self.observers[replica] = progress
        if offset >= end_offset:
            progress.caught_up_ms = now_ms
        elif 0 <= progress.leader_end_offset <= offset:
            progress.caught_up_ms = max(progress.caught_up_ms, progress.fetched_ms)
        progress.fetched_ms = now_ms
        progress.leader_end_offset = end_offset
        progress.acknowledged = True
        progress.end_offset = offset
        self._note_majority(now_ms)
        return is_voter and self._advance()

    def fetched_snapshot(self, replica: ReplicaKey, now_ms: float) -> None:
        """Update the time of a voter that fetches a snapshot: it is alive, though its log does not
        grow. Ignore observers."""
        progress = self._voter(replica)
        if progress is not None:
            progress.fetched_ms = now_ms
            progress.acknowledged = True
            self._note_majority(now_ms)

    def _voter(self, replica: ReplicaKey) -> ReplicaProgress | None:
        """Return the progress of a voter; None for an observer. In a static quorum, the first
        request of a voter tells its directory id."""
        progress = self.voters.get(replica)
        if progress is not None or replica not in self._voter_set:
            return progress
        before = next(key for key in self.voters if key.id == replica.id)
        return self.voters.setdefault(replica, self.voters.pop(before))

    def acknowledged(self, voter: int) -> None:
        """Mark a voter as acknowledged, because it has answered BeginQuorumEpoch. Ignore other
        nodes."""
        for key, progress in self.voters.items():
            if key.id == voter:
                progress.acknowledged = True

    def unacknowledged(self) -> list[int]:
        """Return the voters that may not know yet that this node leads."""
        return [key.id for key, progress in self.voters.items() if not progress.acknowledged]

    def successors(self) -> tuple[int, ...]:
        """Return the other voters, in descending order of their logs' ends."""
        others = [key for key in self.voters if key.id != self.node_id]
        others.sort(key=lambda key: (-self.voters[key].end_offset, key))
        return tuple(key.id for key in others)

    def is_caught_up(self, replica: ReplicaKey, now_ms: float) -> bool:
        """Return whether an observer had the whole log once, and has fetched within the last hour,
        so that it may become a voter."""
        progress = self.observers.get(replica)
        return (
            progress is not None
            and progress.caught_up_ms >= 0
            and progress.fetched_ms > now_ms - CAUGHT_UP_WITHIN_MS
        )

    def is_followed(self, now_ms: float) -> bool:
        """Return whether there are other voters, or observers that have fetched within
        `OBSERVERS_REMEMBERED_MS`."""
        self._forget_silent(now_ms)
        return bool(self.observers) or any(key.id != self.node_id for key in self.voters)

    def majority_lost_ms(self, fetch_timeout_ms: int) -> float | None:
        """Return the monotonic time in milliseconds at which the leader must resign unless a
        majority fetches before. None if no other voter is needed for it."""
        if self._others_needed() <= 0:
            return None
        return self._majority_ms + CHECK_QUORUM_FACTOR * fetch_timeout_ms

    def _others_needed(self) -> int:
        """Return how many other voters make a majority with this node, if it is a voter."""
        return self.majority - self.is_voter

    def _note_majority(self, now_ms: float) -> None:
        """Set the latest time at which a majority had fetched: that of the latest fetch of enough
        other voters."""
        times = sorted(
            (progress.fetched_ms for key, progress in self.voters.items() if key != self.me),
            reverse=True,
        )
        needed = self._others_needed()
        if needed > 0:
            self._majority_ms = max(self._majority_ms, times[needed - 1])

    def _advance(self) -> bool:
        """Raise the high watermark to the end of the records that a majority has, if they include a
        record of this epoch (Raft §5.4.2). Return whether it has advanced."""
        ends = sorted((progress.end_offset for progress in self.voters.values()), reverse=True)
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
