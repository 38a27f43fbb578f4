"""The short way reads and writes the bytes that the generated classes do."""

from __future__ import annotations

import itertools

import pytest

from protocol.errors import ProtocolError
from protocol.fetch_codec import (
    FetchAnswer,
    OneFetch,
    SameFetch,
    may_be_one,
    read_one,
    what_repeats,
    without_wait,
)
from protocol.message_codec import decode, encode_response
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from protocol.primitives import ZERO_UUID, MessageBuffer

VERSIONS = range(4, 19)
SESSION_EPOCH, OFFSET = 5, 10  # in a OneFetch
SHORT = range(11, 19)
TOPIC_ID = bytes(range(16))
MIB = 1 << 20


def request(version: int, name: str = "topic", **options: object) -> FetchRequest:
    by_id = version >= 13
    wanted = FetchPartition(7, 3, 1 << 40, 2 if version >= 12 else -1, -1, MIB)
    topic = FetchTopic("" if by_id else name, TOPIC_ID if by_id else ZERO_UUID, [wanted])
    fields: dict[str, object] = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 50 * MIB,
        "isolation_level": 1,
        "session_id": 77,
        "session_epoch": 5,
        "topics": [topic],
        **options,
    }
    return FetchRequest(**fields)  # type: ignore[arg-type]


def written(request_: FetchRequest, version: int) -> bytes:
    out = MessageBuffer()
    request_.write(out, version)
    return bytes(out)


def fields_of(read: FetchRequest) -> OneFetch | None:
    """What `read_one` gives for a request that is all that it knows; else None."""
    partitions = [(topic, one) for topic in read.topics for one in topic.partitions]
    if len(read.topics) != 1 or len(partitions) != 1:
        return None
    topic, one = partitions[0]
    if (
        read.replica_id > -1
        or read.replica_state is not None
        or read.forgotten_topics_data
        or read.rack_id
        or one.high_watermark != FetchPartition().high_watermark
        or one.replica_directory_id != ZERO_UUID
    ):
        return None
    return (
        read.max_wait_ms, read.min_bytes, read.max_bytes, read.isolation_level, read.session_id,
        read.session_epoch, topic.topic, topic.topic_id, one.partition, one.current_leader_epoch,
        one.fetch_offset, one.last_fetched_epoch, one.partition_max_bytes,
    )  # fmt: skip


@pytest.mark.parametrize("version", SHORT)
@pytest.mark.parametrize("name", ["t", "é" * 60, "n" * 126])
def test_one_partition_reads_as_the_generated_class_reads_it(version: int, name: str) -> None:
    frame = memoryview(b"head" + written(request(version, name), version))
    assert may_be_one(frame, 4, version)
    assert read_one(frame, 4, version) == fields_of(decode(FetchRequest, frame, 4, version))
    assert read_one(frame, 4, version) is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("replica", [-2, -1, 0, 3])
def test_followers_are_left_to_the_long_way(version: int, replica: int) -> None:
    state = ReplicaState(replica, 5) if version >= 15 else None
    given = -1 if version >= 15 else replica
    frame = memoryview(written(request(version, replica_id=given, replica_state=state), version))
    short = read_one(frame, 0, version)
    if replica >= 0 or version < 11:
        assert short is None
    elif short is not None:
        assert short == fields_of(decode(FetchRequest, frame, 0, version))
    else:
        assert version >= 15, "there it stands in a tagged field"


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_else_there_is_goes_the_long_way(version: int) -> None:
    one = request(version).topics[0]
    others = [
        request(version, topics=[]),
        request(version, topics=[one, one]),
        request(version, topics=[FetchTopic(one.topic, one.topic_id, one.partitions * 2)]),
        request(version, topics=[FetchTopic(one.topic, one.topic_id, [])]),
        request(version, name="n" * 300) if version < 13 else request(version, topics=[]),
    ]
    if version >= 7:
        others.append(request(version, forgotten_topics_data=[ForgottenTopic("t", TOPIC_ID, [1])]))
    if version >= 11:
        others.append(request(version, rack_id="r"))
    if version >= 12:
        others.append(request(version, cluster_id="c"))
    for other in others:
        whole = memoryview(written(other, version))
        assert read_one(whole, 0, version) is None or (version == 11 and len(whole) > 300)
        assert version in (11, 12) or not may_be_one(whole, 0, version)


@pytest.mark.parametrize("version", SHORT)
def test_what_repeats_tells_readers_apart(version: int) -> None:
    def repeated(correlation_id: int, **options: object) -> bytes:
        head = b"head" + correlation_id.to_bytes(4, "big") + b"client"
        frame = head + written(request(version, **options), version)  # type: ignore[arg-type]
        return what_repeats(memoryview(frame), len(head), version)

    one = repeated(1)
    moved = request(version).topics
    moved[0].partitions[0].fetch_offset = 7
    assert one == repeated(2, session_epoch=6, topics=moved)
    moved[0].partitions[0].partition = 8
    assert len({one, repeated(1, topics=moved), repeated(1, max_wait_ms=501)}) == 3


@pytest.mark.parametrize("version", VERSIONS)
def test_without_wait_changes_the_wait_alone(version: int) -> None:
    frame = memoryview(b"head" + written(request(version), version))
    patched = decode(FetchRequest, without_wait(frame, 4, version), 4, version)
    expected = decode(FetchRequest, frame, 4, version)
    assert expected.max_wait_ms == 500
    expected.max_wait_ms = 0
    assert patched == expected


@pytest.mark.parametrize("version", SHORT)
def test_bytes_that_end_too_soon_are_not_read(version: int) -> None:
    whole = written(request(version), version)
    assert all(read_one(memoryview(whole[:end]), 0, version) is None for end in range(len(whole)))
    assert read_one(memoryview(whole + b"\0"), 0, version) is None


@pytest.mark.parametrize("version", SHORT)
def test_every_changed_byte_reads_as_the_generated_class_reads_it(version: int) -> None:
    whole = written(request(version, "abc"), version)
    for position, value in itertools.product(range(len(whole)), (0, 1, 2, 3, 0x7F, 0x80, 0xFF)):
        frame = bytearray(whole)
        frame[position] = value
        short = read_one(memoryview(frame), 0, version)
        try:
            expected = fields_of(decode(FetchRequest, memoryview(frame), 0, version))
        except ProtocolError:
            expected = None
        assert short is None or short == expected, position


class Slice:
    """Records in a file, as far as a codec looks at them."""

    position = 0

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self) -> bytes:
        return b"r" * self.size


@pytest.mark.parametrize("version", SHORT)
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("size", [1, 126, 127, 20_000, 1_048_576, 3_000_000])
def test_an_answer_is_written_as_the_generated_class_writes_it(
    version: int, committed: bool, size: int
) -> None:
    by_id = version >= 13
    name, topic_id = ("", TOPIC_ID) if by_id else ("topic-é", ZERO_UUID)
    records = Slice(size)
    answer = FetchAnswer(version, 5, name, topic_id, 7, committed)
    parts = answer.parts(99, 1 << 40, 12, 3, records)
    data = PartitionData(7, 0, 1 << 40, 12, 3, records=records)
    data.aborted_transactions = [] if committed else None
    topic = FetchableTopicResponse(name, topic_id, [data])
    expected = encode_response(FetchResponse(session_id=5, responses=[topic]), version, 99)
    assert b"".join(p if isinstance(p, bytes) else p.read() for p in parts) == expected.joined()
    assert parts[1] is records


@pytest.mark.parametrize("version", SHORT)
def test_the_next_frame_of_a_reader_is_known_by_what_repeats(version: int) -> None:
    frame = bytearray(b"\0\1" + version.to_bytes(2, "big") + b"\0\0\0\5" + b"\0\2me")
    pos = len(frame)
    frame += written(request(version), version)
    read = read_one(memoryview(frame), pos, version)
    assert read is not None
    same = SameFetch(memoryview(frame), pos, version)

    def rest(one: OneFetch) -> tuple[object, ...]:
        return tuple(one[i] for i in range(len(one)) if i not in (SESSION_EPOCH, OFFSET))

    assert same.read(memoryview(frame)) == (5, 5, 1 << 40)
    for position in range(len(frame)):
        other = bytearray(frame)
        other[position] ^= 1
        known = same.read(memoryview(other))
        changed = read_one(memoryview(other), pos, version)
        if 4 <= position < 8:
            assert known == (int.from_bytes(other[4:8], "big"), 5, 1 << 40)
        elif changed is None or position < pos or changed == read or rest(changed) != rest(read):
            assert known is None
        else:
            assert known == (5, changed[SESSION_EPOCH], changed[OFFSET])
    assert same.read(memoryview(frame + b"\0")) is None
    assert same.read(memoryview(frame[:-1])) is None
