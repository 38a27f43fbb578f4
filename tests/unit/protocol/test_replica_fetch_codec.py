"""What brokers say to each other of one partition is read and written as the generated classes
do it."""

from __future__ import annotations

import itertools

import pytest

from protocol.errors import ProtocolError
from protocol.fetch_codec import REPLICA_STATE_BYTES, SameFetch, what_repeats
from protocol.message_codec import decode, encode_request
from protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    NodeEndpoint,
    PartitionData,
    ReplicaState,
)
from protocol.primitives import ZERO_UUID, MessageBuffer
from protocol.replica_fetch_codec import (
    OneFetched,
    OneFollowed,
    ReplicaFetchOne,
    ReplicaFetchResponse,
    may_be_followers,
    read_one,
)

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


def written(request: FetchRequest, version: int) -> bytes:
    out = MessageBuffer()
    request.write(out, version)
    return bytes(out)


OTHERS: list[dict[str, object]] = [
    {},
    {"topics": []},
    {"topics": [FetchTopic("", TOPIC_ID, [])]},
    {"topics": [FetchTopic("", TOPIC_ID, [asked(), asked(partition=8)])]},
    {"topics": [FetchTopic("", TOPIC_ID, [asked()]), FetchTopic("", ZERO_UUID, [asked()])]},
    {"topics": [FetchTopic("", TOPIC_ID, [asked(replica_directory_id=TOPIC_ID)])]},
    {"topics": [FetchTopic("", TOPIC_ID, [asked(high_watermark=9)])]},
    {"forgotten_topics_data": [ForgottenTopic("", TOPIC_ID, [1])]},
    {"rack_id": "r"},
    {"cluster_id": "c"},
    {"isolation_level": 1},
    {"replica_state": None},
    {"replica_state": ReplicaState()},
    {"replica_state": ReplicaState(-1, 5)},
]


def one_followed(request: FetchRequest) -> OneFollowed | None:
    """What `read_one` gives for a request that is all that it knows; else None."""
    partitions = [(topic, one) for topic in request.topics for one in topic.partitions]
    state = request.replica_state
    if len(request.topics) != 1 or len(partitions) != 1 or state is None or state.replica_id < 0:
        return None
    (topic, one) = partitions[0]
    if (
        request.isolation_level
        or request.forgotten_topics_data
        or request.rack_id
        or request.cluster_id is not None
        or one.replica_directory_id != ZERO_UUID
        or one.high_watermark != FetchPartition().high_watermark
    ):
        return None
    return OneFollowed(
        request.max_wait_ms, request.min_bytes, request.max_bytes, request.session_id,
        request.session_epoch, topic.topic_id, one.partition, one.current_leader_epoch,
        one.fetch_offset, one.last_fetched_epoch, one.log_start_offset, one.partition_max_bytes,
        state.replica_id, state.replica_epoch,
    )  # fmt: skip


@pytest.mark.parametrize("version", SHORT)
@pytest.mark.parametrize("options", OTHERS)
def test_a_request_is_read_as_the_generated_class_reads_it(
    version: int, options: dict[str, object]
) -> None:
    view = memoryview(b"head" + written(asking(**options), version))
    read = read_one(view, 4, version)
    assert read == one_followed(decode(FetchRequest, view, 4, version))
    assert read is not None or options
    assert may_be_followers(view, 4, version) or read is None


@pytest.mark.parametrize("version", SHORT)
@pytest.mark.parametrize("client_id", ["b", "", "broker-1-fetcher-0", "é"])
def test_a_request_is_written_as_the_generated_class_writes_it(
    version: int, client_id: str
) -> None:
    request = asking()
    one = one_followed(request)
    assert one is not None
    frame = encode_request(ReplicaFetchOne(*one), version, 9, client_id)
    assert frame == encode_request(request, version, 9, client_id)


@pytest.mark.parametrize("version", range(4, 15))
def test_older_versions_are_left_to_the_generated_class(version: int) -> None:
    names = {"topics": [FetchTopic("t" if version < 13 else "", TOPIC_ID, [asked()])]}
    assert read_one(memoryview(written(asking(**names), version)), 0, version) is None


@pytest.mark.parametrize("version", SHORT)
def test_every_changed_byte_of_a_request_reads_as_the_generated_class_reads_it(
    version: int,
) -> None:
    whole = written(asking(), version)
    for position, value in itertools.product(range(len(whole)), INTERESTING):
        frame = bytearray(whole)
        frame[position] = value
        short = read_one(memoryview(frame), 0, version)
        try:
            expected = one_followed(decode(FetchRequest, memoryview(frame), 0, version))
        except ProtocolError:
            expected = None
        assert short is None or short == expected, position
    assert all(read_one(memoryview(whole[:end]), 0, version) is None for end in range(len(whole)))


@pytest.mark.parametrize("version", SHORT)
def test_the_next_frame_of_a_follower_is_known_by_what_repeats(version: int) -> None:
    frame = memoryview(encode_request(asking(), version, 9, "b"))[4:]
    pos = len(frame) - len(written(asking(), version))
    moved = [FetchTopic("", TOPIC_ID, [asked(fetch_offset=12)])]
    later = encode_request(asking(topics=moved, session_epoch=6), version, 10, "b")
    others = [
        encode_request(asking(**options), version, 9, "b")
        for options in (
            {"max_wait_ms": 499},
            {"replica_state": ReplicaState(3, 1 << 33)},
            {"replica_state": ReplicaState(2, 1)},
            {"topics": [FetchTopic("", TOPIC_ID, [asked(log_start_offset=12)])]},
        )
    ]
    same = SameFetch(frame, pos, version, REPLICA_STATE_BYTES)
    assert same.read(frame) == (9, 5, 1 << 40)
    assert same.read(memoryview(later)[4:]) == (10, 6, 12)
    repeated = what_repeats(frame, pos, version, REPLICA_STATE_BYTES)
    assert repeated == what_repeats(memoryview(later)[4:], pos, version, REPLICA_STATE_BYTES)
    for other in others:
        view = memoryview(other)[4:]
        assert same.read(view) is None
        assert what_repeats(view, pos, version, REPLICA_STATE_BYTES) != repeated


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
