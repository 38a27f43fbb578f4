"""A member of a group that the broker assigns, by frames of its own: no library is the limit.

It does what a stock consumer does: says all of itself when it joins, then nothing but its epoch,
each time the interval is over that the broker told; when it is told another assignment, it gives up
and takes at once, and says so at once. It reads no records.
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


class Member:
    """One, on a connection of its own. One request is under way, or none: then it `waits`."""

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
        """When its next heartbeat is due, by `time.monotonic`; of no meaning while one is under
        way."""
        self.has_said_all = False
        """Whether the broker knows that it has done what it was told."""
        self._subscribed = list(topics)
        self._ledger = ledger
        self._owned: dict[Partition, None] = {}

    def beat(self) -> None:
        """Send what is to be said now."""
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.epoch)
        if not self.epoch:
            request.rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
            request.subscribed_topic_names = self._subscribed
        if not self.has_said_all:
            request.topic_partitions = self._topics()
        self.has_said_all = True
        self._send(request)

    def leave(self) -> None:
        """Send that it goes; the answer is to be waited for by `left`."""
        self._send(ConsumerGroupHeartbeatRequest(self.group, self.member_id, LEAVE_EPOCH))

    def left(self) -> None:
        """Wait for the answer to `leave`, and hang up."""
        self._told()
        self.die()

    def die(self) -> None:
        """Hang up and say nothing."""
        self.wire.close()
        self._ledger.gave(self.member_id, self._owned, time.monotonic())
        self._owned = {}

    def answered(self) -> None:
        """Take the answer that is there; what follows from it is due at `beat_at_s`."""
        answer = self._told()
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
            self._follow(answer, now)

    def quiet_frame(self) -> bytes:
        """A heartbeat that says nothing but its epoch, as it is sent from now on."""
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.epoch)
        return encode_request(request, VERSION, 1, self.client_id)

    def _follow(self, answer: ConsumerGroupHeartbeatResponse, now: float) -> None:
        assert answer.assignment is not None
        told = {
            (topic.topic_id, partition): None
            for topic in answer.assignment.topic_partitions
            for partition in topic.partitions
        }
        if told.keys() == self._owned.keys():
            return
        self._ledger.gave(self.member_id, (one for one in self._owned if one not in told), now)
        self._ledger.took(self.member_id, (one for one in told if one not in self._owned), now)
        self._owned = told
        self.has_said_all, self.beat_at_s = False, now

    def _topics(self) -> list[ConsumerGroupHeartbeatRequestTopicPartitions]:
        topics: dict[bytes, list[int]] = {}
        for topic_id, partition in self._owned:
            topics.setdefault(topic_id, []).append(partition)
        return [ConsumerGroupHeartbeatRequestTopicPartitions(*one) for one in topics.items()]

    def _send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        self.waits = False
        self.wire.socket.sendall(encode_request(request, VERSION, 1, self.client_id))

    def _told(self) -> ConsumerGroupHeartbeatResponse:
        answer = self.wire.receive(ApiKey.CONSUMER_GROUP_HEARTBEAT, VERSION)
        self.waits = True
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer
