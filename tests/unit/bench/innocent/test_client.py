"""The innocent client: what it sends when, and what it takes for a round trip."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from bench.innocent.client import FrameSeries, check_fetched, check_produced
from bench.wire import FETCH_VERSION, PRODUCE_VERSION
from protocol.frames.message_codec import encode_response
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

ANSWER = b"\0\0\0\2ok"
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def series(connection: socket.socket) -> FrameSeries:
    def check(answer: memoryview) -> None:
        if answer != b"ok":
            raise RuntimeError(bytes(answer).decode())

    return FrameSeries(connection, b"ask", check)


def test_a_trip_ends_with_the_last_byte_of_the_answer(pair: Pair) -> None:
    ours, theirs = pair
    one = series(ours)
    one.send(1.0)
    one.send(2.0)
    assert theirs.recv(100) == b"askask"
    theirs.sendall(ANSWER[:5])
    one.receive(3.0)
    assert (one.trips, one.under_way) == ([], 2)
    theirs.sendall(ANSWER[5:] + ANSWER)
    one.receive(4.0)
    assert (one.trips, one.under_way) == ([3.0, 2.0], 0)


def test_what_is_not_answered_counts_as_long_as_it_has_waited(pair: Pair) -> None:
    one = series(pair[0])
    one.send(1.0)
    assert one.give_up(31.0) == 1
    assert (one.trips, one.under_way) == ([30.0], 0)


def test_a_refusal_and_a_hang_up_are_no_round_trips(pair: Pair) -> None:
    ours, theirs = pair
    one = series(ours)
    one.send(1.0)
    theirs.sendall(b"\0\0\0\2no")
    with pytest.raises(RuntimeError, match="no"):
        one.receive(2.0)
    theirs.close()
    with pytest.raises(ConnectionError):
        one.receive(3.0)


def frame(response: object, version: int) -> memoryview:
    return memoryview(encode_response(response, version, 1))[4:]


def test_its_answers_are_looked_at() -> None:
    def produced(error: int) -> memoryview:
        partition = PartitionProduceResponse(0, error)
        topic = TopicProduceResponse("t", partition_responses=[partition])
        return frame(ProduceResponse([topic]), PRODUCE_VERSION)

    def fetched(error: int, records: bytes) -> memoryview:
        partition = PartitionData(0, error, aborted_transactions=[], records=records)
        topic = FetchableTopicResponse("t", partitions=[partition])
        return frame(FetchResponse(0, 0, 0, [topic]), FETCH_VERSION)

    check_produced(produced(0))
    check_fetched(fetched(0, b"records"))
    for check, answer in (
        (check_produced, produced(6)),
        (check_fetched, fetched(6, b"records")),
        (check_fetched, fetched(0, b"")),
    ):
        with pytest.raises(RuntimeError):
            check(answer)
