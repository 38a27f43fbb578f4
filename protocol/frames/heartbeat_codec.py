"""Where the holes are in a ConsumerGroupHeartbeat that says nothing new, and in its answer.

A member of a consumer group says every few seconds that it is there: the same bytes again and again
but for the correlation id, and for the member's epoch, which rises with each rebalance. So is the
answer of a group in which nothing changes, but for the interval till the next one. Never does I/O.
"""

from __future__ import annotations

from protocol.frames.frame_shape import Reply, Shape, header_bytes
from protocol.frames.message_codec import encode_response
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from protocol.primitives import uvarint

_NO_TAGS = b"\0"
# Of an answer: its size, the correlation id, tags; throttle time, error code, no error message.
_BEFORE_MEMBER_ID = 4 + 4 + 1 + 4 + 2 + 1


def heartbeat_shape(frame: memoryview, request: ConsumerGroupHeartbeatRequest) -> Shape | None:
    """The shape of heartbeats like this one: its holes are the correlation id, the client id and
    the member's epoch. None where the frame is odd."""
    header = header_bytes(frame)
    names = _NO_TAGS + _compact(request.group_id) + _compact(request.member_id)
    at = header + len(names)
    if frame[header : at + 4] != names + request.member_epoch.to_bytes(4, signed=True):
        return None
    return Shape(len(frame), header, [(at, "i")])


def heartbeat_reply(version: int, member_id: str) -> Reply:
    """The answer that tells nothing new: `fill(correlation id, member epoch, interval in ms)`."""
    response = ConsumerGroupHeartbeatResponse(member_id=member_id)
    at = _BEFORE_MEMBER_ID + len(_compact(member_id))
    frame = encode_response(response, version, 0).joined()
    return Reply(frame, [(4, "i"), (at, "i"), (at + 4, "i")])


def _compact(text: str) -> bytes:
    data = text.encode()
    return uvarint(len(data) + 1) + data
