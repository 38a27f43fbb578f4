"""A Produce that begins with the bytes of an earlier one: what is the same in it was read before.

A producer that sends a record a request sends the same client id, topic and partition again and
again; only the correlation id, the length of the records and the records change. So what lies
before them is looked up as it stands, and one answer of `broker.apis.single_produce` is patched
into a template of the next: a third of the steps. With acks=all the answer comes when the replicas
have it. What is remembered follows from those bytes alone (the names, not the partition), and from
the listener, so it never becomes wrong.

Owns: what was remembered, within limits. Never: decides what is right; whatever is not plainly so
is declined before anything is done, and goes the ways that know all cases and have the words. Tests
hold the answers equal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import TypeAlias

from broker.apis.expected_produce import ExpectedProduce
from broker.apis.replicated_produce import ReplicatedProduce
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Later, Repeating
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.framing import SIZE_BYTES
from protocol.message_codec import ResponseParts
from protocol.produce_codec import (
    AnswerTemplate,
    Layout,
    OnePartition,
    answer_template,
    layout_of,
)

HEADS_MAX = 4096
"""What is remembered; when there is more, all is forgotten and learned again."""
HEAD_BYTES_MAX = 512

_ALL_REPLICAS = -1

_Find: TypeAlias = Callable[[str, int], Partition | None] | Callable[[bytes, int], Partition | None]
Place: TypeAlias = tuple[str, bytes, int]
"""Name or id of a topic, the other one being empty, and a partition's index."""
Appended: TypeAlias = tuple[int, int, int]
"""What is told of an append, replicated or not: first offset, append time, log start."""
_Refuse: TypeAlias = Callable[[int, str, Place, int, Appended, ErrorCode], ResponseParts]
_RefuseHere: TypeAlias = Callable[[int, Appended, ErrorCode], ResponseParts]


_Target: TypeAlias = tuple[_Find, str | bytes, int, int, int, AnswerTemplate | None, _RefuseHere]
"""Where such requests go, and how they are answered: finds the partition by a name or id and its
index; acks, the timeout in ms, and what answers; at last (correlation id, what was appended, error)
of an append that was not replicated. Tuples by themselves: one with names takes longer to take
apart."""


# How the length of records is read, as two numbers a and b: a × first + b × second = frame's size
# minus what is not records. A length of one byte is followed by the first byte of the batch, which
# is 0, as its base offset is.
_LENGTHS = {1: (1, 1), 2: (1, 128), 4: (65536, 1)}
_LENGTH_FORMATS = {1: "BB", 2: "BB", 4: "hH"}
_RECORDS_MIN = {1: 61, 2: 127, 4: 61}
_RECORDS_MAX = {1: 126, 2: 16382, 4: 1 << 30}


class RepeatedProduce:
    """What is remembered; one for a broker."""

    def __init__(self, replicas: ReplicaManager, refuse: _Refuse) -> None:
        """`refuse(version, listener, place, correlation id, appended, error)`: what is said of an
        append that was not replicated."""
        self._replicas = replicas
        self._refuse = refuse
        self._layouts: dict[tuple[str, Layout], _SameLayout] = {}
        self._heads = 0

    def remember(
        self, frame: memoryview, version: int, request: OnePartition, listener_name: str
    ) -> Repeating | None:
        """What answers requests that begin as this one, which was appended; None if it is odd."""
        layout = layout_of(frame, version, request[-1])
        if layout is None or layout.head_bytes > HEAD_BYTES_MAX:
            return None
        which = listener_name, layout
        same = self._layouts.get(which)
        if same is None:
            same = self._layouts[which] = _SameLayout(self._replicas, layout)
        head = bytes(frame[8 : 8 + layout.head_bytes])
        if head not in same.heads:
            if self._heads >= HEADS_MAX:
                self._forget()
                self._layouts[which] = same
            self._heads += 1
            same.heads[head] = self._target(version, request, listener_name)
        return same.repeating

    def _target(self, version: int, request: OnePartition, listener_name: str) -> _Target:
        acks, timeout_ms, name, topic_id, index, _ = request
        template = answer_template(version, name, topic_id, index) if acks else None
        refuse = partial(self._refuse, version, listener_name, (name, topic_id, index))
        find: _Find = self._replicas.partition if name else self._replicas.partition_by_id
        return find, name or topic_id, index, acks, timeout_ms, template, refuse

    def _forget(self) -> None:
        for same in self._layouts.values():  # connections may still ask them
            same.heads.clear()
        self._layouts.clear()
        self._heads = 0


class _SameLayout:
    """Requests of one version whose parts lie in the same places of their frames."""

    __slots__ = (
        "_api",
        "_around",
        "_first_factor",
        "_first_min",
        "_records_at",
        "_replicas",
        "_second_factor",
        "_size_max",
        "_size_min",
        "_tail",
        "_tail_at",
        "_tail_bytes",
        "_unpack",
        "heads",
        "repeating",
    )

    def __init__(self, replicas: ReplicaManager, layout: Layout) -> None:
        self._replicas = replicas
        width = layout.length_bytes
        self._api = (int(ApiKey.PRODUCE) << 16) + layout.version
        # API key and version, correlation id, the same bytes, two numbers for the length.
        self._unpack = Struct(f">ii{layout.head_bytes}s{_LENGTH_FORMATS[width]}").unpack_from
        self._records_at = 8 + layout.head_bytes + width
        self._tail = (layout.tail,)
        self._tail_bytes = len(layout.tail)
        self._tail_at = Struct(f"{len(layout.tail)}s").unpack_from  # less than a view to compare
        around = self._records_at + len(layout.tail)
        self._size_min = around + _RECORDS_MIN[width]
        self._size_max = around + _RECORDS_MAX[width]
        self._first_factor, self._second_factor = _LENGTHS[width]
        # A compact length is one more than the records; a byte that is not its last is 128 more.
        self._around = around - {1: 1, 2: 129, 4: 0}[width]
        self._first_min = 128 if width == 2 else 0
        self.heads: dict[bytes, _Target] = {}
        self.repeating = Repeating(self.answer, self.expect)

    def answer(self, frame: memoryview, later: Later) -> ResponseParts | None:
        """See `AtOnce`."""
        found = self._find_target(frame)
        if found is None:
            return None
        correlation_id, target, end = found
        find, topic, index, acks, timeout_ms, template, _ = target
        partition = find(topic, index)  # type: ignore[arg-type]
        if partition is None:
            return None
        offset = partition.append_plain(frame[self._records_at : end], acks)
        if offset < 0:
            return None
        log = partition.log
        if acks == _ALL_REPLICAS and partition.followers is not None:
            give = partial(_answer, target, correlation_id, offset, log.log_start_offset)
            produce = ReplicatedProduce(partition, log.log_end_offset, give)
            return produce.wait(self._replicas, timeout_ms, later)
        try:
            if template is None:
                return b""
            pack, answer_size, before, after = template
            start = log.log_start_offset
            answer: bytes = pack(answer_size, correlation_id, before, offset, -1, start, after)
            return answer
        finally:
            self._replicas.partition_changed(partition)

    def expect(self, message: memoryview) -> ExpectedProduce | None:
        """See `Repeating`."""
        frame = message[SIZE_BYTES:]
        found = self._find_target(frame)
        if found is None or int.from_bytes(message[:SIZE_BYTES]) != len(frame):
            return None
        _, (find, topic, index, _, _, template, _), end = found
        partition = find(topic, index)  # type: ignore[arg-type]
        if partition is None or template is None:
            return None
        start, end = SIZE_BYTES + self._records_at, SIZE_BYTES + end
        prepared = partition.prepare_plain(message[start:end])
        if prepared is None:
            return None
        return ExpectedProduce(self._replicas, partition, prepared, message, start, end, template)

    def _find_target(self, frame: memoryview) -> tuple[int, _Target, int] | None:
        """Correlation id, where it goes, where its records end; None where it is another kind."""
        size = len(frame)
        if not self._size_min <= size <= self._size_max:
            return None
        api, correlation_id, head, first, second = self._unpack(frame)
        target = self.heads.get(head)
        end = size - self._tail_bytes
        if (
            target is None
            or api != self._api
            or first * self._first_factor + second * self._second_factor + self._around != size
            or first < self._first_min
            or self._tail_at(frame, end) != self._tail
        ):
            return None
        return correlation_id, target, end


def _answer(
    target: _Target, correlation_id: int, offset: int, start: int, error: ErrorCode
) -> ResponseParts:
    """What is said of an append that was to be replicated."""
    *_, template, refuse = target
    if error or template is None:
        return refuse(correlation_id, (offset, -1, start), error)
    pack, size, before, after = template
    answer: bytes = pack(size, correlation_id, before, offset, -1, start, after)
    return answer
