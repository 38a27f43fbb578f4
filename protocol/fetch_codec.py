"""Fetch of one partition, read and written in one go: what a reader of one partition asks.

Around the records of such a Fetch, which `sendfile` sends, there are a few numbers; the generated
reading and writing of nested arrays, a call each, costs more than finding the records. So a frame
of v11 and above with one topic of one partition, no partition to forget, no rack and no tagged
field is read by two or three `struct` calls, and an answer without an error or aborted
transactions is written the same way.

Everything else goes to the generated classes, which stay the definition: tests hold both equal.
Never does I/O.
"""

from __future__ import annotations

from struct import Struct

from protocol.message_codec import DECODE_ERRORS
from protocol.primitives import ZERO_UUID, RecordSlice, uvarint

OLDEST = 11
_FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
_NO_REPLICA_ID_FROM = 15

_SHORT = 0x80  # a compact length below this is one byte
_ONE = 2  # a compact array of one element

# Most wait, least bytes, most bytes, isolation, session's id and epoch come first in all versions;
# then topics and the length of the name, or the topic's id.
_TO_NAME_11 = Struct(">iiiibiiih")
_TO_NAME_12 = Struct(">iiiibiiBB")
# Partitions; the partition's index, leader epoch, fetch offset, (from v12) last fetched epoch, log
# start offset, most bytes; what follows has to be empty.
_PARTITION_11 = Struct(">iiiqqi6s")
_PARTITION_12 = Struct(">Biiqiqi5s")
_END_11 = bytes(6)  # no topics to forget, a rack of no letters
_END_12 = b"\0\0\1\1\0"  # tags of the partition and the topic, the same, tags of the request
_BY_ID = Struct(">iiibiiB16sBiiqiqi5s")
_BY_ID_BYTES = _BY_ID.size

# Size, correlation id, (tags,) throttle time, error code, session's id, topics, and the name.
_HEAD_11 = Struct(">iiihiih")
_HEAD_12 = Struct(">iiBihiBB")
_HEAD_BY_ID = Struct(">iiBihiB16s")
# Partitions, index, error code, high watermark, last stable offset, log start offset, aborted
# transactions, preferred replica; the length of the records comes next.
_ANSWER_11 = Struct(">iihqqqiii")
_ANSWER_12 = Struct(">BihqqqBi")
_HEAD_11_BYTES = _HEAD_11.size - 4 + _ANSWER_11.size  # the size does not count itself
_HEAD_12_BYTES = _HEAD_12.size - 4 + _ANSWER_12.size
_HEAD_BY_ID_BYTES = _HEAD_BY_ID.size - 4 + _ANSWER_12.size
_TAIL_12 = bytes(3)  # tags of the partition, of the topic and of the response
_NO_REPLICA = -1

OneFetch = tuple[int, int, int, int, int, int, str, bytes, int, int, int, int, int]
"""Most wait in ms, least and most bytes of the request, isolation level, session's id and epoch;
the topic's name or id, the partition's index, its leader epoch, the offset, the last fetched epoch
and the most bytes of this partition."""


def read_one(buf: memoryview, pos: int, version: int) -> OneFetch | None:
    """A consumer's request at `pos`; None where it is another kind, or none."""
    try:
        if version >= TOPIC_IDS_FROM:
            if version < _NO_REPLICA_ID_FROM:
                pos += 4
                if buf[pos - 4] < _SHORT:  # a follower's: the sign bit says consumer
                    return None
            if len(buf) != pos + _BY_ID_BYTES:
                return None
            (
                wait, least, most, isolation, session_id, session_epoch, topics, topic_id,
                partitions, index, leader_epoch, offset, fetched_epoch, _, partition_most, end,
            ) = _BY_ID.unpack_from(buf, pos)  # fmt: skip
            if topics != _ONE or partitions != _ONE or end != _END_12:
                return None
            return (
                wait, least, most, isolation, session_id, session_epoch, "", topic_id,
                index, leader_epoch, offset, fetched_epoch, partition_most,
            )  # fmt: skip
        return _read_by_name(buf, pos, version)
    except DECODE_ERRORS:
        return None  # too short for it: the generated class has the words


def _read_by_name(buf: memoryview, pos: int, version: int) -> OneFetch | None:
    if version == _FLEXIBLE_FROM:
        (
            replica, wait, least, most, isolation, session_id, session_epoch, topics, length,
        ) = _TO_NAME_12.unpack_from(buf, pos)  # fmt: skip
        pos += _TO_NAME_12.size
        name_end = pos + length - 1
        if len(buf) != name_end + _PARTITION_12.size or topics != _ONE or not 0 < length < _SHORT:
            return None
        partitions, index, leader_epoch, offset, fetched_epoch, _, partition_most, end = (
            _PARTITION_12.unpack_from(buf, name_end)
        )
        if partitions != _ONE or end != _END_12:
            return None
    elif version == OLDEST:
        (
            replica, wait, least, most, isolation, session_id, session_epoch, topics, length,
        ) = _TO_NAME_11.unpack_from(buf, pos)  # fmt: skip
        pos += _TO_NAME_11.size
        name_end = pos + length
        if len(buf) != name_end + _PARTITION_11.size or topics != 1 or length < 0:
            return None
        partitions, index, leader_epoch, offset, _, partition_most, end = _PARTITION_11.unpack_from(
            buf, name_end
        )
        fetched_epoch = -1
        if partitions != 1 or end != _END_11:
            return None
    else:
        return None
    if replica > _NO_REPLICA:
        return None
    return (
        wait, least, most, isolation, session_id, session_epoch,
        str(buf[pos:name_end], "utf-8"), ZERO_UUID,
        index, leader_epoch, offset, fetched_epoch, partition_most,
    )  # fmt: skip


def encode_one(
    version: int,
    correlation_id: int,
    session_id: int,
    name: str,
    topic_id: bytes,
    index: int,
    bounds: tuple[int, int, int],
    committed_only: bool,
    records: RecordSlice,
) -> list[bytes | RecordSlice]:
    """The frame that gives `records` of one partition, in parts, for what `read_one` reads.

    `bounds` are the high watermark, the last stable offset and the log's start. `committed_only`
    where the reader asked so: no transaction in these records was aborted, which differs from none
    being told.
    """
    size = records.size
    if version == OLDEST:
        known_as = name.encode()
        head = _HEAD_11.pack(
            _HEAD_11_BYTES + len(known_as) + size, correlation_id, 0, 0, session_id, 1,
            len(known_as),
        )  # fmt: skip
        aborted = 0 if committed_only else -1
        answer = _ANSWER_11.pack(1, index, 0, *bounds, aborted, -1, size)
        return [head + known_as + answer, records]
    answer = _ANSWER_12.pack(_ONE, index, 0, *bounds, committed_only, -1)
    length = uvarint(size + 1)
    size += len(length) + 3
    if version >= TOPIC_IDS_FROM:
        head = _HEAD_BY_ID.pack(
            _HEAD_BY_ID_BYTES + size, correlation_id, 0, 0, 0, session_id, _ONE, topic_id
        )
    else:
        known_as = name.encode()
        size += len(known_as)
        head = _HEAD_12.pack(
            _HEAD_12_BYTES + size, correlation_id, 0, 0, 0, session_id, _ONE, len(known_as) + 1
        )
        head += known_as
    return [head + answer + length, records, _TAIL_12]
