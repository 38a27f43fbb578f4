"""A shortcut for a ConsumerGroupHeartbeat without news, in a group in which nothing changes.

Nearly all heartbeats of a group's members are such heartbeats. They are answered without decoding
the request, at a cost that does not grow with the group. Only ids are kept, never a group or a
member, so nothing here can become stale: the coordinator checks each time whether anything changes.

Never rejects a heartbeat: all others are handled by `broker.apis.consumer_groups`.
"""

from __future__ import annotations

from broker.groups.consumer.membership import HeartbeatSender
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
    sender: HeartbeatSender,
) -> PreparedHeartbeat | None:
    """Return a shortcut for heartbeats like this one.

    None if the request has more than the group, the member, its instance id and its epoch, or if
    the epoch is not positive.
    """
    member_id, epoch = request.member_id, request.member_epoch
    plain = ConsumerGroupHeartbeatRequest(request.group_id, member_id, epoch, request.instance_id)
    shape = heartbeat_shape(frame, request) if request == plain and epoch > 0 else None
    if shape is None:
        return None
    return PreparedHeartbeat(coordinator, shape, version, epoch, sender)


class PreparedHeartbeat:
    """A shortcut for the heartbeats of one member, at any epoch."""

    __slots__ = ("_coordinator", "_epoch", "_reply", "_sender", "shape")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        shape: Shape,
        version: int,
        epoch: int,
        sender: HeartbeatSender,
    ) -> None:
        """`epoch` is that of the first heartbeat, which was handled without the shortcut."""
        self.shape = shape
        self._coordinator = coordinator
        self._epoch = epoch
        self._sender = sender
        self._reply = heartbeat_reply(version, sender.member_id)

    def follows(self, response: ConsumerGroupHeartbeatResponse) -> bool:
        """Return whether the first heartbeat's answer changed nothing: same epoch, no assignment,
        no error.
        """
        same = response.member_epoch == self._epoch and response.assignment is None
        return same and not response.error_code

    def answer(self, frame: memoryview, values: Values, later: Later) -> Answer | None:
        """Extend the member's session, and return the response. Return None, with nothing done, if
        anything changes in the group. See `PreparedRequest`."""
        correlation_id, epoch = values
        interval_ms = self._coordinator.quiet_heartbeat(self._sender, epoch)
        return None if interval_ms is None else self._reply.fill(correlation_id, epoch, interval_ms)

    def expect(self, message: memoryview, values: Values) -> None:
        """Prepare nothing: no client sends heartbeats in immediate succession."""
