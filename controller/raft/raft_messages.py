"""What goes into `Raft.step` and what comes out of it: plain values, no behaviour.

Events are what happened to this node; messages are what nodes say to each other, in the words of
Kafka's Vote, BeginQuorumEpoch, EndQuorumEpoch and Fetch. `Ready` is what the caller has to do.

Duties of the caller for each Ready, in this order (etcd's contract, with Kafka's names):

1. `persist`: write quorum-state and fsync it, before anything of this Ready or a later one is sent.
2. `load_snapshot`: let the log begin anew, empty, at the end of that stored snapshot, and the
   listeners go on from it. `truncate_to`, then `append`: change the log; then fsync it and
   step(Flushed). What is in the log at the start has to be fsynced once, too: nobody knows whether
   it was.
3. `send`: send the messages and replies.
4. `snapshot_part`: write it, then step(SnapshotWritten); after the last part make the snapshot
   durable, check it, and step(SnapshotStored), or SnapshotUnusable.
5. `high_watermark`: records below it are committed; hand them to the listeners, once.
6. `leader`: tell the listeners who leads.

The caller steps again with Tick at `deadline_ms` at the latest. Readys are carried out in the order
in which they came.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from controller.raft.quorum_state import ElectionState

# --- messages ------------------------------------------------------------------------------------


class Vote(NamedTuple):
    """A candidate, or with `pre_vote` a prospective, asks for a vote."""

    epoch: int
    candidate_id: int
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteReply(NamedTuple):
    epoch: int
    leader_id: int | None
    granted: bool
    pre_vote: bool


class BeginQuorumEpoch(NamedTuple):
    """A new leader says so."""

    epoch: int
    leader_id: int


class EndQuorumEpoch(NamedTuple):
    """A leader resigns; whoever stands first in `successors` tries at once."""

    epoch: int
    leader_id: int
    successors: tuple[int, ...]


class EpochReply(NamedTuple):
    """The answer to Begin and EndQuorumEpoch; also to a Fetch that a non-leader got."""

    epoch: int
    leader_id: int | None


class Fetch(NamedTuple):
    """A follower or observer asks for records from `offset` on; it has all before it on disk."""

    epoch: int
    replica_id: int
    offset: int
    last_fetched_epoch: int


class AppendedBatch(NamedTuple):
    """Where a batch of the log lies, and the epoch that wrote it."""

    epoch: int
    base_offset: int
    next_offset: int


class FetchReply(NamedTuple):
    """A leader's answer. The caller fills the records in, from `read_from`, when it sends it; the
    receiver's caller says in `batches` what `records` holds.

    `asked` is (offset, last fetched epoch) of the Fetch it answers: an answer that comes late, to a
    log that has changed since, says nothing.
    `diverging` is (epoch, end offset): the asker's log is not a part of the leader's.
    `snapshot` is (end offset, epoch): what was asked for is only in that snapshot.
    """

    epoch: int
    leader_id: int
    high_watermark: int | None
    asked: tuple[int, int]
    read_from: int | None = None
    diverging: tuple[int, int] | None = None
    snapshot: tuple[int, int] | None = None
    batches: tuple[AppendedBatch, ...] = ()
    records: object = None


class FetchSnapshot(NamedTuple):
    """A follower or observer asks for a part of `snapshot`, (end offset, epoch)."""

    epoch: int
    replica_id: int
    snapshot: tuple[int, int]
    position: int


class SnapshotReply(NamedTuple):
    """A leader's answer. The caller fills `size` (of the whole) and `data` in when it sends it;
    `data` None: there is no such snapshot, or no such position in it."""

    epoch: int
    leader_id: int
    snapshot: tuple[int, int]
    position: int
    size: int = 0
    data: bytes | memoryview | None = None


Message: TypeAlias = (
    Vote
    | VoteReply
    | BeginQuorumEpoch
    | EndQuorumEpoch
    | EpochReply
    | Fetch
    | FetchReply
    | FetchSnapshot
    | SnapshotReply
)

# --- events --------------------------------------------------------------------------------------


class Tick(NamedTuple):
    """Time has passed."""


class Propose(NamedTuple):
    """The leader's own records; `payload` comes back in the Ready's append."""

    epoch: int
    record_count: int
    payload: object


class Flushed(NamedTuple):
    """All of the log before `end_offset` is on stable storage."""

    end_offset: int


class Resign(NamedTuple):
    """Give up the leadership of `epoch`."""

    epoch: int


class Received(NamedTuple):
    """A message from another node. `correlation` goes back with the reply to a request."""

    source: int
    message: Message
    correlation: object = None


class Unreachable(NamedTuple):
    """A request to `node` got no answer, or none that makes sense."""

    node: int
    refused: bool = False
    """Nobody listens at its address: its process is gone."""


class SnapshotTaken(NamedTuple):
    """There is a newer snapshot of this node's own, and the log begins at `start_offset` now."""

    snapshot: tuple[int, int]
    start_offset: int


class SnapshotWritten(NamedTuple):
    """All of a fetched snapshot before `position` is written, and more is to come."""

    snapshot: tuple[int, int]
    position: int


class SnapshotStored(NamedTuple):
    """A fetched snapshot is whole and durable."""

    snapshot: tuple[int, int]


class SnapshotUnusable(NamedTuple):
    """A fetched snapshot is damaged."""

    snapshot: tuple[int, int]


Event: TypeAlias = (
    Tick
    | Propose
    | Flushed
    | Resign
    | Received
    | Unreachable
    | SnapshotTaken
    | SnapshotWritten
    | SnapshotStored
    | SnapshotUnusable
)

# --- ready ---------------------------------------------------------------------------------------


class LeaderChange(NamedTuple):
    """The control record that opens an epoch: who leads, who may vote, who voted for it."""

    leader_id: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]


class Append(NamedTuple):
    """Records to append at `base_offset`: a LeaderChange, proposed ones, or fetched ones."""

    epoch: int
    base_offset: int
    next_offset: int
    payload: object
    fetched: bool = False
    """The payload is whole batches, offsets and all."""


class Send(NamedTuple):
    """A request to another node."""

    to: int
    message: Message


class SendReply(NamedTuple):
    """The answer to a request that was `Received` with `correlation`."""

    to: int
    message: Message
    correlation: object


class SnapshotPart(NamedTuple):
    """Bytes of a snapshot of `size` bytes; the part at position 0 begins it anew."""

    snapshot: tuple[int, int]
    position: int
    size: int
    data: bytes | memoryview


class Leader(NamedTuple):
    """Who leads `epoch`; None while nobody does."""

    leader_id: int | None
    epoch: int


@dataclass(slots=True)
class Ready:
    """See the module for the caller's duties."""

    persist: ElectionState | None = None
    load_snapshot: tuple[int, int] | None = None
    truncate_to: int | None = None
    append: list[Append] = field(default_factory=list)
    send: list[Send | SendReply] = field(default_factory=list)
    snapshot_part: SnapshotPart | None = None
    high_watermark: int | None = None
    leader: Leader | None = None
    deadline_ms: float | None = None
