"""BrokerHeartbeat (API key 63). Written by protocol/generate.py: do not edit."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar

from protocol import primitives as p
from protocol.message import NEW, Message, SlicedMessage

_ihTTT = Struct(">ih???")
_iqqTT = Struct(">iqq??")


class BrokerHeartbeatRequest(SlicedMessage):
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "current_metadata_offset", "want_fence", "want_shut_down", "offline_log_dirs", "cordoned_log_dirs")

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[bytes] = NEW,
        cordoned_log_dirs: list[bytes] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is NEW else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def read_steps(cls, buf: memoryview, pos: int, version: int, stop: int) -> p.ReadSteps[BrokerHeartbeatRequest]:
        offline_log_dirs: list[bytes]
        cordoned_log_dirs: list[bytes] | None
        broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down = _iqqTT.unpack_from(buf, pos)
        pos += 22
        offline_log_dirs = []
        cordoned_log_dirs = None
        tags, pos = p.read_tag_count(buf, pos)
        for _ in range(tags):
            tag, pos, size = p.read_tag(buf, pos)
            if tag == 0 and version >= 1:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    p.refuse_null_array()
                offline_log_dirs = []
                for _ in range(n):
                    if pos > stop:
                        yield
                        stop = pos + p.SLICE_BYTES
                    item_offline_log_dirs = bytes(buf[pos : pos + 16])
                    pos += 16
                    offline_log_dirs.append(item_offline_log_dirs)
            elif tag == 1 and version == 2:
                n, pos = p.read_compact_array_length(buf, pos, 16)
                if n < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = []
                    for _ in range(n):
                        if pos > stop:
                            yield
                            stop = pos + p.SLICE_BYTES
                        item_cordoned_log_dirs = bytes(buf[pos : pos + 16])
                        pos += 16
                        cordoned_log_dirs.append(item_cordoned_log_dirs)
            else:
                pos = p.skip_tag(buf, pos, size)
        return cls(broker_id, broker_epoch, current_metadata_offset, want_fence, want_shut_down, offline_log_dirs, cordoned_log_dirs), pos, stop

    def write(self, out: p.MessageBuffer, version: int) -> None:
        tagged: list[tuple[int, p.MessageBuffer]]
        out += _iqqTT.pack(self.broker_id, self.broker_epoch, self.current_metadata_offset, self.want_fence, self.want_shut_down)
        tagged = []
        if version >= 1 and self.offline_log_dirs:
            value = p.MessageBuffer()
            value += p.uvarint(len(self.offline_log_dirs) + 1)
            for item_offline_log_dirs in self.offline_log_dirs:
                value += item_offline_log_dirs
            tagged.append((0, value))
        if version == 2 and self.cordoned_log_dirs is not None:
            value = p.MessageBuffer()
            if self.cordoned_log_dirs is None:
                value += b"\0"
            else:
                value += p.uvarint(len(self.cordoned_log_dirs) + 1)
                for item_cordoned_log_dirs in self.cordoned_log_dirs:
                    value += item_cordoned_log_dirs
            tagged.append((1, value))
        if tagged:
            p.write_tagged_fields(out, tagged)
        else:
            out += b"\0"


class BrokerHeartbeatResponse(Message):
    API_KEY: ClassVar[int] = 63
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("throttle_time_ms", "error_code", "is_caught_up", "is_fenced", "should_shut_down")

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down

    @classmethod
    def read(cls, buf: memoryview, pos: int, version: int) -> tuple[BrokerHeartbeatResponse, int]:
        throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down = _ihTTT.unpack_from(buf, pos)
        pos += 9
        if buf[pos]:
            pos = p.skip_tagged_fields(buf, pos)
        else:
            pos += 1
        return cls(throttle_time_ms, error_code, is_caught_up, is_fenced, should_shut_down), pos

    def write(self, out: p.MessageBuffer, version: int) -> None:
        out += _ihTTT.pack(self.throttle_time_ms, self.error_code, self.is_caught_up, self.is_fenced, self.should_shut_down)
        out += b"\0"


REQUEST = BrokerHeartbeatRequest
RESPONSE = BrokerHeartbeatResponse
