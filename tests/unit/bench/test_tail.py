"""Where records lie in a Fetch answer, and which offset follows them."""

from __future__ import annotations

import pytest

from bench.tail import next_offset, records_span
from bench.wire import FETCH_VERSION
from protocol.frames.message_codec import encode_response
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from protocol.records import Record
from tests.batches import build_batch

TOPIC = "a-topic"


def batch(base_offset: int, records: int) -> bytes:
    data = bytearray(build_batch([Record(-1, 0, None, b"v")] * records))
    data[:8] = base_offset.to_bytes(8, "big")
    return bytes(data)


def answer(records: bytes | None, **changes: object) -> bytes:
    partition = PartitionData(0, records=records, **changes)  # type: ignore[arg-type]
    response = FetchResponse(responses=[FetchableTopicResponse(TOPIC, partitions=[partition])])
    return bytes(encode_response(response, FETCH_VERSION, 1).joined())


@pytest.mark.parametrize("aborted", [[], [AbortedTransaction(1, 2), AbortedTransaction(3, 4)]])
def test_the_records_are_found(aborted: list[AbortedTransaction]) -> None:
    records = batch(5, 3)
    frame = answer(records, aborted_transactions=aborted)
    start, end = records_span(frame, len(TOPIC))
    assert frame[start:end] == records


def test_no_records_are_an_empty_span() -> None:
    start, end = records_span(answer(None), len(TOPIC))
    assert start == end


def test_a_refusal_is_told() -> None:
    with pytest.raises(RuntimeError, match="error 6"):
        records_span(answer(None, error_code=6), len(TOPIC))


def test_the_next_offset_follows_the_last_whole_batch() -> None:
    data = batch(5, 3) + batch(8, 4)
    assert next_offset(data, 0, len(data), 5) == 12
    assert next_offset(data, 0, len(data) - 1, 5) == 8
    assert next_offset(data, 0, 11, 5) == 5
