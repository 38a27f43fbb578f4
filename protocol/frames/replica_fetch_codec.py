"""A follower's Fetch of one partition within a session, and its response, by one `struct` call.

If clients write to one partition only, brokers send each other nothing else, once for every batch.
The generated classes make a call for each array and struct. They remain the definition of the
messages, and tests compare the two; messages of another form are left to them. Never does I/O.

Versions: from v15 on, which has the follower at the request's end (KIP-903); brokers of one cluster
use the latest.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.primitives import read_compact_nullable_records

OLDEST = 15

_ONE = 2  # the length of a compact array of one element
_NONE = 1  # the length of an empty compact array
# Max wait, min bytes, max bytes, isolation, session's id and epoch; topics and the topic's id;
# partitions, index, leader epoch, offset, last fetched epoch, log start offset, max bytes; empty
# fields and the head of the tagged field with the follower; the follower, its epoch, no tags.
_REQUEST = Struct(">iiibiiB16sBiiqiqi7siqB")
_REQUEST_BYTES = _REQUEST.size
# Tags of the partition and of the topic, topics to forget, rack; one tagged field, of 13 bytes.
_EMPTY_AND_TAG = b"\0\0\1\1\1\1\x0d"
_HEAD = Struct(">ihhih")  # size, API key, version, correlation id, length of the client id

# Throttle time, error code, session's id; topics and the topic's id; partitions, index, error code,
# high watermark, last stable offset, log start offset, aborted transactions, preferred replica.
_RESPONSE = Struct(">ihiB16sBihqqqBi")
_RESPONSE_BYTES = _RESPONSE.size
_TAGS = bytes(3)  # of the partition, of the topic and of the response
_PLAIN = (0, _ONE, _ONE, 0, -1)


class OneFetched(NamedTuple):
    """A leader's response for one partition without an error."""

    session_id: int
    topic_id: bytes
    partition: int
    high_watermark: int
    log_start_offset: int
    records: memoryview | None


class ReplicaFetchResponse:
    """A reader of Fetch responses, which is fast if the response has one partition."""

    API_KEY = FetchResponse.API_KEY
    FLEXIBLE_FROM = FetchResponse.FLEXIBLE_FROM

    @staticmethod
    def read(buf: memoryview, pos: int, version: int) -> tuple[OneFetched | FetchResponse, int]:
        """Return the response at `pos` and the position after it: OneFetched if it has one
        partition without an error, else a FetchResponse. Raises as `FetchResponse.read` does if the
        bytes are malformed."""
        if version < OLDEST or len(buf) < pos + _RESPONSE_BYTES:
            return FetchResponse.read(buf, pos, version)
        (
            _, error, session_id, topics, topic_id, partitions, index, partition_error,
            high_watermark, _, log_start, aborted, preferred,
        ) = _RESPONSE.unpack_from(buf, pos)  # fmt: skip
        if (error, topics, partitions, partition_error, preferred) != _PLAIN or aborted > _NONE:
            return FetchResponse.read(buf, pos, version)
        records, end = read_compact_nullable_records(buf, pos + _RESPONSE_BYTES)
        if buf[end:] != _TAGS:
            return FetchResponse.read(buf, pos, version)
        fetched = OneFetched(session_id, topic_id, index, high_watermark, log_start, records)
        return fetched, len(buf)


class _OnePartitionFetch(NamedTuple):
    """The fields of a follower's Fetch of one partition."""

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


class ReplicaFetchOne(_OnePartitionFetch):
    """A follower's Fetch of one partition, as a request that can be sent."""

    API_KEY = FetchRequest.API_KEY
    MAX_VERSION = FetchRequest.MAX_VERSION
    ANSWER = ReplicaFetchResponse

    __slots__ = ()

    def frame(self, version: int, correlation_id: int, client_id: str) -> bytes:
        """Return the whole frame, with its size. `version` is `OLDEST` or later."""
        (
            wait, least, most, session_id, session_epoch, topic_id, index, leader_epoch, offset,
            fetched_epoch, log_start, partition_most, replica_id, broker_epoch,
        ) = self  # fmt: skip
        name = client_id.encode()
        size = _HEAD.size - 4 + len(name) + 1 + _REQUEST_BYTES
        head = _HEAD.pack(size, self.API_KEY, version, correlation_id, len(name))
        return b"%b%b\0%b" % (head, name, _REQUEST.pack(
            wait, least, most, 0, session_id, session_epoch, _ONE, topic_id, _ONE, index,
            leader_epoch, offset, fetched_epoch, log_start, partition_most, _EMPTY_AND_TAG,
            replica_id, broker_epoch, 0,
        ))  # fmt: skip


class ReplicaFetchRequest(FetchRequest):
    """A follower's Fetch of any number of partitions, whose response may have one partition."""

    ANSWER = ReplicaFetchResponse

    __slots__ = ()
