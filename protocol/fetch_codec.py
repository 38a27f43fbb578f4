"""Fetch of one partition, read and written in one go: what a reader of one partition asks.

Around the records of such a Fetch, which `sendfile` sends, there are a few numbers; the generated
reading and writing of nested arrays, a call each, costs more than finding the records. So a frame
of v11 and above with one topic of one partition, no partition to forget, no rack and no tagged
field is read by two or three `struct` calls, and an answer without an error or aborted
transactions is written the same way. What a reader repeats in each frame, and what we repeat in
each answer, is compared and copied as bytes (`SameFetch`, `FetchAnswer`).

Everything else goes to the generated classes, which stay the definition: tests hold both equal.
Never does I/O.
"""

from __future__ import annotations

from struct import Struct

from protocol.malformed_text import REPLACED
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

# Of an answer: tags of the header, throttle time, error code, session's id, topics, and the name;
# partitions, index and error code; then, after three offsets, aborted transactions and preferred
# replica. The length of the records comes last.
_BEFORE_11 = Struct(">ihiih")
_BEFORE_12 = Struct(">BihiBB")
_BEFORE_BY_ID = Struct(">BihiB16s")
_PARTITION_BEFORE_11 = Struct(">iih")
_PARTITION_BEFORE_12 = Struct(">Bih")
_AFTER_11 = Struct(">ii")
_AFTER_12 = Struct(">Bi")
_LENGTH_11 = Struct(">i")
_TAIL_12 = bytes(3)  # tags of the partition, of the topic and of the response
_NO_REPLICA = -1
_SIZE_BYTES = 4  # which a size does not count

# Where the session's epoch and the offset stand in a frame: after the body's start, before the end.
_EPOCH_AT = 21
_EPOCH_AT_WITHOUT_REPLICA_ID = 17
_OFFSET_BEFORE_END_11 = 26
_OFFSET_BEFORE_END_12 = 29
REPLICA_STATE_BYTES = 15
"""What a follower's frame has at its end, where a consumer's has nothing (from v15)."""

OneFetch = tuple[int, int, int, int, int, int, str, bytes, int, int, int, int, int]
"""Most wait in ms, least and most bytes of the request, isolation level, session's id and epoch;
the topic's name or id, the partition's index, its leader epoch, the offset, the last fetched epoch
and the most bytes of this partition."""


def may_be_one(frame: memoryview, pos: int, version: int) -> bool:
    """Whether `read_one` may know a frame with its body at `pos`: cheap, and nearly always right
    about followers and readers of several partitions."""
    if version < TOPIC_IDS_FROM:
        return version >= OLDEST
    replica_bytes = 0 if version >= _NO_REPLICA_ID_FROM else 4
    return len(frame) == pos + replica_bytes + _BY_ID_BYTES


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
        str(buf[pos:name_end], "utf-8", REPLACED), ZERO_UUID,
        index, leader_epoch, offset, fetched_epoch, partition_most,
    )  # fmt: skip


def without_wait(frame: memoryview, pos: int, version: int) -> memoryview:
    """A copy of a frame with its body at `pos` that asks for what there is now."""
    copy = bytearray(frame)
    wait_at = pos if version >= _NO_REPLICA_ID_FROM else pos + 4
    copy[wait_at : wait_at + 4] = bytes(4)
    return memoryview(copy)


def what_repeats(frame: memoryview, pos: int, version: int, after: int = 0) -> bytes:
    """All bytes of a frame with its body at `pos` that a reader's next one has, too: all but the
    correlation id, the session's epoch and the offset. `after`: the bytes at its end that a
    consumer's does not have."""
    epoch_at, offset_at = _changes_at(len(frame) - after, pos, version)
    parts = frame[:4], frame[8:epoch_at], frame[epoch_at + 4 : offset_at], frame[offset_at + 8 :]
    return b"".join(parts)


def _changes_at(size: int, pos: int, version: int) -> tuple[int, int]:
    """Where the session's epoch and the offset stand."""
    without_replica_id = version >= _NO_REPLICA_ID_FROM
    epoch_at = pos + (_EPOCH_AT_WITHOUT_REPLICA_ID if without_replica_id else _EPOCH_AT)
    before_end = _OFFSET_BEFORE_END_11 if version == OLDEST else _OFFSET_BEFORE_END_12
    return epoch_at, size - before_end


class SameFetch:
    """Finds `what_repeats` in a frame, and reads what does not."""

    __slots__ = ("_parts", "_size", "_unpack")

    def __init__(self, frame: memoryview, pos: int, version: int, after: int = 0) -> None:
        """From a frame of one partition with its body at `pos`; `after` as in `what_repeats`."""
        size = len(frame)
        epoch_at, offset_at = _changes_at(size - after, pos, version)
        between, rest = offset_at - epoch_at - 4, size - offset_at - 8
        form = f">4si{epoch_at - 8}si{between}sq{rest}s"
        self._unpack = Struct(form).unpack_from
        self._size = size
        api, _, first, _, second, _, third = self._unpack(frame)
        self._parts = api, first, second, third

    def read(self, frame: memoryview) -> tuple[int, int, int] | None:
        """Correlation id, session's epoch and offset of a frame that is the same in all else."""
        if len(frame) != self._size:
            return None
        api, correlation_id, first, session_epoch, second, offset, third = self._unpack(frame)
        if (api, first, second, third) != self._parts:
            return None
        return correlation_id, session_epoch, offset


class FetchAnswer:
    """Writes the frames that give one partition's records, for what `read_one` reads.

    `committed_only` where the reader asked so: no transaction in these records was aborted, which
    differs from none being told.
    """

    __slots__ = ("_after", "_before", "_by_varint", "_fixed_bytes", "_pack")

    def __init__(
        self,
        version: int,
        session_id: int,
        name: str,
        topic_id: bytes,
        index: int,
        committed_only: bool,
    ) -> None:
        known_as = name.encode()
        self._by_varint = version != OLDEST
        if version == OLDEST:
            before = _BEFORE_11.pack(0, 0, session_id, 1, len(known_as)) + known_as
            before += _PARTITION_BEFORE_11.pack(1, index, 0)
            self._after = _AFTER_11.pack(0 if committed_only else -1, -1)
        else:
            if version >= TOPIC_IDS_FROM:
                before = _BEFORE_BY_ID.pack(0, 0, 0, session_id, _ONE, topic_id)
            else:
                before = _BEFORE_12.pack(0, 0, 0, session_id, _ONE, len(known_as) + 1) + known_as
            before += _PARTITION_BEFORE_12.pack(_ONE, index, 0)
            self._after = _AFTER_12.pack(committed_only, -1)
        self._before = before
        form = Struct(f">ii{len(before)}sqqq{len(self._after)}s")
        self._pack = form.pack
        self._fixed_bytes = form.size - _SIZE_BYTES

    def parts(
        self,
        correlation_id: int,
        high_watermark: int,
        last_stable_offset: int,
        log_start_offset: int,
        records: bytes | RecordSlice,
    ) -> list[bytes | RecordSlice]:
        """A whole frame."""
        size = len(records) if isinstance(records, bytes) else records.size
        if self._by_varint:
            length = uvarint(size + 1)
            size += self._fixed_bytes + len(length) + 3
        else:
            length = _LENGTH_11.pack(size)
            size += self._fixed_bytes + 4
        head = self._pack(
            size, correlation_id, self._before,
            high_watermark, last_stable_offset, log_start_offset, self._after,
        ) + length  # fmt: skip
        return [head, records, _TAIL_12] if self._by_varint else [head, records]
