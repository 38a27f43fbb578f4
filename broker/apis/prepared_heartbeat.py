"""A ConsumerGroupHeartbeat that says nothing new, in a group in which nothing changes.

Of a thousand members nearly all heartbeats are such ones. They are answered from the frame, and
what that takes does not grow with the group. What is remembered are names, never a group or a
member, so it cannot go stale: whether anything changes the coordinator says each time.

Never decides what is right: all else goes the way of `broker.apis.consumer_groups`.
"""

from __future__ import annotations

from broker.groups.consumer.membership import Sender
from broker.groups.group_coordinator import GroupCoordinator
from broker.requests.context import Answer, Later
from protocol.frames.frame_shape import Shape, Values
from protocol.frames.heartbeat_codec import heartbeat_reply, heartbeat_shape
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def prepare_heartbeat(
    coordinator: GroupCoordinator,
    version: int,
    frame: memoryview,
    request: ConsumerGroupHeartbeatRequest,
    sender: Sender,
) -> PreparedHeartbeat | None:
    """For a heartbeat that says no more than who sends it and at which epoch; None for others."""
    member_id, epoch = request.member_id, request.member_epoch
    plain = ConsumerGroupHeartbeatRequest(request.group_id, member_id, epoch, request.instance_id)
    shape = heartbeat_shape(frame, request) if request == plain and epoch > 0 else None
    if shape is None:
        return None
    return PreparedHeartbeat(coordinator, shape, version, epoch, sender)


class PreparedHeartbeat:
    """Heartbeats of one member, whatever its epoch."""

    __slots__ = ("_coordinator", "_epoch", "_reply", "_sender", "shape")

    def __init__(
        self, coordinator: GroupCoordinator, shape: Shape, version: int, epoch: int, sender: Sender
    ) -> None:
        """`epoch`: of the first one, which is handled."""
        self.shape = shape
        self._coordinator = coordinator
        self._epoch = epoch
        self._sender = sender
        self._reply = heartbeat_reply(version, sender.member_id)

    def follows(self, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Whether the first one heard nothing new."""
        same = response.member_epoch == self._epoch and response.assignment is None
        return same and not response.error_code

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """The answer where nothing changes; see `PreparedRequest`."""
        correlation_id, epoch = values
        interval_ms = self._coordinator.quiet_heartbeat(self._sender, epoch)
        return None if interval_ms is None else self._reply.fill(correlation_id, epoch, interval_ms)

    def expect(self, message: memoryview, values: Values) -> None:
        """Nobody sends heartbeats one after the other."""
