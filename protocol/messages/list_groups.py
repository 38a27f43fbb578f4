"""ListGroups (API key 16). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_h = Struct(">h")
_i = Struct(">i")
_ih = Struct(">ih")


class ListGroupsRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("states_filter", "types_filter")

    def __init__(
        self,
        states_filter: list[str] = NEW,
        types_filter: list[str] = NEW,
    ) -> None:
        self.states_filter = [] if states_filter is NEW else states_filter
        self.types_filter = [] if types_filter is NEW else types_filter

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[ListGroupsRequest]:
        states_filter: list[str]
        types_filter: list[str]
        if version >= 3:
            if version >= 4:
                n, pos = p.read_compact_array_length(buf, pos, 1)
                if n < 0:
                    p.refuse_null_array()
                states_filter = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_states_filter, pos = p.read_compact_string(buf, pos)
                    states_filter.append(item_states_filter)
            else:
                states_filter = []
            if version == 5:
                n, pos = p.read_compact_array_length(buf, pos, 1)
                if n < 0:
                    p.refuse_null_array()
                types_filter = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_types_filter, pos = p.read_compact_string(buf, pos)
                    types_filter.append(item_types_filter)
            else:
                types_filter = []
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(states_filter, types_filter), pos, stop
        states_filter = []
        types_filter = []
        return cls(states_filter, types_filter), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            if version >= 4:
                out += p.uvarint(len(self.states_filter) + 1)
                for item_states_filter in self.states_filter:
                    out += p.compact_string(item_states_filter)
            if version == 5:
                out += p.uvarint(len(self.types_filter) + 1)
                for item_types_filter in self.types_filter:
                    out += p.compact_string(item_types_filter)
            out += b"\0"
            return
        return


class ListedGroup(Message):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")

    def __init__(
        self,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListedGroup, int]:
        if version >= 3:
            group_id, pos = p.read_compact_string(buf, pos)
            protocol_type, pos = p.read_compact_string(buf, pos)
            if version >= 4:
                group_state, pos = p.read_compact_string(buf, pos)
            else:
                group_state = ""
            if version == 5:
                group_type, pos = p.read_compact_string(buf, pos)
            else:
                group_type = ""
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(group_id, protocol_type, group_state, group_type), pos
        group_id, pos = p.read_string(buf, pos)
        protocol_type, pos = p.read_string(buf, pos)
        group_state = ""
        group_type = ""
        return cls(group_id, protocol_type, group_state, group_type), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += p.compact_string(self.group_id)
            out += p.compact_string(self.protocol_type)
            if version >= 4:
                out += p.compact_string(self.group_state)
            if version == 5:
                out += p.compact_string(self.group_type)
            out += b"\0"
            return
        out += p.string(self.group_id)
        out += p.string(self.protocol_type)


class ListGroupsResponse(Message):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    __slots__ = ("throttle_time_ms", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is NEW else groups

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[ListGroupsResponse, int]:
        groups: list[ListedGroup]
        if version >= 3:
            throttle_time_ms, error_code = _ih.unpack_from(buf, pos)
            pos += 6
            n, pos = p.read_compact_array_length(buf, pos, 3)
            if n < 0:
                p.refuse_null_array()
            groups = []
            for _ in range(n):
                item_groups, pos = ListedGroup.read(buf, pos, version)
                groups.append(item_groups)
            if buf[pos]:
                pos = p.skip_tagged_fields(buf, pos)
            else:
                pos += 1
            return cls(throttle_time_ms, error_code, groups), pos
        if version >= 1:
            (throttle_time_ms,) = _i.unpack_from(buf, pos)
            pos += 4
        else:
            throttle_time_ms = 0
        (error_code,) = _h.unpack_from(buf, pos)
        pos += 2
        n, pos = p.read_array_length(buf, pos, 4)
        if n < 0:
            p.refuse_null_array()
        groups = []
        for _ in range(n):
            item_groups, pos = ListedGroup.read(buf, pos, version)
            groups.append(item_groups)
        return cls(throttle_time_ms, error_code, groups), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        if version >= 3:
            out += _ih.pack(self.throttle_time_ms, self.error_code)
            out += p.uvarint(len(self.groups) + 1)
            for item_groups in self.groups:
                item_groups.write(out, version)
            out += b"\0"
            return
        if version >= 1:
            out += _i.pack(self.throttle_time_ms)
        out += _h.pack(self.error_code)
        out += p.array_length(len(self.groups))
        for item_groups in self.groups:
            item_groups.write(out, version)


REQUEST = ListGroupsRequest
RESPONSE = ListGroupsResponse
