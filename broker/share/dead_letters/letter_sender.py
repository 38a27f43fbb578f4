"""The sender of dead letters to the leaders of their partitions.

    waiting ──► filled: records are read and copied ──► Produce with acks=all ──► outcomes

Owns a queue for each leader, with one request at a time in flight. So the number of brokers bounds
the memory for copies, however many letters wait. A request to this broker does not use the network.

Never decides whether a letter is tried again (`dead_letter_writer.py`). Follows the sender thread
of Kafka's `ShareGroupDLQStateManager`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from broker.share.dead_letters.letter import Letter
from broker.share.dead_letters.letter_request import (
    LetterRequest,
    LetterRules,
    PartitionBatch,
    RequestFiller,
    SendOutcome,
)
from broker.share.dead_letters.source_reader import SourceLog, SourceReader
from ground.ports import Channel, ChannelFailure, Network, Scheduler
from ground.sliced_work import SlicedWork
from protocol.errors import ErrorCode
from protocol.frames.frame_memory import Allocate
from protocol.messages.produce import ProduceRequest, ProduceResponse, TopicProduceData

log = logging.getLogger(f"ottla.{__name__}")

_ALL_REPLICAS = -1
_CLIENT_ID = "broker-{}-dead-letter-sender"


ProduceHere = Callable[[ProduceRequest, Callable[[ProduceResponse], None]], None]
"""Handles a Produce on this broker, and responds now or later."""


class SenderPorts(NamedTuple):
    """The surroundings of a sender."""

    node_id: int
    scheduler: Scheduler
    """The clock for waits between nodes."""
    wall_ms: Callable[[], int]
    """The clock for the timestamps of letters, in ms since 1970."""
    sliced: SlicedWork
    network: Network | None
    """None if there are no other nodes."""
    address_of: Callable[[int], tuple[str, int] | None]
    produce_here: ProduceHere
    source: SourceLog
    allocate: Allocate
    request_timeout_ms: int


class _Leader:
    """A leader's queue and its connection."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.waiting: deque[Letter] = deque()
        self.request: LetterRequest | None = None
        self.address: tuple[str, int] | None = None
        self.channel: Channel | None = None

    def begin(self) -> LetterRequest:
        """Begin a request, which is the only one until `end`."""
        self.request = LetterRequest()
        return self.request

    def end(self) -> None:
        """Allow a further request."""
        self.request = None

    def connect(self, address: tuple[str, int] | None, network: Network | None, name: str) -> None:
        """Make a channel to this address, unless there is one; close that to another address."""
        if address == self.address and self.channel is not None:
            return
        self.disconnect()
        self.address = address
        if address is not None and network is not None:
            self.channel = network.channel(*address, name)

    def disconnect(self) -> None:
        """Close the channel, whose request then fails."""
        channel, self.channel = self.channel, None
        if channel is not None:
            channel.close()


class LetterSender:
    """The queues of letters of a broker."""

    def __init__(self, ports: SenderPorts, rules: LetterRules) -> None:
        """Start without letters."""
        self._ports = ports
        self._rules = rules
        self._leaders: dict[int, _Leader] = {}
        self._stopped = False

    def send(self, leader_id: int, letter: Letter) -> None:
        """Queue a letter for a leader. The report comes later, never within this call."""
        leader = self._leaders.get(leader_id)
        if leader is None:
            leader = self._leaders[leader_id] = _Leader(leader_id)
        leader.waiting.append(letter)
        self._begin_request(leader)

    def stop(self) -> None:
        """Drop all letters and close the connections; report nothing more."""
        self._stopped = True
        leaders, self._leaders = self._leaders, {}
        for leader in leaders.values():
            leader.waiting.clear()
            leader.disconnect()

    # -- filling a request ---------------------------------------------------------------------

    def _begin_request(self, leader: _Leader) -> None:
        """Fill a request with the letters that wait, unless one is in progress."""
        if self._stopped or leader.request is not None or not leader.waiting:
            return
        request = leader.begin()
        reader = SourceReader(self._ports.source, self._ports.allocate)
        filler = RequestFiller(request, leader.node_id, self._rules, reader)
        steps = filler.fill(leader.waiting)
        self._ports.sliced.run(steps, partial(self._filled, leader, request))

    def _filled(
        self, leader: _Leader, request: LetterRequest, _nothing: None, error: Exception | None
    ) -> None:
        """Send a request that is filled."""
        if self._stopped:
            return
        leader.waiting.extendleft(reversed(request.later))
        if error is not None:
            # A bug: its letters would fail again and again, so none of them is kept.
            log.error("dead letters cannot be written: %s", error, exc_info=error)
            fault = ErrorCode.UNKNOWN_SERVER_ERROR, str(error)
            self._end(
                leader, [SendOutcome(letter, letter.next, *fault) for letter in request.letters]
            )
        elif topics := request.data(self._ports.wall_ms()):
            self._send(leader, request, topics)
        else:
            self._end(leader, [])

    # -- requests ------------------------------------------------------------------------------

    def _send(
        self, leader: _Leader, request: LetterRequest, topics: list[TopicProduceData]
    ) -> None:
        """Send the batches to their leader, to this broker itself by a call."""
        ports = self._ports
        message = ProduceRequest(None, _ALL_REPLICAS, ports.request_timeout_ms, topics)
        for letter in request.letters:
            letter.try_at(leader.node_id)
        if leader.node_id == ports.node_id:
            ports.produce_here(message, lambda response: self._answered(leader, request, response))
            return
        name = _CLIENT_ID.format(ports.node_id)
        leader.connect(ports.address_of(leader.node_id), ports.network, name)
        if leader.channel is None:
            self._unanswered(leader, request, ChannelFailure.REFUSED)
            return
        leader.channel.send(
            message, partial(self._channel_answered, leader, request), ports.request_timeout_ms
        )

    def _channel_answered(
        self,
        leader: _Leader,
        request: LetterRequest,
        response: ProduceResponse | None,
        failure: ChannelFailure | None,
    ) -> None:
        """Report a request over the network."""
        if response is None:
            self._unanswered(leader, request, failure)
        else:
            self._answered(leader, request, response)

    def _answered(self, leader: _Leader, request: LetterRequest, response: ProduceResponse) -> None:
        """Report the error of each partition. Letters of a partition without an answer fail."""
        errors = {
            (topic.topic_id, partition.index): (
                ErrorCode(partition.error_code),
                partition.error_message or "",
            )
            for topic in response.responses
            for partition in topic.partition_responses
        }

        def error_of(batch: PartitionBatch) -> tuple[ErrorCode, str]:
            """Return the answer for a batch."""
            place = batch.destination.topic_id, batch.destination.partition
            return errors.get(place, (ErrorCode.UNKNOWN_SERVER_ERROR, "no answer for it"))

        self._end(leader, request.outcomes(error_of))

    def _unanswered(
        self, leader: _Leader, request: LetterRequest, failure: ChannelFailure | None
    ) -> None:
        """Report that no answer came, so the letters may be written or not."""
        timed_out = failure is ChannelFailure.TIMED_OUT
        error = ErrorCode.REQUEST_TIMED_OUT if timed_out else ErrorCode.NETWORK_EXCEPTION
        text = f"no answer of broker {leader.node_id}"
        self._end(leader, request.outcomes(lambda _: (error, text)))

    def _end(self, leader: _Leader, outcomes: list[SendOutcome]) -> None:
        """Report the outcomes, and begin the next request."""
        if self._stopped:
            return
        leader.end()
        try:
            self._rules.report(outcomes)
        finally:
            self._begin_request(leader)
