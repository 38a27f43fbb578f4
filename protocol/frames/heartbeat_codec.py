"""The shape (`frame_shape`) of a ConsumerGroupHeartbeat without news, and of its response.

A member of a consumer group sends a heartbeat every few seconds: the same bytes except for the
correlation id, and the member's epoch, which rises with each rebalance. The response of a group
without changes differs also in the interval till the next heartbeat. Owns the positions of these
holes. Never does I/O.
"""

from __future__ import annotations

from protocol.frames.frame_shape import ReplyFrame, Shape, header_bytes
from protocol.frames.message_codec import encode_response
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.primitives import uvarint

_NO_TAGS = b"\0"
# The start of a response: size, correlation id, tags; throttle time, error code, no error message.
_BEFORE_MEMBER_ID = 4 + 4 + 1 + 4 + 2 + 1


def heartbeat_shape(frame: memoryview, request: ConsumerGroupHeartbeatRequest) -> Shape | None:
    """Return the shape of heartbeats like this one, whose holes are the correlation id, the client
    id and the member's epoch. Return None if the frame has other bytes than Ottla would write."""
    header = header_bytes(frame)
    names = _NO_TAGS + _compact(request.group_id) + _compact(request.member_id)
    at = header + len(names)
    if frame[header : at + 4] != names + request.member_epoch.to_bytes(4, signed=True):
        return None
    return Shape(len(frame), header, [(at, "i")])


def heartbeat_reply(version: int, member_id: str) -> ReplyFrame:
    """Return the response without an error or an assignment. Its `fill(correlation id, member
    epoch, interval in ms)` returns the frame."""
    response = ConsumerGroupHeartbeatResponse(member_id=member_id)
    at = _BEFORE_MEMBER_ID + len(_compact(member_id))
    frame = encode_response(response, version, 0).joined()
    return ReplyFrame(frame, [(4, "i"), (at, "i"), (at + 4, "i")])


def _compact(text: str) -> bytes:
    """Return a compact string: its length + 1 as a varint, then its UTF-8."""
    data = text.encode()
    return uvarint(len(data) + 1) + data
