"""Requests whose frames have more than one slice: read while others are served."""

from __future__ import annotations

from typing import Any

import pytest

from broker.requests.context import Api, Respond
from broker.requests.request_handler import RequestHandler
from broker.requests.sliced_answers import SlicedAnswers
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.frames.message_codec import encode_request
from protocol.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.sliced_fixture import Turns


class LongRequest:
    """A ListOffsets request of many topics, whose frame is gone once `handle` has returned."""

    def __init__(self, cut_bytes: int = 0) -> None:
        topics = [ListOffsetsTopic(f"topic-{number}") for number in range(2_000)]
        self.request = ListOffsetsRequest(topics=topics)
        frame = bytearray(encode_request(self.request, 1, 7, "me"))[4:]
        self.turns = Turns()
        self.connection = Connection()
        self.reply = Reply()
        self.handled: list[Any] = []
        self.response = ListOffsetsResponse()
        self.breaks = False
        handler = RequestHandler([Api(ApiKey.LIST_OFFSETS, 1, 11, self.answer)])
        handler.slice_by(self.turns.answers)
        handler.handle(self.connection, memoryview(frame)[: len(frame) - cut_bytes], self.reply)
        frame[:] = bytes(len(frame))

    def answer(self, _context: Any, request: Any, respond: Respond) -> None:
        assert not self.breaks, "broken"
        self.handled.append(request)
        respond(self.response)


def test_a_long_request_is_read_in_slices_from_a_frame_that_is_kept() -> None:
    long = LongRequest()
    assert not long.handled and long.turns.run() > 3
    assert long.handled == [long.request] and len(long.reply) == 1


def test_a_long_request_and_its_response_are_freed_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    freed: list[Any] = []
    monkeypatch.setattr(SlicedAnswers, "free", lambda _, message: freed.append(message))
    long = LongRequest()
    long.response.topics = [ListOffsetsTopicResponse("t") for _ in range(2_000)]
    long.turns.run()
    assert len(long.reply) == 1
    assert freed[0] is long.handled[0] and freed[1] is long.response and len(freed) == 2


def test_a_long_request_that_ends_too_soon_closes_the_connection() -> None:
    long = LongRequest(cut_bytes=1)
    long.turns.run()
    assert not long.handled and isinstance(long.reply.error, ProtocolError)


def test_a_long_request_of_a_connection_that_ends_is_read_no_further() -> None:
    long = LongRequest()
    long.connection.ended()
    assert long.turns.run() == 1 and not long.handled and not long.reply


def test_a_broken_invariant_behind_a_long_request_stops_the_process() -> None:
    long = LongRequest()
    long.breaks = True
    with pytest.raises(AssertionError, match="broken"):
        long.turns.run()
    assert isinstance(long.reply.error, AssertionError)
