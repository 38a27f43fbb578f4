"""The holes of a heartbeat and of its answer are where the generated classes put them."""

from __future__ import annotations

import pytest

from protocol.frames.heartbeat_codec import heartbeat_reply, heartbeat_shape
from protocol.frames.message_codec import encode_request, encode_response
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

NAMES = ["m", "a longer name", "é" * 100, "n" * 300]


def frame(request: ConsumerGroupHeartbeatRequest, version: int, correlation_id: int) -> memoryview:
    return memoryview(encode_request(request, version, correlation_id, "me"))[4:]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("instance", [None, "i"])
def test_heartbeats_of_a_member_have_one_shape_at_every_epoch(
    version: int, name: str, instance: str | None
) -> None:
    first, second = (ConsumerGroupHeartbeatRequest(name, name, epoch, instance) for epoch in (1, 9))
    one = frame(first, version, 7)
    shape = heartbeat_shape(one, first)
    assert shape is not None
    found = shape.match(one)
    assert found is not None and found[1] == (7, 1)
    assert shape.match(frame(second, version, 8)) == (found[0], (8, 9))
    other = ConsumerGroupHeartbeatRequest(name, name, 1, instance, rebalance_timeout_ms=5)
    changed = shape.match(frame(other, version, 7))
    assert changed is not None and changed[0] != found[0]


def test_an_odd_frame_has_no_shape() -> None:
    request = ConsumerGroupHeartbeatRequest("g", "m", 3)
    plain = bytes(frame(request, 1, 7))
    header = 10 + len("me")
    tagged = plain[:header] + b"\1\0\0" + plain[header + 1 :]
    assert heartbeat_shape(memoryview(tagged), request) is None
    # The length of the group's name in two bytes instead of one.
    long = plain[: header + 1] + b"\x82\0" + plain[header + 2 :]
    assert heartbeat_shape(memoryview(long), request) is None
    assert heartbeat_shape(memoryview(plain[: header + 3]), request) is None


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_filled_as_the_generated_class_writes_it(version: int, name: str) -> None:
    reply = heartbeat_reply(version, name)
    for epoch, interval_ms in ((1, 5_000), (2**31 - 1, 1)):
        response = ConsumerGroupHeartbeatResponse(
            member_id=name, member_epoch=epoch, heartbeat_interval_ms=interval_ms
        )
        expected = encode_response(response, version, 42).joined()
        assert reply.fill(42, epoch, interval_ms) == expected
