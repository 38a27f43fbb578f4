"""Answers of messages alone."""

from __future__ import annotations

from protocol.frames.encoded_items import encoded
from protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from testbed.decoded_responses import decoded_response

VERSION = 9


def answer(partitions: list[OffsetFetchResponsePartitions]) -> OffsetFetchResponse:
    topics = [OffsetFetchResponseTopics("t", partitions=partitions)]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics)])


def test_what_is_written_already_is_read_back_however_deep_it_lies() -> None:
    plain = [OffsetFetchResponsePartitions(index, 7) for index in range(3)]
    assert decoded_response(answer(encoded(plain, VERSION)), VERSION) == answer(plain)


def test_what_is_messages_already_stays() -> None:
    for response in (answer([OffsetFetchResponsePartitions(0, 7)]), OffsetFetchResponse()):
        assert decoded_response(response, VERSION) is response
