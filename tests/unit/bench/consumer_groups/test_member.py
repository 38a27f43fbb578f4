"""What a member sends, and what it does with what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from bench.consumer_groups.ledger import Ledger
from bench.consumer_groups.member import ConsumerProtocolMember
from protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)

T = bytes(16)


class Progress(ConsumerProtocolMember):
    """One without a connection: `answers` come, and what it sends is kept."""

    def __init__(self) -> None:
        self.answers: list[ConsumerGroupHeartbeatResponse] = []
        self.sent: list[Any] = []
        self.ledger = Ledger()
        self.group, self.member_id, self.client_id = "g", "m", "c"
        self.epoch, self.interval_ms, self.beat_at_s = 0, 0, 0.0
        self.waits, self.has_said_all = True, False
        self._subscribed, self._ledger, self._owned = ["t"], self.ledger, {}

    def _send(self, request: Any) -> None:
        self.waits = False
        self.sent.append(request)

    def _receive(self) -> ConsumerGroupHeartbeatResponse:
        self.waits = True
        return self.answers.pop(0)

    def hears(self, epoch: int, *partitions: int, error: int = 0) -> None:
        answer = ConsumerGroupHeartbeatResponse(
            error_code=error, member_epoch=epoch, heartbeat_interval_ms=60_000
        )
        if partitions:
            topic = ConsumerGroupHeartbeatResponseTopicPartitions(T, list(partitions))
            answer.assignment = Assignment([topic])
        self.answers.append(answer)
        self.answered()


def test_it_asks_again_where_the_coordinator_is_not_there_yet() -> None:
    member = Progress()
    member.beat()
    member.hears(0, error=14)
    assert not member.has_said_all
    with pytest.raises(RuntimeError, match="UNKNOWN_MEMBER_ID"):
        member.hears(0, error=25)
