"""The requests of this node's Raft to the voters, their responses, and the waits after failures.

Each node has three lanes, each with its own connection: for fetches, for changes of the voters, and
for elections. So a vote never waits behind a Fetch that the leader holds for half a second, nor
behind a change that waits for its commit. A lane has one request in flight; of the messages that
wait behind it, only the newest of each kind is sent.

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

from controller.metadata.records import MetadataRecordError
from controller.raft import raft_messages as m
from controller.raft.quorum_addresses import Address, QuorumAddresses
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
NO_ADDRESS_RETRY_MS = 100
"""The wait before a request to a node without a known address counts as failed."""
VERSIONS_VERSION = 4
"""The version of ApiVersions that has features with the lowest level 0 (KIP-1022)."""


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

    def fail(self, error: Exception) -> None:
        """Stop taking part, because of `error`."""


class QuorumNetwork:
    """The requests to the voters (`RaftNetwork`)."""

    def __init__(
        self,
        settings: ControllerSettings,
        network: Network,
        scheduler: Scheduler,
        voters: QuorumVoters,
        addresses: QuorumAddresses,
    ) -> None:
        """`voters` are those in this node's log; `addresses` also gets the leaders' that responses
        tell."""
        self._settings = settings
        self._network = network
        self._scheduler = scheduler
        self.addresses = addresses
        self._requests = RaftRequests(settings, voters)
        key = "controller.quorum.voters"
        if settings.bootstrap_servers:
            key = "controller.quorum.bootstrap.servers"
        self._silence = QuorumSilence(key, scheduler.monotonic_ms)
        self._lanes: dict[tuple[int, str], _Lane] = {}
        self._receiver: Receiver | None = None
        self._when_resignation_acknowledged: Callable[[], None] | None = None

    def connect(self, receiver: Receiver) -> None:
        """Pass all replies to `receiver`."""
        self._receiver = receiver

    def send(self, message: m.Send) -> None:
        """Queue a message to a node. The receiver later gets a Received with the reply, or an
        Unreachable if there is no valid response, or the node's address is not known."""
        ask = message.message
        if isinstance(ask, m.AskVersions):
            address = ask.voter.address(self.addresses.listener)
        else:
            address = self.addresses.of(message.to)
        if address is None:
            event = m.Unreachable(message.to, True, _asked(ask))
            self._scheduler.call_later(NO_ADDRESS_RETRY_MS, lambda: self.deliver(event))
            return
        self._lane(message, address).send(ask)

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

    def _lane(self, message: m.Send, address: Address) -> _Lane:
        """Return the lane of a message; create it at its first use, and again if the node's
        address has changed."""
        kind = _lane_of(message.message)
        lane = self._lanes.get((message.to, kind))
        if lane is None or lane.address != address:
            if lane is not None:
                lane.close()
            client_id = f"raft-client-{self._settings.node_id}"
            channel = self._network.channel(*address, client_id)
            lane = _Lane(self, message.to, address, channel, self._scheduler, self._settings)
            self._lanes[(message.to, kind)] = lane
        return lane

    def request(self, to: int, message: m.Message) -> Any:
        """Return the request that carries `message`. Called by lanes."""
        assert self._receiver is not None
        return self._requests.request(to, message, self._receiver.high_watermark)

    def check(self, answer: m.Message) -> None:
        """Raise UnusableResponse if the reply names a leader that cannot lead its epoch
        (`RaftClient.can_lead`). Called by lanes."""
        assert self._receiver is not None
        if isinstance(answer, m.Versions):
            return
        assert isinstance(
            answer, m.VoteReply | m.EpochReply | m.FetchReply | m.SnapshotReply | m.VoterReply
        )
        leader_id, epoch = answer.leader_id, answer.epoch
        if leader_id is not None and not self._receiver.can_lead(leader_id, epoch):
            raise UnusableResponse(f"node {leader_id} does not lead epoch {epoch}")

    def learn(self, response: object) -> None:
        """Note the addresses of leaders in a response. Called by lanes."""
        for node in getattr(response, "node_endpoints", None) or ():
            self.addresses.learned(node.node_id, node.host, node.port)
        leader = getattr(response, "current_leader", None)  # of UpdateRaftVoter
        if leader is not None:
            self.addresses.learned(leader.leader_id, leader.host, leader.port)

    def fail(self, error: Exception) -> None:
        """Stop the receiver, because the leader sent what this release does not know. Called by
        lanes."""
        if self._receiver is not None:
            self._receiver.fail(error)

    def deliver(self, event: m.Received | m.Unreachable) -> None:
        """Pass a reply, or an Unreachable, to the receiver; then check whether a resignation is
        acknowledged. Do nothing after `close`. Called by lanes."""
        if self._receiver is not None:
            self._receiver.receive(event)
            self._check_resignation()

    def request_failed(self, node: int, failure: ChannelFailure) -> None:
        """Keep the reason why a request got no response, for the log line about a missing leader
        (`note_no_leader`). Called by lanes."""
        address = self.addresses.of(node)
        if failure is ChannelFailure.REFUSED:
            reason = "connection refused"
        elif failure is ChannelFailure.TIMED_OUT:
            reason = f"no answer within {self._settings.quorum_request_timeout_ms} ms"
        else:
            reason = "the connection was lost"
            if address is not None:
                reason = self._settings.why_no_connection(*address) or reason
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
            self._silence.failed(self.addresses.shown(node), reason)

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
        address: Address,
        channel: Channel,
        scheduler: Scheduler,
        settings: ControllerSettings,
    ) -> None:
        self._network = network
        self.address = address
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
            version = VERSIONS_VERSION if isinstance(message, m.AskVersions) else None
            self._channel.send(request, self._on_response, self._timeout_ms, version)

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
            event = m.Unreachable(self._node, failure is ChannelFailure.REFUSED, _asked(message))
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
            return self._failed("it stops", message, refused=True)
        except NotAllowed:
            self._refused_by(self._node, kind)
            return self._failed("it lets this node take no part", message)
        except OtherCluster as error:
            return self._failed(str(error), message)
        except MetadataRecordError as error:
            self._network.fail(error)
            return self._failed(str(error), message)
        except UnusableResponse as error:
            # A bootstrap server may be this node, which refuses its own Fetch.
            level = logging.WARNING if self._node >= 0 else logging.DEBUG
            logger.log(level, "voter %d answered %s with nonsense: %s", self._node, kind, error)
            return self._failed(f"it answered {kind} with nonsense: {error}", message)
        self._network.learn(response)
        self._network.response_received(self._node, answer)
        if isinstance(message, m.Fetch | m.FetchSnapshot) and _brings_nothing(answer):
            self._back_off(grows=False)
        else:
            self._backoff_ms = 0.0
        return m.Received(self._node, answer)

    def _failed(self, reason: str, message: m.Message, *, refused: bool = False) -> m.Unreachable:
        """Back off after an unusable response, keep `reason` for the log line about a missing
        leader, and return an Unreachable."""
        self._network.note_no_leader(self._node, reason)
        self._back_off(grows=True)
        return m.Unreachable(self._node, refused, _asked(message))


def _brings_nothing(answer: m.Message) -> bool:
    """Return whether a reply to a Fetch has no data, so that the next Fetch should wait."""
    if isinstance(answer, m.SnapshotReply):
        return answer.data is None
    return isinstance(answer, m.EpochReply)


def _lane_of(message: m.Message) -> str:
    """Return the lane in which a message goes."""
    if isinstance(message, m.Fetch | m.FetchSnapshot):
        return "fetches"
    if isinstance(message, m.AddVoter | m.RemoveVoter | m.UpdateVoter | m.AskVersions):
        return "voters"
    return "elections"


def _asked(message: m.Message) -> m.AskVersions | None:
    """Return the message if it asks a replica for its levels."""
    return message if isinstance(message, m.AskVersions) else None
