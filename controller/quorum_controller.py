"""The active controller: one queue, in which a command becomes records and a reply.

    submit → decide(view) → records and reply → append to the Raft log → replay into the image
           → … records committed … → reply

Everything runs on one thread, so the queue has an entry only while this node has been elected and
its first record is not committed yet, or while a long decision is under way: that is made, written
and replayed in slices, and what comes meanwhile waits behind it. A decision sees all decisions
before it, committed or not; its reply leaves when its records, or for a decision without records
all those before it, are committed. When the append fails or leadership is lost, the image goes back
to the last committed one and every reply still owed is NOT_CONTROLLER: the outcome is then unknown
to the client, as it is in Kafka.

Owns: the image with what is not committed yet, and the replies owed. Never: decides itself; the
control managers do. Soft state (sessions of brokers) begins anew with each leadership.

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
from controller.decisions.change_rules import TopicRules
from controller.decisions.cluster_control import ClusterControl
from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import MAX_RECORDS_PER_OPERATION, Decided, Decision, View
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
    decide: Callable[[View], Decided[Any]]
    reply: Reply


@dataclass(slots=True)
class _Owed:
    """A reply that waits for the commit of `offset`."""

    offset: int
    value: object
    reply: Reply


class QuorumController:
    """Takes commands while this node is the active controller."""

    def __init__(
        self,
        settings: ControllerSettings,
        raft: RaftClient,
        loader: MetadataLoader,
        scheduler: Scheduler,
        random_bytes: RandomBytes,
        bootstrap: Sequence[MetadataRecord],
        of_tokens: Scheduler | None = None,
        sliced: SlicedWork | None = None,
    ) -> None:
        """`bootstrap` are the records that an empty log begins with. `scheduler` is the time in
        which nodes wait for each other, `of_tokens` that of delegation tokens; None: the same.
        Without `sliced` long work is done in one go."""
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
        self._owed: deque[_Owed] = deque()
        self._waiting: deque[_Command] = deque()
        self._work = OrderedWork(sliced)
        self._claim_listeners: list[ClaimListener] = []
        self._to_be_fenced: dict[int, None] = {}
        """Brokers on which it is not decided yet whether they are."""
        self._timers = ControllerTimers(settings, scheduler, self, of_tokens)

    @cached_property
    def replication(self) -> ReplicationControl:
        """Decides on topics. Imported with the first request for one, to keep a start quick."""

        from controller.decisions import replication_control as module

        return module.ReplicationControl(self._settings, self.configuration, self._random_bytes)

    @cached_property
    def acls(self) -> AclControl:
        """Decides on ACLs. Imported with the first request for one, to keep a start quick."""

        from controller.decisions import acl_control as module

        return module.AclControl(self._random_bytes)

    @cached_property
    def tokens(self) -> DelegationTokenControl:
        """Decides on delegation tokens. Imported when there is one to decide on."""

        from controller.decisions import delegation_token_control as module

        return module.DelegationTokenControl(self._settings, self._random_bytes)

    # --- what others see -----------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether commands are decided here now."""
        return self._epoch is not None

    @property
    def leader_id(self) -> int:
        """The active controller as far as this node knows; -1 while nobody is known."""
        leader = self._raft.leader_id
        return -1 if leader is None else leader

    @property
    def image(self) -> MetadataImage:
        """What the next decision will look at; includes what is not committed yet."""
        return self._image if self.is_active else self._loader.image

    @property
    def committed_image(self) -> MetadataImage:
        """What nothing can undo."""
        return self._loader.image

    def submit(
        self,
        name: str,
        decide: Callable[[View], Decided[T]],
        reply: Callable[[T | ApiError], None],
    ) -> None:
        """Decide, and `reply` once the decision is committed.

        NOT_CONTROLLER where another node is the one to ask.
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
        return self._settings.controller_queue_max_requests

    def _not_controller(self) -> ApiError:
        leader = self._raft.leader_id
        if leader is None or leader == self._settings.node_id:
            return ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active.")
        return ApiError(
            ErrorCode.NOT_CONTROLLER, f"The active controller appears to be node {leader}."
        )

    # --- deciding ------------------------------------------------------------------------------

    def _run(self, command: _Command) -> None:
        self._work.take(self._carry_out(command), raise_error)

    def _carry_out(self, command: _Command) -> Steps[None]:
        epoch = self._epoch
        if epoch is None:  # the leadership is lost since it came
            command.reply(self._not_controller())
            return
        view = View(self._image, self._next_offset, self._scheduler.monotonic_ms())
        try:
            decided = command.decide(view)
            decision = decided if isinstance(decided, Decision) else (yield from decided)
        except Exception:
            logger.exception("the controller failed to decide %s", command.name)
            command.reply(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        try:
            yield from self._append(epoch, decision.records, decision.atomic)
        except NotLeader:
            if self._epoch != epoch:  # others were told so already
                command.reply(self._not_controller())
                return
            self._owed.append(_Owed(self._next_offset, None, command.reply))
            self._renounce()
            return
        except StringTooLong as error:
            command.reply(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
            return
        owed = _Owed(self._next_offset - 1, decision.reply, command.reply)
        if owed.offset <= self._loader.image.offset:
            command.reply(owed.value)
        else:
            self._owed.append(owed)

    def _append(self, epoch: int, records: Sequence[MetadataRecord], atomic: bool) -> Steps[None]:
        """Append and replay. What a decision may not split is one batch of the log. Raises
        NotLeader where this node does not lead `epoch` any more."""
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
        """The quorum has another leader. Called for this node once its epoch's first record is
        committed, and so everything before it replayed."""
        if leader_id == self._settings.node_id:
            self._claim(epoch)
        elif self.is_active or self._waiting:
            self._renounce()

    def _claim(self, epoch: int) -> None:
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
        if not self._image.features:
            logger.info("the metadata log is empty: writing %d first records", len(self._bootstrap))
            records = [*self._bootstrap]
            if any(is_elr_level(record) for record in records):
                records += self.configuration.elr_safety_records(self._image)
            in_one_go(self._append(epoch, records, atomic=True))

    def _renounce(self) -> None:
        """Back to what is committed; whoever waits must ask the new controller."""
        self._timers.stop()
        self._epoch = None
        self._image = self._loader.image
        owed, self._owed = self._owed, deque()
        waiting, self._waiting = self._waiting, deque()
        error = self._not_controller()
        for pending in owed:
            pending.reply(error)
        for command in waiting:
            command.reply(error)

    def handle_commit(self, batch: CommittedBatch) -> None:
        """Send the replies that waited for `batch`, which the loader has taken in."""
        owed = self._owed
        while owed and owed[0].offset <= batch.last_offset:
            first = owed.popleft()
            first.reply(first.value)

    def resign(self) -> None:
        """Give the leadership up, so that another node is elected."""
        if self._epoch is not None:
            self._raft.resign(self._epoch)

    def close(self) -> None:
        """Stop the timers and refuse what still waits."""
        self._renounce()

    # --- brokers that went ---------------------------------------------------------------------

    def broker_gone(
        self,
        broker_id: int,
        broker_epoch: int,
        reply: Callable[[bool | ApiError], None] | None = None,
    ) -> None:
        """Fence a broker at once: its process is known to be dead, say because its connection was
        reset and a new one is refused. `reply` tells whether it was fenced by this; not where
        another incarnation has registered, or it was fenced already."""

        def decide(view: View) -> Decision[bool]:
            return self.cluster.fence(view, broker_id, broker_epoch)

        self.submit("broker gone", decide, reply or _ignore_reply)

    def add_claim_listener(self, listener: ClaimListener) -> None:
        """Call `listener(brokers)` whenever this node has become the active controller, with the
        unfenced brokers: nobody knows yet which of them still live."""
        self._claim_listeners.append(listener)

    # --- timers --------------------------------------------------------------------------------

    def next_session_end_ms(self) -> float:
        """See `TimedController`."""
        now_ms = self._scheduler.monotonic_ms()
        return self.cluster.heartbeats.next_end_ms(self._image, now_ms)

    def has_expired(self) -> bool:
        """See `TimedController`."""
        return bool(self._expired())

    def grant_sessions(self) -> None:
        """See `TimedController`."""
        self.cluster.heartbeats.grant_all(self._scheduler.monotonic_ms())

    def _expired(self) -> list[int]:
        now_ms = self._scheduler.monotonic_ms()
        return self.cluster.heartbeats.expired(self._image, now_ms)

    def fence_expired(self) -> None:
        """See `TimedController`. One after the other: each decision sees the one before."""
        for broker_id in self._expired():
            if broker_id not in self._to_be_fenced:
                self._to_be_fenced[broker_id] = None
                reply = partial(self._is_fenced, broker_id)
                self.submit("fence", partial(self._fence, broker_id), reply)

    def _fence(self, broker_id: int, view: View) -> Decision[bool]:
        """Fence it, unless its heartbeat has waited before this, behind a long decision."""
        if broker_id not in self._expired():
            return Decision(False)
        logger.warning("fencing broker %d: no heartbeat within its session", broker_id)
        return self.cluster.fence(view, broker_id)

    def _is_fenced(self, broker_id: int, _reply: object) -> None:
        self._to_be_fenced.pop(broker_id, None)

    def write_no_op(self) -> None:
        """Move the log's end, so that followers can see how far behind they are (KIP-835). Where
        there are none, the disk is left in peace."""
        if not self._raft.is_followed:
            return
        record = NoOpRecord()
        self.submit("no-op", lambda _view: Decision(None, [record]), _ignore_reply)

    def balance_leaders(self) -> bool:
        """See `TimedController`."""
        return self._elect("balance leaders", elections.balance_leaders)

    def elect_unclean(self) -> bool:
        """See `TimedController`."""
        return self._elect("elect unclean leaders", elections.elect_unclean)

    def elect_unclean_soon(self) -> None:
        """Elect once the present decision has come true: a config may have begun to allow it."""
        self._timers.elect_unclean_soon()

    def remove_expired_tokens(self) -> bool:
        """See `TimedController`."""
        if not self._image.tokens:
            return False

        def decide(view: View) -> Decision[bool]:
            return self.tokens.remove_expired(view, self._scheduler.wall_ms())

        return self._by_the_clock("remove expired tokens", decide)

    def _elect(self, name: str, decide: Callable[[View, TopicRules], Decision[bool]]) -> bool:
        return self._by_the_clock(name, lambda view: decide(view, self.leadership.rules))

    def _by_the_clock(self, name: str, decide: Callable[[View], Decision[bool]]) -> bool:
        """Whether there is more to do. Nothing is done while a long decision is under way."""
        if self._work.is_behind:
            return self.is_active
        more = False

        def decide_here(view: View) -> Decision[None]:
            nonlocal more
            decision = decide(view)
            more = bool(decision.reply)
            return Decision(None, decision.records, decision.atomic)

        self.submit(name, decide_here, _ignore_reply)
        return more and self.is_active


def _ignore_reply(_reply: object) -> None:
    """For what the controller asks of itself."""
