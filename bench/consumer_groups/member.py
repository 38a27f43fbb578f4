"""A member of a group that the broker assigns, with raw frames: no client library is the limit.

It sends what a stock consumer sends: all fields when it joins, then only its epoch after each
interval that the broker sets. When it gets another assignment, it releases and takes partitions at
once, and reports that at once. It reads no records.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import uuid4

from bench.consumer_groups.ledger import Ledger, Partition
from bench.groups import Speaker
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)

VERSION = 1
REBALANCE_TIMEOUT_MS = 60_000
AGAIN_S = 0.02
LEAVE_EPOCH = -1
_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class ConsumerProtocolMember:
    """A member on its own connection. One request is in flight, or none: then it `waits`."""

    def __init__(
        self, port: int, group: str, topics: Sequence[str], number: int, ledger: Ledger
    ) -> None:
        self.wire = Speaker(port)
        self.group = group
        self.client_id = f"member-{number}"
        self.member_id = str(uuid4())
        self.epoch = 0
        self.interval_ms = 0
        self.waits = True
        self.beat_at_s = 0.0
        """The time of its next heartbeat, by `time.monotonic`, unless one is in flight."""
        self.has_said_all = False
        """Whether the broker knows that the member has applied its assignment."""
        self._subscribed = list(topics)
        self._ledger = ledger
        self._owned: dict[Partition, None] = {}

    def beat(self) -> None:
        """Send a heartbeat with the fields that the broker does not know."""
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.epoch)
        if not self.epoch:
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = self._subscribed
        if not self.has_said_all:
            request.topic_partitions = self._topics()
        self.has_said_all = True
        self._send(request)

    def leave(self) -> None:
        """Send the heartbeat that leaves; `left` waits for the answer."""
        self._send(ConsumerGroupHeartbeatRequest(self.group, self.member_id, LEAVE_EPOCH))

    def left(self) -> None:
        """Wait for the answer to `leave`, and close the connection."""
        self._receive()
        self.die()

    def die(self) -> None:
        """Close the connection without a request."""
        self.wire.close()
        self._ledger.gave(self.member_id, self._owned, time.monotonic())
        self._owned = {}

    def answered(self) -> None:
        """Read the answer that has arrived; the next heartbeat is due at `beat_at_s`."""
        answer = self._receive()
        now = time.monotonic()
        error = ErrorCode(answer.error_code)
        if error in _AGAIN:
            self.has_said_all, self.beat_at_s = False, now + AGAIN_S
            return
        if error is not ErrorCode.NONE:
            raise RuntimeError(
                f"a heartbeat of {self.client_id} is refused: {error.name}, {answer.error_message}"
            )
        self.epoch, self.interval_ms = answer.member_epoch, answer.heartbeat_interval_ms
        self.beat_at_s = now + self.interval_ms / 1e3
        if answer.assignment is not None:
            self._take_assignment(answer, now)

    def quiet_frame(self) -> bytes:
        """Return a heartbeat with only the member's epoch, as it sends them from now on."""
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.epoch)
        return encode_request(request, VERSION, 1, self.client_id)

    def _take_assignment(self, answer: ConsumerGroupHeartbeatResponse, now: float) -> None:
        """Give up and take partitions as the answer assigns them.

        Notes both in the ledger, and makes a heartbeat due now.
        """
        assert answer.assignment is not None
        assigned = {
            (topic.topic_id, partition): None
            for topic in answer.assignment.topic_partitions
            for partition in topic.partitions
        }
        if assigned.keys() == self._owned.keys():
            return
        self._ledger.gave(
            self.member_id, (owned for owned in self._owned if owned not in assigned), now
        )
        self._ledger.took(self.member_id, (new for new in assigned if new not in self._owned), now)
        self._owned = assigned
        self.has_said_all, self.beat_at_s = False, now

    def _topics(self) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
        topics: dict[bytes, list[int]] = {}
        for topic_id, partition in self._owned:
            topics.setdefault(topic_id, []).append(partition)
        return [ConsumerGroupHeartbeatRequestTopicPartitions(*topic) for topic in topics.items()]

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        self.waits = False
        self.wire.socket.sendall(encode_request(request, VERSION, 1, self.client_id))

    def _receive(self) -> ConsumerGroupHeartbeatResponse:
        answer = self.wire.receive(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
        self.waits = True
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer
