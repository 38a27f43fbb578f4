"""The requests of this node's Raft to the voters, their responses, and the waits after failures.

Each voter has two lanes, each with its own connection, so that a vote never waits behind a Fetch
that the leader holds for half a second. A lane has one request in flight; of the messages that wait
behind it, only the newest of each kind is sent.

Owns: the lanes and their back-off: `controller.quorum.retry.backoff.ms` after a failure, twice as
long after each further one, up to `BACKOFF_MAX_MS`. A voter that answered that it does not lead
gets its next Fetch after such a wait too. So no request of Raft's core can cause a busy loop.
`quorum_silence` logs failures. Never: decides anything, nor answers (`controller.raft.raft_apis`).

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
    PeerStopping,
    RaftRequests,
    UnusableResponse,
    message_of,
)
from controller.settings import ControllerSettings
from ground.ports import Channel, ChannelFailure, Network, Scheduler, Timer

logger = logging.getLogger(f"ottla.{__name__}")

BACKOFF_MAX_MS = 500


class Receiver(Protocol):
    """The Raft client, which sends messages and receives the replies."""

    @property
    def high_watermark(self) -> int | None:
        """The high watermark, which a Fetch passes on to the leader (KIP-1166)."""

    @property
    def is_leader(self) -> bool:
        """Whether this node leads the quorum."""

    def receive(self, event: m.Received | m.Unreachable) -> None:
        """Process a voter's reply, or an Unreachable if there is none."""

    def can_lead(self, leader_id: int, epoch: int) -> bool:
        """Return whether `leader_id` may be the leader of `epoch`."""


class QuorumNetwork:
    """The requests to the voters (`RaftNetwork`)."""

    def __init__(
        self,
        settings: ControllerSettings,
        network: Network,
        scheduler: Scheduler,
        voters: QuorumVoters | None = None,
    ) -> None:
        """`voters` are those in this node's log; None: the quorum is static."""
        self._settings = settings
        self._network = network
        self._scheduler = scheduler
        self._requests = RaftRequests(settings, voters)
        self._silence = QuorumSilence("controller.quorum.voters", scheduler.monotonic_ms)
        self._lanes: dict[tuple[int, bool], _Lane] = {}
        self._receiver: Receiver | None = None
        self._when_resignation_acknowledged: Callable[[], None] | None = None

    def connect(self, receiver: Receiver) -> None:
        """Pass all replies to `receiver`."""
        self._receiver = receiver

    def send(self, message: m.Send) -> None:
        """Queue a message to a voter. The receiver later gets a Received with the reply, or an
        Unreachable if there is no valid response."""
        self._lane(message).send(message.message)

    def when_resignation_acknowledged(self, done: Callable[[], None]) -> None:
        """Call `done()` once, now or later, when no EndQuorumEpoch waits or is in flight: each has
        its response or has failed."""
        self._when_resignation_acknowledged = done
        self._check_resignation()

    def close(self) -> None:
        """Close all connections; requests in flight get no reply."""
        self._receiver = None
        for lane in self._lanes.values():
            lane.close()

    def _lane(self, message: m.Send) -> _Lane:
        """Return the lane of a message; create it at its first use. A voter has a lane for Fetch
        and FetchSnapshot and another for all other messages."""
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
        """Return the request that carries `message`. Called by lanes."""
        assert self._receiver is not None
        return self._requests.request(to, message, self._receiver.high_watermark)

    def check(self, answer: m.Message) -> None:
        """Raise UnusableResponse if the reply names a leader that cannot lead its epoch
        (`RaftClient.can_lead`). Called by lanes."""
        assert isinstance(answer, m.VoteReply | m.EpochReply | m.FetchReply | m.SnapshotReply)
        assert self._receiver is not None
        leader_id, epoch = answer.leader_id, answer.epoch
        if leader_id is not None and not self._receiver.can_lead(leader_id, epoch):
            raise UnusableResponse(f"node {leader_id} does not lead epoch {epoch}")

    def deliver(self, event: m.Received | m.Unreachable) -> None:
        """Pass a reply, or an Unreachable, to the receiver; then check whether a resignation is
        acknowledged. Do nothing after `close`. Called by lanes."""
        if self._receiver is not None:
            self._receiver.receive(event)
            self._check_resignation()

    def request_failed(self, node: int, failure: ChannelFailure) -> None:
        """Keep the reason why a request got no response, for the log line about a missing leader
        (`note_no_leader`). Called by lanes."""
        host, port = self._settings.voter_endpoints[node]
        if failure is ChannelFailure.REFUSED:
            reason = "connection refused"
        elif failure is ChannelFailure.TIMED_OUT:
            reason = f"no answer within {self._settings.quorum_request_timeout_ms} ms"
        else:
            reason = self._settings.why_no_connection(host, port) or "the connection was lost"
        self.note_no_leader(node, reason)

    def response_received(self, node: int, answer: m.Message) -> None:
        """End the time without a leader if `answer` is a leader's reply to Fetch or FetchSnapshot.
        If it is an EpochReply without a leader, keep that as the voter's failure. Called by
        lanes."""
        if isinstance(answer, m.FetchReply | m.SnapshotReply):
            self._silence.leader_reached()
        elif isinstance(answer, m.EpochReply) and answer.leader_id is None:
            self.note_no_leader(node, "it knows of no leader")

    def note_no_leader(self, node: int, reason: str) -> None:
        """Keep why a voter did not lead to a leader, and log it if a line is due (`QuorumSilence`).
        If this node leads itself, end the time without a leader. Called by lanes."""
        if self._receiver is not None and self._receiver.is_leader:
            self._silence.leader_reached()
        else:
            host, port = self._settings.voter_endpoints[node]
            shown_host = f"[{host}]" if ":" in host else host
            self._silence.failed(f"{node}@{shown_host}:{port}", reason)

    def _check_resignation(self) -> None:
        """Call the callback of `when_resignation_acknowledged`, once, if no EndQuorumEpoch is
        waiting or in flight."""
        if self._when_resignation_acknowledged is None:
            return
        if not any(lane.carries(m.EndQuorumEpoch) for lane in self._lanes.values()):
            done, self._when_resignation_acknowledged = self._when_resignation_acknowledged, None
            done()


class _Lane:
    """The requests to one voter over one connection, one at a time."""

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
        self._in_flight: m.Message | None = None
        self._timer: Timer | None = None
        self._closed = False

    def carries(self, kind: type) -> bool:
        """Return whether a message of `kind` waits here, or is in flight."""
        return kind in self._waiting or isinstance(self._in_flight, kind)

    def send(self, message: m.Message) -> None:
        """Queue `message`, in place of a waiting message of the same kind, and send it if the lane
        is free."""
        self._waiting[type(message)] = message
        self._send_next()

    def close(self) -> None:
        """Drop the waiting messages, and close the connection. Later responses are ignored."""
        self._closed = True
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._channel.close()

    def _send_next(self) -> None:
        """Send the first waiting message, unless another is in flight, a back-off runs, or the lane
        is closed."""
        if self._closed or self._in_flight is not None or self._timer is not None:
            return
        if self._waiting:
            message = self._waiting.pop(next(iter(self._waiting)))
            self._in_flight = message
            request = self._network.request(self._node, message)
            self._channel.send(request, self._on_response, self._timeout_ms)

    def _back_off(self, grows: bool) -> None:
        """Send nothing until a wait is over. With `grows`, each failure in a row doubles the wait,
        up to `BACKOFF_MAX_MS`."""
        low = float(self._backoff_min_ms)
        if grows:
            self._backoff_ms = min(max(self._backoff_ms * 2, low), BACKOFF_MAX_MS)
        wait_ms = max(self._backoff_ms, low)
        self._timer = self._scheduler.call_later(wait_ms, self._backoff_over)

    def _backoff_over(self) -> None:
        """End the wait, and send the first waiting message."""
        self._timer = None
        self._send_next()

    def _on_response(self, response: Any, failure: ChannelFailure | None) -> None:
        """Pass the reply, or an Unreachable after a failure, to the receiver, and send the next
        message. Ignore a response after `close`."""
        message, self._in_flight = self._in_flight, None
        if self._closed:
            return
        assert message is not None
        event: m.Received | m.Unreachable
        if failure is not None:
            self._back_off(grows=True)
            self._network.request_failed(self._node, failure)
            event = m.Unreachable(self._node, failure is ChannelFailure.REFUSED)
        else:
            event = self._reply_event(message, response)
        self._network.deliver(event)
        self._send_next()

    def _reply_event(self, message: m.Message, response: Any) -> m.Received | m.Unreachable:
        """Return the event for a response: Received, or Unreachable if the response cannot be used.
        Back off after an unusable response or a fetch that brought nothing."""
        kind = type(message).__name__
        try:
            answer = message_of(message, response)
            self._network.check(answer)
        except PeerStopping:
            return self._failed("it stops", refused=True)
        except NotAllowed:
            self._refused_by(self._node, kind)
            return self._failed("it lets this node take no part")
        except OtherCluster as error:
            return self._failed(str(error))
        except UnusableResponse as error:
            logger.warning("voter %d answered %s with nonsense: %s", self._node, kind, error)
            return self._failed(f"it answered {kind} with nonsense: {error}")
        self._network.response_received(self._node, answer)
        if isinstance(message, m.Fetch | m.FetchSnapshot) and _brings_nothing(answer):
            self._back_off(grows=False)
        else:
            self._backoff_ms = 0.0
        return m.Received(self._node, answer)

    def _failed(self, reason: str, *, refused: bool = False) -> m.Unreachable:
        """Back off after an unusable response, keep `reason` for the log line about a missing
        leader, and return an Unreachable."""
        self._network.note_no_leader(self._node, reason)
        self._back_off(grows=True)
        return m.Unreachable(self._node, refused)


def _brings_nothing(answer: m.Message) -> bool:
    """Return whether a reply to a Fetch has no data, so that the next Fetch should wait."""
    if isinstance(answer, m.SnapshotReply):
        return answer.data is None
    return isinstance(answer, m.EpochReply)
