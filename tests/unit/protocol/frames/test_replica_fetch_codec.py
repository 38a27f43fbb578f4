"""What brokers say to each other of one partition is read and written as the generated classes
do it."""

from __future__ import annotations

import itertools

import pytest

from protocol.errors import ProtocolError
from protocol.frames.message_codec import decode, encode_request
from protocol.frames.replica_fetch_codec import (
    OneFetched,
    ReplicaFetchOne,
    ReplicaFetchResponse,
)
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from protocol.primitives import MessageBuffer

VERSIONS = range(4, 19)
SHORT = range(15, 19)
TOPIC_ID = bytes(range(16))
MIB = 1 << 20
INTERESTING = (0, 1, 2, 3, 0x7F, 0x80, 0xFF)


def asked(**options: object) -> FetchPartition:
    fields: dict[str, object] = {
        "partition": 7,
        "current_leader_epoch": 3,
        "fetch_offset": 1 << 40,
        "last_fetched_epoch": 2,
        "log_start_offset": 11,
        "partition_max_bytes": MIB,
        **options,
    }
    return FetchPartition(**fields)  # type: ignore[arg-type]


def fields(**options: object) -> dict[str, object]:
    return {
        "replica_state": ReplicaState(2, 1 << 33),
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 10 * MIB,
        "session_id": 77,
        "session_epoch": 5,
        "topics": [FetchTopic("", TOPIC_ID, [asked()])],
        **options,
    }


def asking(**options: object) -> FetchRequest:
    return FetchRequest(**fields(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize("version", SHORT)
@pytest.mark.parametrize("client_id", ["b", "", "broker-1-fetcher-0", "é"])
def test_a_request_is_written_as_the_generated_class_writes_it(
    version: int, client_id: str
) -> None:
    request = asking()
    one = ReplicaFetchOne(500, 1, 10 * MIB, 77, 5, TOPIC_ID, 7, 3, 1 << 40, 2, 11, MIB, 2, 1 << 33)
    frame = encode_request(one, version, 9, client_id)
    assert frame == encode_request(request, version, 9, client_id)


def answers() -> list[FetchResponse]:
    def of(*partitions: PartitionData, **options: object) -> FetchResponse:
        topics = [FetchableTopicResponse("", TOPIC_ID, list(partitions))]
        return FetchResponse(0, 0, 77, topics, **options)  # type: ignore[arg-type]

    data = PartitionData(7, 0, 1 << 40, 12, 3, aborted_transactions=None, records=b"r" * 300)
    aborted = [AbortedTransaction(1, 2)]
    return [
        of(data),
        of(PartitionData(7, 3, -1, -1, -1, aborted_transactions=None, records=b"")),
        of(PartitionData(7, 0, 5, 5, 0, aborted_transactions=[], records=None)),
        of(PartitionData(7, 0, 5, 5, 0, aborted_transactions=aborted, records=b"r")),
        of(PartitionData(7, 0, 5, 5, 0, diverging_epoch=EpochEndOffset(1, 2), records=b"")),
        of(data, data),
        of(data, node_endpoints=[NodeEndpoint(1, "h", 9)]),
        FetchResponse(0, 0, 77, []),
        FetchResponse(5, 71, 0, []),
    ]


def plainly(response: FetchResponse) -> FetchResponse | OneFetched:
    """What is to be read where the frame has a response: one partition, if that is all."""
    (topic,) = response.responses if len(response.responses) == 1 else (None,)
    if topic is None or len(topic.partitions) != 1 or response.error_code:
        return response
    (one,) = topic.partitions
    if (
        one.error_code
        or one.aborted_transactions
        or one.preferred_read_replica != -1
        or one.diverging_epoch is not None
        or one.current_leader is not None
        or one.snapshot_id is not None
        or response.node_endpoints
    ):
        return response
    return OneFetched(
        response.session_id,
        topic.topic_id,
        one.partition_index,
        one.high_watermark,
        one.log_start_offset,
        one.records,
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("which", range(len(answers())))
def test_an_answer_is_read_as_the_generated_class_reads_it(version: int, which: int) -> None:
    out = MessageBuffer()
    answers()[which].write(out, version)
    view = memoryview(b"head" + out + b"tail")
    whole, end = FetchResponse.read(view[:-4], 4, version)
    expected = plainly(whole) if version in SHORT else whole
    assert ReplicaFetchResponse.read(view[:-4], 4, version) == (expected, end)
    # What stands behind it is for the generated class.
    assert ReplicaFetchResponse.read(view, 4, version) == (whole, end)


@pytest.mark.parametrize("version", SHORT)
def test_every_changed_byte_of_an_answer_reads_as_the_generated_class_reads_it(
    version: int,
) -> None:
    out = MessageBuffer()
    answers()[0].write(out, version)
    frames = [bytes(out[:end]) for end in range(len(out))]
    for position, value in itertools.product(range(len(out)), INTERESTING):
        frame = bytearray(out)
        frame[position] = value
        frames.append(bytes(frame))
    short = 0
    for one in frames:
        read, whole = (
            outcome(ReplicaFetchResponse, one, version),
            outcome(FetchResponse, one, version),
        )
        if isinstance(read, OneFetched):
            short += 1
            assert isinstance(whole, FetchResponse)
            whole = plainly(whole)
        assert read == whole
    assert short > len(frames) / 2


def outcome(message: type, frame: bytes, version: int) -> object:
    try:
        return decode(message, memoryview(frame), 0, version)
    except ProtocolError:
        return ProtocolError
