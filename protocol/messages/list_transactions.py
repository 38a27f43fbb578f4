"""ListTransactions (API key 66). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_ih = Struct(">ih")
_q = Struct(">q")


class ListTransactionsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")

    def __init__(
        self,
        state_filters: list[str] = NEW,
        producer_id_filters: list[int] = NEW,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters = [] if state_filters is NEW else state_filters
        self.producer_id_filters = [] if producer_id_filters is NEW else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListTransactionsRequest]:
        state_filters: list[str]
        producer_id_filters: list[int]
        transactional_id_pattern: str | None
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        state_filters = []
        for _ in range(n):
            if pos > stop:
                yield
                stop = pos + p.SLICE_BYTES
            item_state_filters, pos = p.read_compact_string(buf, pos)
            state_filters.append(item_state_filters)
        n, pos = p.read_compact_array_length(buf, pos, 8)
        if n < 0:
            p.refuse_null_array()
        producer_id_filters, pos, stop = yield from p.read_numbers(buf, pos, n, "q", 8, stop)
        if version >= 1:
            (duration_filter,) = _q.unpack_from(buf, pos)
            pos += 8
        else:
            duration_filter = -1
        if version == 2:
            transactional_id_pattern, pos = p.read_compact_nullable_string(buf, pos)
        else:
            transactional_id_pattern = None
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(state_filters, producer_id_filters, duration_filter, transactional_id_pattern), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.uvarint(len(self.state_filters) + 1)
        for item_state_filters in self.state_filters:
            out += p.compact_string(item_state_filters)
        out += p.uvarint(len(self.producer_id_filters) + 1)
        out += Struct(f">{len(self.producer_id_filters)}q").pack(*self.producer_id_filters)
        if version >= 1:
            out += _q.pack(self.duration_filter)
        if version == 2:
            out += p.compact_nullable_string(self.transactional_id_pattern)
        out += b"\0"


class TransactionState(Message):
    __slots__ = ("transactional_id", "producer_id", "transaction_state")

    def __init__(
        self,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[TransactionState, int]:
        transactional_id, pos = p.read_compact_string(buf, pos)
        (producer_id,) = _q.unpack_from(buf, pos)
        pos += 8
        transaction_state, pos = p.read_compact_string(buf, pos)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(transactional_id, producer_id, transaction_state), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += p.compact_string(self.transactional_id)
        out += _q.pack(self.producer_id)
        out += p.compact_string(self.transaction_state)
        out += b"\0"


class ListTransactionsResponse(Message):
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = NEW,
        transaction_states: list[TransactionState] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters = [] if unknown_state_filters is NEW else unknown_state_filters
        self.transaction_states = [] if transaction_states is NEW else transaction_states

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListTransactionsResponse, int]:
        unknown_state_filters: list[str]
        transaction_states: list[TransactionState]
        throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
        pos += 6
        n, pos = p.read_compact_array_length(buf, pos, 1)
        if n < 0:
            p.refuse_null_array()
        unknown_state_filters = []
        for _ in range(n):
            item_unknown_state_filters, pos = p.read_compact_string(buf, pos)
            unknown_state_filters.append(item_unknown_state_filters)
        n, pos = p.read_compact_array_length(buf, pos, 11)
        if n < 0:
            p.refuse_null_array()
        transaction_states = []
        for _ in range(n):
            item_transaction_states, pos = TransactionState.read(buf, pos, version)
            transaction_states.append(item_transaction_states)
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, unknown_state_filters, transaction_states), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ih.pack(self.throttle_time_ms, self.error_code)
        out += p.uvarint(len(self.unknown_state_filters) + 1)
        for item_unknown_state_filters in self.unknown_state_filters:
            out += p.compact_string(item_unknown_state_filters)
        out += p.uvarint(len(self.transaction_states) + 1)
        for item_transaction_states in self.transaction_states:
            item_transaction_states.write(out, version)
        out += b"\0"


REQUEST = ListTransactionsRequest
RESPONSE = ListTransactionsResponse
