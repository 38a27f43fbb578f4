"""The active controller: a queue that turns each command into records and a reply.

    submit → decide(view) → records and reply → append to the Raft log → replay into the image
           → … records committed … → reply

Everything runs on one thread. So commands wait in the queue only until the first record of this
node's epoch is committed, or while a long decision runs. A long decision is made, written and
replayed in slices. A decision sees all decisions before it, committed or not. The reply is sent
when the decision's records are committed; a decision without records waits for those of all
decisions before it. If the append fails or leadership is lost, the image returns to the last
committed one, and every pending reply is NOT_CONTROLLER. Then the client does not know the outcome,
as in Kafka.

Owns: the image with uncommitted records, and the pending replies. Never: decides itself; the
control managers do. Soft state (sessions of brokers) starts empty with each leadership.

Follows KIP-631 and Kafka's `QuorumController`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from controller.controller_timers import ControllerTimers
from controller.decisions import elections
from controller.decisions.change_rules import TopicRulesMaker
from controller.decisions.cluster_control import ClusterControl
from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import MAX_RECORDS_PER_OPERATION, Decided, Decision, DecisionView
from controller.decisions.feature_control import is_elr_level
from controller.decisions.leadership_changes import LeadershipChanges
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import BrokerRegistration, MetadataImage
from controller.metadata.loader import CommittedBatch, MetadataLoader
from controller.metadata.records import MetadataRecord
from controller.raft.leader_batches import RECORDS_A_SLICE
from controller.raft.raft_client import NotLeader, RaftClient
from controller.random_ids import RandomBytes
from controller.settings import ControllerSettings
from ground.ordered_work import OrderedWork, raise_error
from ground.ports import Scheduler
from ground.sliced_work import SlicedWork, Steps, each, in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import NoOpRecord
from protocol.primitives import StringTooLong

if TYPE_CHECKING:
    from controller.decisions.acl_control import AclControl
    from controller.decisions.delegation_token_control import DelegationTokenControl
    from controller.decisions.replication_control import ReplicationControl

logger = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")
Reply = Callable[[Any], None]
ClaimListener = Callable[[Sequence[BrokerRegistration]], None]

_RECORDS_PER_BATCH = MAX_RECORDS_PER_OPERATION


@dataclass(slots=True)
class _Command:
    name: str
    decide: Callable[[DecisionView], Decided[Any]]
    reply: Reply


@dataclass(slots=True)
class _PendingReply:
    """A reply that waits for the commit of `offset`."""

    offset: int
    value: object
    reply: Reply


class QuorumController:
    """The controller of one node, which takes commands while it is the active one."""

    def __init__(
        self,
        settings: ControllerSettings,
        raft: RaftClient,
        loader: MetadataLoader,
        scheduler: Scheduler,
        random_bytes: RandomBytes,
        bootstrap: Sequence[MetadataRecord],
        token_scheduler: Scheduler | None = None,
        sliced: SlicedWork | None = None,
    ) -> None:
        """`bootstrap` has the records that an empty log begins with. `scheduler` times sessions
        and elections, `token_scheduler` delegation tokens; None: `scheduler`. Without `sliced`,
        long work runs without pause."""
        self._settings = settings
        self._raft = raft
        self._loader = loader
        self._scheduler = scheduler
        self._bootstrap = list(bootstrap)
        self.configuration = ConfigurationControl(settings)
        self.leadership = LeadershipChanges(self.configuration)
        self._random_bytes = random_bytes
        self.cluster = ClusterControl(settings, self.leadership)
        self._epoch: int | None = None
        self._image = loader.image
        self._next_offset = 0
        self._pending_replies: deque[_PendingReply] = deque()
        self._waiting: deque[_Command] = deque()
        self._work = OrderedWork(sliced)
        self._claim_listeners: list[ClaimListener] = []
        self._to_be_fenced: dict[int, None] = {}
        """Brokers for which a fencing decision is pending; an ordered set."""
        self._timers = ControllerTimers(settings, scheduler, self, token_scheduler)

    @cached_property
    def replication(self) -> ReplicationControl:
        """The decisions on topics, imported at the first request to keep the start quick."""

        from controller.decisions import replication_control as module

        return module.ReplicationControl(self._settings, self.configuration, self._random_bytes)

    @cached_property
    def acls(self) -> AclControl:
        """The decisions on ACLs, imported at the first request to keep the start quick."""

        from controller.decisions import acl_control as module

        return module.AclControl(self._random_bytes)

    @cached_property
    def tokens(self) -> DelegationTokenControl:
        """The decisions on delegation tokens, imported at the first use to keep the start quick."""

        from controller.decisions import delegation_token_control as module

        return module.DelegationTokenControl(self._settings, self._random_bytes)

    # --- the public state ----------------------------------------------------------------------

    @property
    def quorum(self) -> RaftClient:
        """This node's part in the quorum."""
        return self._raft

    @property
    def is_active(self) -> bool:
        """Whether this node is the active controller and decides commands now."""
        return self._epoch is not None

    @property
    def leader_id(self) -> int:
        """The id of the quorum's leader, which is or becomes the active controller, as far as this
        node knows; -1 if it knows none."""
        leader = self._raft.leader_id
        return -1 if leader is None else leader

    @property
    def image(self) -> MetadataImage:
        """The image that the next decision will see, with uncommitted records. If this node is not
        the active controller, the committed image."""
        return self._image if self.is_active else self._loader.image

    @property
    def committed_image(self) -> MetadataImage:
        """The image of all committed records, which no failover can undo."""
        return self._loader.image

    def submit(
        self,
        name: str,
        decide: Callable[[DecisionView], Decided[T]],
        reply: Callable[[T | ApiError], None],
    ) -> None:
        """Decide a command, append its records to the metadata log, and call `reply` after they are
        committed.

        The reply is NOT_CONTROLLER if this node does not lead, loses its leadership before the
        commit, or has too many waiting commands. While a new leader is not active yet, the command
        waits. The reply is UNKNOWN_SERVER_ERROR if `decide` raises.
        """
        command = _Command(name, decide, reply)
        if self.is_active:
            self._run(command)
        elif self._raft.is_leader and len(self._waiting) < self._limit:
            self._waiting.append(command)
        else:
            reply(self._not_controller())

    @property
    def _limit(self) -> int:
        """The number of commands that may wait until this leader is active."""
        return self._settings.controller_queue_max_requests

    def _not_controller(self) -> ApiError:
        """Return the NOT_CONTROLLER error of a command that this node must not decide. Its text
        names the leader if another node leads."""
        leader = self._raft.leader_id
        if leader is None or leader == self._settings.node_id:
            return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")
        return ApiError(
            ErrorCode.NOT_CONTROLLER, f"The active controller appears to be node {leader}."
        )

    # --- deciding ------------------------------------------------------------------------------

    def _run(self, command: _Command) -> None:
        """Decide `command` after the commands before it: at once if none of them is in progress."""
        self._work.take(self._execute(command), raise_error)

    def _execute(self, command: _Command) -> Steps[None]:
        """Decide a command and append its records, in slices. `command.reply` gets the decision's
        reply after all records so far are committed.

        The reply is UNKNOWN_SERVER_ERROR, at once, if `decide` raises or a record cannot be
        encoded. If the append shows that this node does not lead any more, the reply is
        NOT_CONTROLLER, and this node stops deciding.
        """
        epoch = self._epoch
        if epoch is None:  # leadership was lost after the command was submitted
            command.reply(self._not_controller())
            return
        # The quorum may have appended records of its own, such as voters.
        next_offset = max(self._next_offset, self._raft.end_offset)
        view = DecisionView(self._image, next_offset, self._scheduler.monotonic_ms())
        try:
            decided = command.decide(view)
            decision = decided if isinstance(decided, Decision) else (yield from decided)
        except Exception:
            logger.exception("the controller failed to decide %s", command.name)
            command.reply(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        if decision.kraft_version is not None:
            self._raft.upgrade_kraft_version(epoch, decision.kraft_version)
        try:
            yield from self._append(epoch, decision.records, decision.atomic)
        except NotLeader:
            if self._epoch != epoch:  # the pending replies were sent already
                command.reply(self._not_controller())
                return
            self._pending_replies.append(_PendingReply(self._next_offset, None, command.reply))
            self._renounce()
            return
        except StringTooLong as error:
            command.reply(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
            return
        pending_reply = _PendingReply(self._next_offset - 1, decision.reply, command.reply)
        if pending_reply.offset <= self._loader.image.offset:
            command.reply(pending_reply.value)
        else:
            self._pending_replies.append(pending_reply)

    def _append(self, epoch: int, records: Sequence[MetadataRecord], atomic: bool) -> Steps[None]:
        """Append `records` to the Raft log and replay them into the controller's image, in slices.
        If `atomic`, they form a single batch of the log; otherwise batches of at most 10,000
        records.

        Raises NotLeader if this node no longer leads `epoch`, and StringTooLong.
        """
        size = len(records) if atomic else _RECORDS_PER_BATCH
        for start in range(0, len(records), size or 1):
            part = records[start : start + size]
            proposed = yield from self._raft.prepare(part, self._image.metadata_level)
            delta = MetadataDelta(self._image)
            yield from each(delta.replay, part, RECORDS_A_SLICE)
            if self._epoch != epoch:
                raise NotLeader
            last = self._raft.propose(epoch, proposed)
            self._image = delta.apply(last, epoch, self._scheduler.wall_ms())
            self._next_offset = last + 1

    # --- the quorum ----------------------------------------------------------------------------

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Become the active controller if `leader_id` is this node; otherwise stop, with
        NOT_CONTROLLER for all pending commands. For this node, the call comes after the commit of
        the first record of its epoch, so everything before it is replayed."""
        if leader_id == self._settings.node_id:
            self._claim(epoch)
        elif self.is_active or self._waiting:
            self._renounce()

    def _claim(self, epoch: int) -> None:
        """Begin to decide as the leader of `epoch`: write its first records, start the timers,
        submit the waiting commands and call the claim listeners."""
        self._epoch = epoch
        self._image = self._loader.image
        self._next_offset = self._raft.end_offset
        self.cluster.heartbeats.activate(self._image, self._scheduler.monotonic_ms())
        self._write_first_records(epoch)
        self._timers.start()
        waiting, self._waiting = self._waiting, deque()
        for command in waiting:
            self.submit(command.name, command.decide, command.reply)
        unfenced = [broker for broker in self._image.brokers.values() if not broker.fenced]
        for listener in self._claim_listeners:
            listener(unfenced)

    def _write_first_records(self, epoch: int) -> None:
        """Append the bootstrap records if the metadata has no features yet: it is empty, or from an
        earlier Ottla that took them from Kafka's format and did not append them. Add the config
        changes that eligible leader replicas need if the records turn them on."""
        if not self._image.features:
            logger.info("the metadata has no features: writing %d records", len(self._bootstrap))
            records = [*self._bootstrap]
            if any(is_elr_level(record) for record in records):
                records += self.configuration.elr_safety_records(self._image)
            in_one_go(self._append(epoch, records, atomic=True))

    def _renounce(self) -> None:
        """Stop deciding: stop the timers, and return to the committed image. Reply NOT_CONTROLLER
        to every command that waits for its decision or for the commit."""
        self._timers.stop()
        self._epoch = None
        self._image = self._loader.image
        pending_replies, self._pending_replies = self._pending_replies, deque()
        waiting, self._waiting = self._waiting, deque()
        error = self._not_controller()
        for pending in pending_replies:
            pending.reply(error)
        for command in waiting:
            command.reply(error)

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Send the replies that waited for `batch`, which the loader has replayed."""
        pending_replies = self._pending_replies
        while pending_replies and pending_replies[0].offset <= batch.last_offset:
            first = pending_replies.popleft()
            first.reply(first.value)

    def resign(self) -> None:
        """Resign as the quorum's leader, so that another node is elected. Do nothing if this node
        is not the active controller."""
        if self._epoch is not None:
            self._raft.resign(self._epoch)

    def close(self) -> None:
        """Stop the timers, and reply NOT_CONTROLLER to all waiting commands. The caller closes
        Raft."""
        self._renounce()

    # --- brokers that are gone -----------------------------------------------------------------

    def broker_gone(
        self,
        broker_id: int,
        broker_epoch: int,
        reply: Callable[[bool | ApiError], None] | None = None,
    ) -> None:
        """Fence a broker at once because its process is known to be dead, for example because its
        connection was reset and new connections are refused.

        The reply is True if this fenced the broker, False if another incarnation has registered or
        the broker was fenced already.
        """

        def decide(view: DecisionView) -> Decision[bool]:
            return self.cluster.fence(view, broker_id, broker_epoch)

        self.submit("broker gone", decide, reply or _ignore_reply)

    def add_claim_listener(self, listener: ClaimListener) -> None:
        """Call `listener(brokers)` whenever this node has become the active controller, with the
        unfenced brokers. Which of them are alive is not known yet."""
        self._claim_listeners.append(listener)

    # --- timers --------------------------------------------------------------------------------

    def next_session_end_ms(self) -> float:
        """Return the monotonic time in milliseconds at which the first session may end."""
        now_ms = self._scheduler.monotonic_ms()
        return self.cluster.heartbeats.next_end_ms(self._image, now_ms)

    def has_expired(self) -> bool:
        """Return whether any broker's session has expired."""
        return bool(self._expired_brokers())

    def grant_sessions(self) -> None:
        """Restart the session of every broker that has a session, as if its heartbeat had arrived
        now."""
        self.cluster.heartbeats.grant_all(self._scheduler.monotonic_ms())

    def _expired_brokers(self) -> list[int]:
        """Return the ids of brokers whose session has expired."""
        now_ms = self._scheduler.monotonic_ms()
        return self.cluster.heartbeats.expired(self._image, now_ms)

    def fence_expired(self) -> None:
        """Submit a fencing decision for each broker whose session has expired, unless a decision
        for that broker is still pending."""
        for broker_id in self._expired_brokers():
            if broker_id not in self._to_be_fenced:
                self._to_be_fenced[broker_id] = None
                reply = partial(self._fencing_ended, broker_id)
                self.submit("fence", partial(self._fence, broker_id), reply)

    def _fence(self, broker_id: int, view: DecisionView) -> Decision[bool]:
        """Return the decision that fences the broker, and log a WARNING. The decision is empty if
        the session is valid again, because a heartbeat waited behind a long decision."""
        if broker_id not in self._expired_brokers():
            return Decision(False)
        logger.warning("fencing broker %d: no heartbeat within its session", broker_id)
        return self.cluster.fence(view, broker_id)

    def _fencing_ended(self, broker_id: int, _reply: object) -> None:
        """Allow another fencing decision for the broker, because the pending decision has its
        reply."""
        self._to_be_fenced.pop(broker_id, None)

    def write_no_op(self) -> None:
        """Append a no-op record, which moves the log's end, so that followers can see how far
        behind they are (KIP-835). Without followers, do nothing: that saves disk writes."""
        if not self._raft.is_followed:
            return
        record = NoOpRecord()
        self.submit("no-op", lambda _view: Decision(None, [record]), _ignore_reply)

    def balance_leaders(self) -> bool:
        """Move leadership to preferred replicas. Return whether more may be left to do."""
        return self._elect("balance leaders", elections.balance_leaders)

    def elect_unclean(self) -> bool:
        """Elect a leader for partitions that have none, if the topic allows an unclean leader.
        Return whether more may be left."""
        return self._elect("elect unclean leaders", elections.elect_unclean)

    def elect_unclean_soon(self) -> None:
        """Set the timer of unclean elections to run right after the present decision, because a
        config may allow them now."""
        self._timers.elect_unclean_soon()

    def remove_expired_tokens(self) -> bool:
        """Remove expired delegation tokens. Return whether more may be left to remove."""
        if not self._image.tokens:
            return False

        def decide(view: DecisionView) -> Decision[bool]:
            return self.tokens.remove_expired(view, self._scheduler.wall_ms())

        return self._by_the_clock("remove expired tokens", decide)

    def _elect(
        self, name: str, decide: Callable[[DecisionView, TopicRulesMaker], Decision[bool]]
    ) -> bool:
        """Submit the elections of a timer. Return whether more may be left, as `_by_the_clock`
        does."""
        return self._by_the_clock(name, lambda view: decide(view, self.leadership.rules))

    def _by_the_clock(self, name: str, decide: Callable[[DecisionView], Decision[bool]]) -> bool:
        """Submit a timer's decision. Return its reply: whether more is left to do. While a long
        decision runs, submit nothing, and return True on the active controller, so that the timer
        tries again."""
        if self._work.is_behind:
            return self.is_active
        more = False

        def decide_here(view: DecisionView) -> Decision[None]:
            """Return the records of `decide` without its reply, which `more` keeps."""
            nonlocal more
            decision = decide(view)
            more = bool(decision.reply)
            return Decision(None, decision.records, decision.atomic)

        self.submit(name, decide_here, _ignore_reply)
        return more and self.is_active


def _ignore_reply(_reply: object) -> None:
    """Do nothing: the controller itself sent the command."""
