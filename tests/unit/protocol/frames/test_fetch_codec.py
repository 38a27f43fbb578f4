"""The holes of a Fetch and of its answer are where the generated classes put them."""

from __future__ import annotations

import pytest

from protocol.frames.fetch_codec import FetchReplyFrames, fetch_shape
from protocol.frames.frame_shape import Shape
from protocol.frames.message_codec import encode_request, encode_response
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from protocol.primitives import ZERO_UUID

SHORT = range(11, 19)
TOPIC_ID = bytes(range(16))
MIB = 1 << 20


def request(
    version: int, name: str = "topic", offset: int = 1 << 40, **options: object
) -> FetchRequest:
    by_id = version >= 13
    wanted = FetchPartition(7, 3, offset, 2 if version >= 12 else -1, -1, MIB)
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


def frame_of(asked: FetchRequest, version: int, correlation_id: int = 9) -> memoryview:
    return memoryview(bytearray(encode_request(asked, version, correlation_id, "me")))[4:]


def shape_of(asked: FetchRequest, version: int, frame: memoryview | None = None) -> Shape | None:
    frame = frame_of(asked, version) if frame is None else frame
    return fetch_shape(frame, version, asked, "me")


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("name", ["t", "é" * 60, "n" * 200])
@pytest.mark.parametrize("follower", [False, True])
def test_a_request_has_one_shape_wherever_its_reader_is(
    version: int, name: str, follower: bool
) -> None:
    state: dict[str, object] = {}
    if follower and version >= 15:
        state = {"replica_state": ReplicaState(3, 5), "cluster_id": "c", "rack_id": "r"}
    one = request(version, name, **state)
    shape = shape_of(one, version)
    if version not in SHORT:
        assert shape is None
        return
    assert shape is not None
    fixed, values = shape.match(frame_of(one, version)) or ((), ())
    assert values == (9, 5, 1 << 40)
    moved = request(version, name, 12, session_epoch=6, **state)
    assert shape.match(frame_of(moved, version, 10)) == (fixed, (10, 6, 12))
    for change in ({"max_wait_ms": 501}, {"session_id": 78}, {"isolation_level": 0}):
        other = request(version, name, **state, **change)
        matched = shape.match(frame_of(other, version))
        assert matched is not None and matched[0] != fixed, change


@pytest.mark.parametrize("version", SHORT)
def test_what_is_of_several_partitions_or_odd_has_no_shape(version: int) -> None:
    one = request(version).topics[0]
    for topics in ([], [one, one], [FetchTopic(one.topic, one.topic_id, one.partitions * 2)]):
        assert shape_of(request(version, topics=topics), version) is None
    asked = request(version)
    if version >= 12:
        tagged = bytes(frame_of(asked, version))[:-1] + b"\1\5\0"
        assert shape_of(asked, version, memoryview(tagged)) is None
    assert shape_of(asked, version, memoryview(bytes(frame_of(asked, version)) + b"\0")) is None


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
    answer = FetchReplyFrames(version, 5, name, topic_id, 7, committed)
    parts = answer.parts(99, 1 << 40, 12, 3, records, 77)
    data = PartitionData(7, 0, 1 << 40, 12, 3, records=records)
    data.aborted_transactions = [] if committed else None
    topic = FetchableTopicResponse(name, topic_id, [data])
    expected = encode_response(FetchResponse(77, session_id=5, responses=[topic]), version, 99)
    assert b"".join(p if isinstance(p, bytes) else p.read() for p in parts) == expected.joined()
    assert parts[1] is records
