"""A follower's Fetch of one partition within a session, and its answer, read and written in one go.

While one partition is written to, that is all that brokers say to each other, for every batch. As
in `protocol.fetch_codec`, what the generated classes do in a call for each array and struct is one
`struct` call here; they stay the definition, and tests hold both equal. Whatever is not of this
kind is left to them. Never does I/O.

Versions: from v15 on, which has the follower at the request's end (KIP-903); brokers of one cluster
speak the last.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.primitives import ZERO_UUID, MessageBuffer, read_compact_nullable_records

OLDEST = 15

_ONE = 2  # a compact array of one element
_NONE = 1  # a compact array of none
# Most wait, least bytes, most bytes, isolation, session's id and epoch; topics and the topic's id;
# partitions, index, leader epoch, offset, last fetched epoch, log start offset, most bytes; what
# has to be empty, and that the follower comes as a tagged field; the follower, its epoch, no tags.
_REQUEST = Struct(">iiibiiB16sBiiqiqi7siqB")
_REQUEST_BYTES = _REQUEST.size
# Tags of the partition and of the topic, topics to forget, rack; one tagged field, of 13 bytes.
_EMPTY_AND_TAG = b"\0\0\1\1\1\1\x0d"
_ANYTHING = FetchPartition().high_watermark

# Throttle time, error code, session's id; topics and the topic's id; partitions, index, error code,
# high watermark, last stable offset, log start offset, aborted transactions, preferred replica.
_RESPONSE = Struct(">ihiB16sBihqqqBi")
_RESPONSE_BYTES = _RESPONSE.size
_TAGS = bytes(3)  # of the partition, of the topic and of the response


class OneFollowed(NamedTuple):
    """What a follower asks of one partition. Waits are in ms."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    session_id: int
    session_epoch: int
    topic_id: bytes
    partition: int
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int
    replica_id: int
    broker_epoch: int


def may_be_followers(frame: memoryview, pos: int, version: int) -> bool:
    """Whether `read_one` may know a frame with its body at `pos`: by its size alone."""
    return version >= OLDEST and len(frame) == pos + _REQUEST_BYTES


def read_one(buf: memoryview, pos: int, version: int) -> OneFollowed | None:
    """A follower's request at `pos`; None where it is another kind, or none."""
    if not may_be_followers(buf, pos, version):
        return None
    (
        wait, least, most, isolation, session_id, session_epoch, topics, topic_id,
        partitions, index, leader_epoch, offset, fetched_epoch, log_start, partition_most,
        empty, replica_id, broker_epoch, tags,
    ) = _REQUEST.unpack_from(buf, pos)  # fmt: skip
    if (topics, partitions, empty, tags) != (_ONE, _ONE, _EMPTY_AND_TAG, 0):
        return None
    if isolation or replica_id < 0:
        return None
    return OneFollowed(
        wait, least, most, session_id, session_epoch, topic_id, index, leader_epoch, offset,
        fetched_epoch, log_start, partition_most, replica_id, broker_epoch,
    )  # fmt: skip


class ReplicaFetchResponse(FetchResponse):
    """A Fetch response, quickly read where it is of one partition."""

    __slots__ = ()

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[FetchResponse, int]:
        if version < OLDEST or len(buf) < pos + _RESPONSE_BYTES:
            return FetchResponse.read(buf, pos, version)
        (
            throttle_ms, error, session_id, topics, topic_id, partitions, index, partition_error,
            high_watermark, last_stable_offset, log_start, aborted, preferred,
        ) = _RESPONSE.unpack_from(buf, pos)  # fmt: skip
        if topics != _ONE or partitions != _ONE or aborted > _NONE:
            return FetchResponse.read(buf, pos, version)
        records, end = read_compact_nullable_records(buf, pos + _RESPONSE_BYTES)
        if buf[end:] != _TAGS:
            return FetchResponse.read(buf, pos, version)
        data = PartitionData(
            index, partition_error, high_watermark, last_stable_offset, log_start, None, None, None,
            [] if aborted else None, preferred, records,
        )  # fmt: skip
        topic = FetchableTopicResponse("", topic_id, [data])
        return FetchResponse(throttle_ms, error, session_id, [topic]), len(buf)


class ReplicaFetchRequest(FetchRequest):
    """A follower's Fetch request, quickly written where it is of one partition."""

    ANSWER = ReplicaFetchResponse

    __slots__ = ()

    def write(self, out: MessageBuffer, version: int) -> None:
        one = self._only_partition() if version >= OLDEST else None
        state = self.replica_state
        if one is None or state is None:
            super().write(out, version)
            return
        out += _REQUEST.pack(
            self.max_wait_ms, self.min_bytes, self.max_bytes, self.isolation_level,
            self.session_id, self.session_epoch, _ONE, self.topics[0].topic_id,
            _ONE, one.partition, one.current_leader_epoch, one.fetch_offset,
            one.last_fetched_epoch, one.log_start_offset, one.partition_max_bytes,
            _EMPTY_AND_TAG, state.replica_id, state.replica_epoch, 0,
        )  # fmt: skip

    def _only_partition(self) -> FetchPartition | None:
        """The one that it names, where there is nothing else that the short way cannot say."""
        if len(self.topics) != 1 or len(self.topics[0].partitions) != 1:
            return None
        if self.forgotten_topics_data or self.rack_id or self.cluster_id is not None:
            return None
        if self.replica_state is None or self.replica_state.replica_id < 0:
            return None
        (one,) = self.topics[0].partitions
        if one.replica_directory_id != ZERO_UUID or one.high_watermark != _ANYTHING:
            return None
        return one
