"""The way from this node's Raft to the voters: requests out, answers back, patience in between.

Each voter has two lanes, each a connection of its own, so that a vote never waits behind a Fetch
that the leader holds for half a second. A lane has one request under way; of what waits behind it,
only the newest of each kind counts.

Owns: the lanes and how long each holds back: after a failure `controller.quorum.retry.backoff.ms`,
twice as long after each further one, up to `BACKOFF_MAX_MS`; and as long before asking again whom
who said that it does not lead. So nothing spins, whatever the core asks for. `quorum_silence` hears
what went wrong. Never: decides anything, and never answers (`controller.raft.raft_apis`).

Follows Kafka's `KafkaNetworkChannel` and `RequestManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from controller.raft import raft_messages as m
from controller.raft.quorum_silence import QuorumSilence
from controller.raft.quorum_voters import QuorumVoters
from controller.raft.raft_requests import (
    NotAllowed,
    OtherCluster,
    PeerLeaves,
    RaftRequests,
    UselessAnswer,
    answer_of,
)
from controller.settings import ControllerSettings
from ground.ports import Channel, ChannelFailure, Network, Scheduler, Timer

logger = logging.getLogger(f"ottla.{__name__}")

BACKOFF_MAX_MS = 500


class Receiver(Protocol):
    """Who sends, and hears the answers: the Raft client."""

    @property
    def high_watermark(self) -> int | None:
        """Told to the leader with a Fetch (KIP-1166)."""

    @property
    def is_leader(self) -> bool:
        """Whether this node leads."""

    def receive(self, event: m.Received | m.Unreachable) -> None:
        """An answer, or the lack of one."""

    def can_lead(self, leader_id: int, epoch: int) -> bool:
        """Whether it can be true that this node leads that epoch."""


class QuorumNetwork:
    """Requests to the voters (`RaftNetwork`)."""

    def __init__(
        self,
        settings: ControllerSettings,
        network: Network,
        scheduler: Scheduler,
        voters: QuorumVoters | None = None,
    ) -> None:
        """`voters`: what this node's log says of them; None where they are static for good."""
        self._settings = settings
        self._network = network
        self._scheduler = scheduler
        self._requests = RaftRequests(settings, voters)
        self._silence = QuorumSilence("controller.quorum.voters", scheduler.monotonic_ms)
        self._lanes: dict[tuple[int, bool], _Lane] = {}
        self._receiver: Receiver | None = None
        self._when_told: Callable[[], None] | None = None

    def connect(self, receiver: Receiver) -> None:
        """Tell `receiver` what comes back."""
        self._receiver = receiver

    def send(self, message: m.Send) -> None:
        """See `RaftNetwork`."""
        self._lane(message).send(message.message)

    def when_told(self, done: Callable[[], None]) -> None:
        """`done()` once no EndQuorumEpoch waits for its answer."""
        self._when_told = done
        self._check_told()

    def close(self) -> None:
        """Close all connections; nothing is told of what was under way."""
        self._receiver = None
        for lane in self._lanes.values():
            lane.close()

    def _lane(self, message: m.Send) -> _Lane:
        fetches = isinstance(message.message, m.Fetch | m.FetchSnapshot)
        lane = self._lanes.get((message.to, fetches))
        if lane is None:
            host, port = self._settings.voter_endpoints[message.to]
            client_id = f"raft-client-{self._settings.node_id}"
            channel = self._network.channel(host, port, client_id)
            lane = _Lane(self, message.to, channel, self._scheduler, self._settings)
            self._lanes[(message.to, fetches)] = lane
        return lane

    def request(self, to: int, message: m.Message) -> Any:
        """The request that carries `message` (for a lane)."""
        assert self._receiver is not None
        return self._requests.request(to, message, self._receiver.high_watermark)

    def check(self, answer: m.Message) -> None:
        """Raise UselessAnswer where it names a leader that cannot be (for a lane)."""
        assert isinstance(answer, m.VoteReply | m.EpochReply | m.FetchReply | m.SnapshotReply)
        assert self._receiver is not None
        leader_id, epoch = answer.leader_id, answer.epoch
        if leader_id is not None and not self._receiver.can_lead(leader_id, epoch):
            raise UselessAnswer(f"node {leader_id} does not lead epoch {epoch}")

    def tell(self, event: m.Received | m.Unreachable) -> None:
        """What came back (from a lane)."""
        if self._receiver is not None:
            self._receiver.receive(event)
            self._check_told()

    def failed(self, node: int, failure: ChannelFailure) -> None:
        """There was no answer (from a lane)."""
        host, port = self._settings.voter_endpoints[node]
        if failure is ChannelFailure.REFUSED:
            reason = "connection refused"
        elif failure is ChannelFailure.TIMED_OUT:
            reason = f"no answer within {self._settings.quorum_request_timeout_ms} ms"
        else:
            reason = self._settings.why_no_connection(host, port) or "the connection was lost"
        self.no_leader(node, reason)

    def answered(self, node: int, answer: m.Message) -> None:
        """There was an answer (from a lane)."""
        if isinstance(answer, m.FetchReply | m.SnapshotReply):
            self._silence.ended()
        elif isinstance(answer, m.EpochReply) and answer.leader_id is None:
            self.no_leader(node, "it knows of no leader")

    def no_leader(self, node: int, reason: str) -> None:
        """A voter is of no use, for this reason (from a lane)."""
        if self._receiver is not None and self._receiver.is_leader:
            self._silence.ended()
        else:
            host, port = self._settings.voter_endpoints[node]
            shown_host = f"[{host}]" if ":" in host else host
            self._silence.failed(f"{node}@{shown_host}:{port}", reason)

    def _check_told(self) -> None:
        if self._when_told is None:
            return
        if not any(lane.carries(m.EndQuorumEpoch) for lane in self._lanes.values()):
            done, self._when_told = self._when_told, None
            done()


class _Lane:
    """Requests to one voter, one at a time."""

    def __init__(
        self,
        network: QuorumNetwork,
        node: int,
        channel: Channel,
        scheduler: Scheduler,
        settings: ControllerSettings,
    ) -> None:
        self._network = network
        self._node = node
        self._channel = channel
        self._scheduler = scheduler
        self._timeout_ms = settings.quorum_request_timeout_ms
        self._refused_by = settings.refused_by
        self._backoff_min_ms = settings.quorum_retry_backoff_ms
        self._backoff_ms = 0.0
        self._waiting: dict[type, m.Message] = {}
        self._under_way: m.Message | None = None
        self._timer: Timer | None = None
        self._closed = False

    def carries(self, kind: type) -> bool:
        """Whether a message of `kind` waits here, or for its answer."""
        return kind in self._waiting or isinstance(self._under_way, kind)

    def send(self, message: m.Message) -> None:
        """Send `message` when its turn comes; one of its kind that still waits is forgotten."""
        self._waiting[type(message)] = message
        self._next()

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._channel.close()

    def _next(self) -> None:
        if self._closed or self._under_way is not None or self._timer is not None:
            return
        if self._waiting:
            message = self._waiting.pop(next(iter(self._waiting)))
            self._under_way = message
            request = self._network.request(self._node, message)
            self._channel.send(request, self._answered, self._timeout_ms)

    def _hold_back(self, grows: bool) -> None:
        low = float(self._backoff_min_ms)
        if grows:
            self._backoff_ms = min(max(self._backoff_ms * 2, low), BACKOFF_MAX_MS)
        wait_ms = max(self._backoff_ms, low)
        self._timer = self._scheduler.call_later(wait_ms, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        self._next()

    def _answered(self, response: Any, failure: ChannelFailure | None) -> None:
        message, self._under_way = self._under_way, None
        if self._closed:
            return
        assert message is not None
        event: m.Received | m.Unreachable
        if failure is not None:
            self._hold_back(grows=True)
            self._network.failed(self._node, failure)
            event = m.Unreachable(self._node, failure is ChannelFailure.REFUSED)
        else:
            event = self._heard(message, response)
        self._network.tell(event)
        self._next()

    def _heard(self, message: m.Message, response: Any) -> m.Received | m.Unreachable:
        kind = type(message).__name__
        try:
            answer = answer_of(message, response)
            self._network.check(answer)
        except PeerLeaves:
            return self._useless("it stops", refused=True)
        except NotAllowed:
            self._refused_by(self._node, kind)
            return self._useless("it lets this node take no part")
        except OtherCluster as error:
            return self._useless(str(error))
        except UselessAnswer as error:
            logger.warning("voter %d answered %s with nonsense: %s", self._node, kind, error)
            return self._useless(f"it answered {kind} with nonsense: {error}")
        self._network.answered(self._node, answer)
        if isinstance(message, m.Fetch | m.FetchSnapshot) and _sends_away(answer):
            self._hold_back(grows=False)
        else:
            self._backoff_ms = 0.0
        return m.Received(self._node, answer)

    def _useless(self, reason: str, *, refused: bool = False) -> m.Unreachable:
        """An answer that counts as none."""
        self._network.no_leader(self._node, reason)
        self._hold_back(grows=True)
        return m.Unreachable(self._node, refused)


def _sends_away(answer: m.Message) -> bool:
    """Whether an answer to a Fetch brings nothing, so that asking again at once is of no use."""
    if isinstance(answer, m.SnapshotReply):
        return answer.data is None
    return isinstance(answer, m.EpochReply)
