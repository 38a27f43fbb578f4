"""The input and output of `Raft.step`: plain values, no behaviour.

Events happen to this node. Messages are sent between nodes, with the names of Kafka's Vote,
BeginQuorumEpoch, EndQuorumEpoch and Fetch. `Ready` is the work of the caller.

Duties of the caller for each Ready, in this order (etcd's contract, with Kafka's names):

1. `persist`: write quorum-state and fsync it, before anything of this Ready or a later one is sent.
2. `load_snapshot`: restart the log, empty, at the end of that stored snapshot, and the listeners
   from its image. `truncate_to`, then `append`: change the log; then fsync it and step(Flushed).
   The log found at a start has to be fsynced once too, because it may not be durable yet.
3. `send`: send the messages and replies.
4. `snapshot_part`: write it, then step(SnapshotWritten); after the last part make the snapshot
   durable, check it, and step(SnapshotStored), or SnapshotUnusable.
5. `high_watermark`: records below it are committed; pass them to the listeners, once.
6. `leader`: tell the listeners the new leader.

The caller steps again with Tick at `deadline_ms` at the latest. Readys are executed in the order in
which Raft returned them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from controller.raft.quorum_state import ElectionState
from controller.raft.quorum_voters import ControlRecords, VoterRecord
from controller.voter_set import ReplicaKey, Voter, VoterSet
from protocol.errors import ErrorCode

# --- messages ------------------------------------------------------------------------------------


class Vote(NamedTuple):
    """A request for a vote, by a candidate, or by a prospective node with `pre_vote`."""

    epoch: int
    candidate: ReplicaKey
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteReply(NamedTuple):
    epoch: int
    leader_id: int | None
    granted: bool
    pre_vote: bool


class BeginQuorumEpoch(NamedTuple):
    """The announcement of a new leader."""

    epoch: int
    leader_id: int


class EndQuorumEpoch(NamedTuple):
    """The resignation of a leader; the first node in `successors` tries at once."""

    epoch: int
    leader_id: int
    successors: tuple[int, ...]


class EpochReply(NamedTuple):
    """The reply to BeginQuorumEpoch and EndQuorumEpoch, and the reply to a Fetch if the node is not
    the leader."""

    epoch: int
    leader_id: int | None


class Fetch(NamedTuple):
    """A replica's request for records from `offset` on; it has all earlier ones on disk.

    A negative id: the sender is no replica.
    """

    epoch: int
    replica: ReplicaKey
    offset: int
    last_fetched_epoch: int


class AppendedBatch(NamedTuple):
    """The offsets of a batch in the log, its epoch, and the records in it that change voters."""

    epoch: int
    base_offset: int
    next_offset: int
    voter_records: tuple[VoterRecord, ...] = ()


class FetchReply(NamedTuple):
    """A leader's reply to a Fetch. The leader's caller reads the records at `read_from` when it
    sends the reply; the receiver's caller describes `records` in `batches`.

    `fetch_position` is (offset, last fetched epoch) of the Fetch: a reply that arrives after the
    log has changed is ignored. `diverging` is (epoch, end offset), if the replica's log diverges
    from the leader's. `snapshot` is (end offset, epoch), if the records are only in that snapshot.
    """

    epoch: int
    leader_id: int
    high_watermark: int | None
    fetch_position: tuple[int, int]
    read_from: int | None = None
    diverging: tuple[int, int] | None = None
    snapshot: tuple[int, int] | None = None
    batches: tuple[AppendedBatch, ...] = ()
    records: object = None


class FetchSnapshot(NamedTuple):
    """A replica's request for a part of `snapshot`, which is (end offset, epoch)."""

    epoch: int
    replica: ReplicaKey
    snapshot: tuple[int, int]
    position: int


class SnapshotReply(NamedTuple):
    """A leader's reply to FetchSnapshot. The caller fills in `size` (of the whole snapshot) and
    `data` when it sends the reply; `data` None: no such snapshot, or no such position in it."""

    epoch: int
    leader_id: int
    snapshot: tuple[int, int]
    position: int
    size: int = 0
    data: bytes | memoryview | None = None


class AddVoter(NamedTuple):
    """A request to add a voter."""

    voter: Voter
    ack_when_committed: bool = True
    """Whether the reply follows the commit, not the append."""


class RemoveVoter(NamedTuple):
    """A request to remove a voter."""

    key: ReplicaKey


class UpdateVoter(NamedTuple):
    """A voter's request to replace what the leader knows of it."""

    epoch: int
    voter: Voter


class VoterReply(NamedTuple):
    """The reply to AddVoter, RemoveVoter and UpdateVoter. The reply to UpdateVoter also has the
    leader of `epoch`, as far as its sender knows."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    epoch: int = -1
    leader_id: int | None = None


class AskVersions(NamedTuple):
    """A request to a replica for its levels of `kraft.version`, which Kafka's ApiVersions has."""

    voter: Voter


class Versions(NamedTuple):
    """The lowest and the highest level of `kraft.version` that a replica supports."""

    kraft_versions: tuple[int, int]


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
    | AddVoter
    | RemoveVoter
    | UpdateVoter
    | VoterReply
    | AskVersions
    | Versions
)

# --- events --------------------------------------------------------------------------------------


class Tick(NamedTuple):
    """The passing of time up to the deadline."""


class Propose(NamedTuple):
    """Records that the leader proposes; the Ready's append contains the same `payload`."""

    epoch: int
    record_count: int
    payload: object


class Flushed(NamedTuple):
    """The completion of an fsync: the log before `end_offset` is on stable storage."""

    end_offset: int


class Resign(NamedTuple):
    """A request to this node to resign as leader of `epoch`."""

    epoch: int


class Received(NamedTuple):
    """A message from another node. The reply to a request has its `correlation`."""

    source: int
    message: Message
    correlation: object = None


class Unreachable(NamedTuple):
    """A request to `node` that got no response, or an invalid one."""

    node: int
    refused: bool = False
    """Whether the connection was refused, so the node's process is gone."""
    asked: AskVersions | None = None
    """The request, if it was for the levels of a replica that becomes a voter."""


class UpgradeKraftVersion(NamedTuple):
    """A request to this node to raise `kraft.version` to `level`, if it still leads `epoch`."""

    epoch: int
    level: int


class SnapshotTaken(NamedTuple):
    """A newer snapshot that this node wrote; the log now begins at `start_offset`."""

    snapshot: tuple[int, int]
    start_offset: int


class SnapshotWritten(NamedTuple):
    """The completion of a write: the fetched snapshot is on disk before `position`, and more
    follows."""

    snapshot: tuple[int, int]
    position: int


class SnapshotStored(NamedTuple):
    """The completion of a fetched snapshot, which is durable and valid. `control` has its control
    records."""

    snapshot: tuple[int, int]
    control: ControlRecords = ()


class SnapshotUnusable(NamedTuple):
    """The failure of a fetched snapshot, which is damaged."""

    snapshot: tuple[int, int]


Event: TypeAlias = (
    Tick
    | Propose
    | Flushed
    | Resign
    | Received
    | Unreachable
    | UpgradeKraftVersion
    | SnapshotTaken
    | SnapshotWritten
    | SnapshotStored
    | SnapshotUnusable
)

# --- ready ---------------------------------------------------------------------------------------


class LeaderChange(NamedTuple):
    """The first control record of an epoch: its leader, the voters, and those that voted for it. In
    the same batch, the voters may follow."""

    leader_id: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]
    change: VotersChange | None = None


class VotersChange(NamedTuple):
    """Control records with the level of `kraft.version`, unless it is None, and the voters."""

    voters: VoterSet
    level: int | None = None


class Append(NamedTuple):
    """Records to append at `base_offset`: a LeaderChange or VotersChange, proposed or fetched
    records."""

    epoch: int
    base_offset: int
    next_offset: int
    payload: object
    fetched: bool = False
    """Whether the payload is complete batches with their offsets, fetched from the leader."""


class Send(NamedTuple):
    """A request to another node."""

    to: int
    message: Message


class SendReply(NamedTuple):
    """The reply to a request that was `Received` with `correlation`."""

    to: int
    message: Message
    correlation: object


class SnapshotPart(NamedTuple):
    """Bytes of a snapshot of `size` bytes; the part at position 0 starts it again."""

    snapshot: tuple[int, int]
    position: int
    size: int
    data: bytes | memoryview


class Leader(NamedTuple):
    """The leader of `epoch`; None: it is not known."""

    leader_id: int | None
    epoch: int


@dataclass(slots=True)
class Ready:
    """The caller's work after a step, in the order that the module describes."""

    persist: ElectionState | None = None
    load_snapshot: tuple[int, int] | None = None
    truncate_to: int | None = None
    append: list[Append] = field(default_factory=list)
    send: list[Send | SendReply] = field(default_factory=list)
    snapshot_part: SnapshotPart | None = None
    high_watermark: int | None = None
    leader: Leader | None = None
    deadline_ms: float | None = None
