"""The changes of the voters that a leader makes, one at a time (KIP-853).

A change is a Voters record with the whole set, which counts from its append on. Two sets that
follow each other differ in one voter, so their majorities overlap. Therefore a leader changes
nothing before it has committed a record of its own epoch, and the change before.

    add      check → ask the new voter for its levels of kraft.version → check that it has caught up
             → append; the reply follows the append or the commit, as the request says
    remove   check → append → reply after the commit; a leader that removed itself resigns then
    update   check → append → reply at once. In a static quorum (kraft.version 0) the leader only
             remembers the voter's directory id and endpoints, for an upgrade to kraft.version 1

Owns: the change that waits, and what each request is answered. Never: appends or sends, which
`controller.raft.raft` does with the `Change` that comes back.

Follows KIP-853, KIP-1186 and Kafka's `AddVoterHandler`, `RemoveVoterHandler`, `UpdateVoterHandler`,
`ChangeVoterHandlerState` and `KRaftVersionUpgrade`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from controller.raft import raft_messages as m
from controller.raft.leader_state import LeaderState
from controller.raft.quorum_voters import QuorumVoters
from controller.voter_set import ReplicaKey, Voter, VoterSet
from protocol.errors import ApiError, ErrorCode
from protocol.primitives import ZERO_UUID, uuid_to_string

REQUEST_TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT


class Change(NamedTuple):
    """The next steps of a leader for a change of the voters."""

    replies: tuple[tuple[m.Received, m.VoterReply], ...] = ()
    """Requests with their replies."""
    voters: VoterSet | None = None
    """The set to append."""
    level: int | None = None
    """The level of `kraft.version` to append before it."""
    ask: Voter | None = None
    """The replica to ask for its levels of `kraft.version`."""
    resigns: bool = False
    """Whether this node resigns, because it is no voter any more."""


NOTHING = Change()


@dataclass(slots=True)
class _Pending:
    """A change that is not committed yet."""

    request: m.Received | None
    """The request that waits for a reply; None: it has its reply."""
    deadline_ms: float
    added: Voter | None = None
    """The voter to add; None: a voter is removed."""
    offset: int | None = None
    """The offset of the record; None: it is not appended yet."""


class VoterChanges:
    """The changes of the voters while a node leads an epoch."""

    def __init__(
        self, leading: LeaderState, voters: QuorumVoters, own: Voter | None, request_timeout_ms: int
    ) -> None:
        """`own` describes this node as a voter; None: its endpoints are not known."""
        self._leading = leading
        self._voters = voters
        self._timeout_ms = request_timeout_ms
        self._pending: _Pending | None = None
        self._described = voters.latest
        """The voters of a static quorum, with what they told of themselves."""
        if own is not None and not voters.is_dynamic:
            self._described = self._described.with_voter(own)

    @property
    def deadline_ms(self) -> float | None:
        """When the change that waits is given up, in monotonic milliseconds; None: none waits."""
        return None if self._pending is None else self._pending.deadline_ms

    # --- requests ------------------------------------------------------------------------------

    def add(self, request: m.Received, add: m.AddVoter, now_ms: float) -> Change:
        """Begin to add a voter."""
        fault = self._not_now("adding")
        if fault is None and self._voters.latest.get(add.voter.key.id) is not None:
            fault = m.VoterReply(
                ErrorCode.DUPLICATE_VOTER,
                f"The voter id for {_shown(add.voter.key)} is already part of the set of voters "
                f"{_all_shown(self._voters.latest)}.",
            )
        if fault is not None:
            return Change(((request, fault),))
        self._pending = _Pending(request, now_ms + self._timeout_ms, add.voter)
        return Change(ask=add.voter)

    def remove(self, request: m.Received, remove: m.RemoveVoter, now_ms: float) -> Change:
        """Remove a voter."""
        voters = self._voters.latest
        fault = self._not_now("removing")
        voter = voters.get(remove.key.id)
        if fault is None and (voter is None or voter.key != remove.key or len(voters) == 1):
            fault = m.VoterReply(
                ErrorCode.VOTER_NOT_FOUND,
                f"Cannot remove voter {_shown(remove.key)} from the set of voters "
                f"{_all_shown(voters)}",
            )
        if fault is not None:
            return Change(((request, fault),))
        self._pending = _Pending(request, now_ms + self._timeout_ms)
        return Change(voters=voters.without(remove.key))

    def update(self, request: m.Received, update: m.UpdateVoter, now_ms: float) -> Change:
        """Replace the endpoints and levels of a voter; in a static quorum, only in memory."""
        code = self._update_fault(update.voter)
        if code is not ErrorCode.NONE:
            return Change(((request, m.VoterReply(code)),))
        self._leading.fetched_snapshot(update.voter.key, now_ms)  # a sign of life of a voter
        done = ((request, m.VoterReply()),)
        if not self._voters.is_dynamic:
            self._described = self._described.with_voter(update.voter)
            return Change(done)
        if self._voters.latest.get(update.voter.key.id) == update.voter:
            return Change(done)
        return Change(done, self._voters.latest.with_voter(update.voter))

    def _update_fault(self, voter: Voter) -> ErrorCode:
        """Return why a voter cannot be updated now; NONE: it can."""
        is_early = self._voters.is_dynamic and self._is_uncommitted()
        if is_early or self._pending is not None or self._leading.high_watermark is None:
            return REQUEST_TIMED_OUT
        if not voter.supports(self._voters.kraft_version):
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.NONE if self._names_a_voter(voter) else ErrorCode.VOTER_NOT_FOUND

    def _names_a_voter(self, voter: Voter) -> bool:
        """Return whether `voter` has the key of a voter; in a static quorum, its node id."""
        if self._voters.is_dynamic:
            return voter.key in self._voters.latest
        return self._voters.latest.get(voter.key.id) is not None

    def upgrade_fault(self, level: int) -> ApiError | None:
        """Return why `kraft.version` cannot be raised to `level`: a voter does not support it, or
        has not told its directory id yet. None: it can."""
        now, voters = self._voters.kraft_version, self._described.voters
        text = None
        if level == now:
            return None
        if level < now:
            text = (
                f"Invalid upgrade of kraft.version from version {now} to {level} because the new "
                "version is a downgrade"
            )
        elif not all(voter.supports(level) for voter in voters):
            text = (
                f"Invalid upgrade of kraft.version to {level} because not all of the voters "
                "support it"
            )
        elif any(voter.key.directory_id == ZERO_UUID for voter in voters):
            text = (
                f"Invalid upgrade of kraft.version to {level} because not all of the voters have "
                "told their directory id"
            )
        return None if text is None else ApiError(ErrorCode.INVALID_UPDATE_VERSION, text)

    def upgrade(self, level: int) -> Change:
        """Raise `kraft.version` to `level`: the voters are in the log from then on."""
        if level == self._voters.kraft_version:
            return NOTHING
        return Change(voters=self._described, level=level)

    # --- checks --------------------------------------------------------------------------------

    def _not_now(self, doing: str) -> m.VoterReply | None:
        """Return why the voters cannot be changed now; None: they can. `doing` is the word for the
        change in the message."""
        high_watermark = self._leading.high_watermark
        if self._pending is not None:
            what = "for leader to handle previous voter change request"
        elif high_watermark is None:
            what = "for leader to establish HWM and fence previous voter changes"
        elif not self._voters.is_dynamic:
            return m.VoterReply(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Cluster doesn't support {doing} voter because the kraft.version feature is "
                f"{self._voters.kraft_version}",
            )
        elif self._is_uncommitted():
            what = (
                "for voters to commit the latest voter change at Optional"
                f"[{self._voters.latest_offset}] with HWM {high_watermark}"
            )
        else:
            return None
        return m.VoterReply(REQUEST_TIMED_OUT, f"Request timed out waiting {what}")

    def _is_uncommitted(self) -> bool:
        """Return whether the latest Voters record is not committed yet, or there is none."""
        offset, high_watermark = self._voters.latest_offset, self._leading.high_watermark
        return offset is None or high_watermark is None or offset >= high_watermark

    # --- what follows --------------------------------------------------------------------------

    def appended(self, offset: int) -> None:
        """Note the offset of the record of the change that waits, if one waits."""
        if self._pending is not None and self._pending.offset is None:
            self._pending.offset = offset

    def versions_received(
        self, node_id: int, kraft_versions: tuple[int, int] | None, now_ms: float
    ) -> Change:
        """Go on to add a voter that has told its levels of `kraft.version`; None: it did not
        answer."""
        pending = self._pending
        if pending is None or pending.added is None or pending.offset is not None:
            return NOTHING
        voter = pending.added
        if voter.key.id != node_id:
            return NOTHING
        if kraft_versions is None:
            return self._give_up(REQUEST_TIMED_OUT, self._silence(pending, now_ms))
        start = f"Aborted add voter operation for {_shown(voter.key)} since "
        voter = voter._replace(kraft_versions=kraft_versions)
        level = self._voters.kraft_version
        if not voter.supports(level):
            why = (
                f"{start}the kraft.version range {_range_shown(kraft_versions)} doesn't support "
                f"the finalized version {level}"
            )
            return self._give_up(ErrorCode.INVALID_REQUEST, why)
        if not self._leading.is_caught_up(voter.key, now_ms):
            return self._give_up(REQUEST_TIMED_OUT, f"{start}it is lagging behind")
        replies: tuple[tuple[m.Received, m.VoterReply], ...] = ()
        request = pending.request
        assert request is not None and isinstance(request.message, m.AddVoter)
        if not request.message.ack_when_committed:
            pending.request = None
            replies = ((request, m.VoterReply()),)
        return Change(replies, self._voters.latest.with_voter(voter))

    @staticmethod
    def _silence(pending: _Pending, now_ms: float) -> str | None:
        """Return the text about a new voter that did not answer; None: it had all its time. Kafka's
        text lacks the key of the voter."""
        if now_ms >= pending.deadline_ms:
            return None
        return (
            "Aborted add voter operation for since API_VERSIONS returned an error "
            "BROKER_NOT_AVAILABLE"
        )

    def committed(self, high_watermark: int) -> Change:
        """End the change that waits, if its record is committed. A leader that is no voter resigns
        when that is committed."""
        pending = self._pending
        ended = NOTHING
        if pending is not None and pending.offset is not None and high_watermark > pending.offset:
            ended = self._give_up(ErrorCode.NONE, None)
        resigns = not self._leading.is_voter and not self._is_uncommitted()
        return ended._replace(resigns=resigns)

    def expired(self, now_ms: float) -> Change:
        """Give up the change that waits, if its time is over. Its record may still be committed."""
        if self._pending is None or now_ms < self._pending.deadline_ms:
            return NOTHING
        return self._give_up(REQUEST_TIMED_OUT, None)

    def leadership_ended(self) -> Change:
        """Give up the change that waits, because this node does not lead any more."""
        return self._give_up(ErrorCode.NOT_LEADER_OR_FOLLOWER, None)

    def _give_up(self, code: ErrorCode, message: str | None) -> Change:
        """End the change that waits, with this reply if it has none yet."""
        pending, self._pending = self._pending, None
        if pending is None or pending.request is None:
            return NOTHING
        return Change(((pending.request, m.VoterReply(code, message)),))


def requested_epoch_fault(
    message: m.AddVoter | m.RemoveVoter | m.UpdateVoter, epoch: int
) -> ErrorCode:
    """Return the error of a request that names another epoch than `epoch`; NONE without fault. Only
    UpdateVoter names an epoch."""
    if not isinstance(message, m.UpdateVoter) or message.epoch == epoch:
        return ErrorCode.NONE
    is_fenced = message.epoch < epoch
    return ErrorCode.FENCED_LEADER_EPOCH if is_fenced else ErrorCode.UNKNOWN_LEADER_EPOCH


def _shown(key: ReplicaKey) -> str:
    """Return a key as Kafka writes it."""
    directory = "<undefined>" if key.directory_id == ZERO_UUID else uuid_to_string(key.directory_id)
    return f"ReplicaKey(id={key.id}, directoryId={directory})"


def _range_shown(kraft_versions: tuple[int, int]) -> str:
    """Return a replica's levels as Kafka writes them, which closes the bracket only if the replica
    does not name `kraft.version`; that counts as level 0."""
    lowest, highest = kraft_versions
    end = ")" if kraft_versions == (0, 0) else ""
    return f"(min: {lowest}, max: {highest}{end}"


def _all_shown(voters: VoterSet) -> str:
    """Return the keys of a set as Kafka writes them."""
    return f"[{', '.join(_shown(voter.key) for voter in voters.voters)}]"
