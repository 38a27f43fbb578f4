"""Bytes of a connection in, frames out: four bytes of size (int32), then that many bytes.

Owns: the size limit, and where bytes wait until their frame is whole. Never: reads a frame's
content, knows a socket or a clock (an incomplete frame's deadline is the caller's: `in_progress`),
or decides how much memory there is for frames (`Memory` does).

The shape is that of `asyncio.BufferedProtocol`, so a processor's protocol passes its calls on:

    get_buffer(size_hint)  →  reader.get_buffer()
    buffer_updated(n)      →  reader.buffer_updated(n)
                              while (frame := reader.next_frame()) is not None: …

Where the bytes are, and for how long a frame is good:

* Bytes are received into one `scratch` buffer that all connections of a processor share; a frame
  that came whole is a writable view of it, nothing is copied. So it is good until the next
  `get_buffer` of any reader with that scratch. `keep(frame)` gives one that may be held longer.
* A frame that did not come whole continues in a buffer of the connection's own: what has arrived is
  copied there once, the rest is received in its place. It has room for the whole frame from the
  start, so it never grows. `Memory` grants the room first; until it does, the reader is `starved`:
  it holds what has come, and nothing may be received before `feed`. `Allocate` should take
  pages only as bytes arrive, whatever the size header says.
* A buffer of at most `KEPT_BYTES` is kept for the next large frame, also if `keep` gave it away and
  nobody looks at it any more (where nobody counts); `release()` drops it when the connection is
  idle. A larger one (`is_large`) is never used again: it is released as soon as its frame is
  handled, or lent to it where that goes on, so that a view of it may be kept. `close()` drops all
  that there is.
* Before control goes back to the loop, either `next_frame` has answered None, or nothing is unread
  (`has_unread`), or the caller has called `detach()` (and paused reading), which moves the unread
  bytes out of the scratch; `attach()` once they are taken. Kafka answers a connection's requests
  one by one, so this is what happens to pipelined ones.

After a ProtocolError the stream has no frame boundary any more: each further call raises it again.
Follows Kafka's `NetworkReceive`, whose limit is `socket.request.max.bytes`, and whose buffers are
of a `MemoryPool`.
"""

from __future__ import annotations

from struct import Struct

from protocol.errors import ProtocolError
from protocol.frames.frame_memory import UNCOUNTED, Allocate, Buffer, Memory

SCRATCH_BYTES = 128 * 1024
"""A good size for a scratch buffer: a socket's default receive buffer fits."""
SIZE_BYTES = 4
KEPT_BYTES = 4 * 1024 * 1024
"""The largest buffer that a connection keeps for its next frame."""

_SIZE = Struct(">i")
_FIRST_RESERVE_BYTES = 1024
_TLS_HANDSHAKE = 0x1603
_EMPTY = memoryview(b"")


class FrameSizeError(ProtocolError):
    """A size that no frame may have."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size

    @property
    def begins_tls(self) -> bool:
        """Whether these four bytes begin a TLS handshake (RFC 8446, 5.1): the peer takes the
        listener for one with TLS."""
        return self.size >> 16 == _TLS_HANDSHAKE


class FrameReader:
    """The receiving half of one connection: see the module for the calls and their order.

    `limit` may be called between frames (a smaller limit holds before authentication).

    To be read only, and plain for being read at each request: `position` and `end` bound what is
    unread (`has_unread`), `filled` bytes of an incomplete frame have arrived (`in_progress`), and
    nothing may be received while it is `starved`. Of `lent` bytes a `settle` is owed.
    """

    __slots__ = (
        "_allocate",
        "_claimed",
        "_detached",
        "_error",
        "_expected",
        "_first",
        "_given",
        "lent",
        "_memory",
        "_need",
        "_own",
        "_scratch",
        "_source",
        "end",
        "filled",
        "max_bytes",
        "position",
        "starved",
    )

    def __init__(
        self,
        max_bytes: int,
        scratch: bytearray,
        memory: Memory = UNCOUNTED,
        allocate: Allocate = bytearray,
    ) -> None:
        if not scratch:
            raise ValueError("the scratch buffer has no room")
        self.max_bytes = max_bytes
        self._memory = memory
        self._allocate = allocate
        self._claimed = 0  # bytes of the own buffer, as `memory` counts them
        self._detached = 0  # bytes of a detached copy
        self.lent = 0  # bytes of a buffer that whoever handles its frame may have kept
        self._scratch = memoryview(scratch)
        self._first = self._scratch  # where the first bytes of a frame are received
        self._expected = 0  # bytes of the last frame, where that was larger than the scratch
        # Bytes from which next_frame takes: the scratch, the own buffer, or a detached copy.
        self._source = _EMPTY
        self.position = 0
        self.end = 0
        # The incomplete frame, size header included: _own[:filled], of _need bytes in all.
        self._own: Buffer = None
        self._given: bytearray | None = None
        self.filled = 0
        self._need = 0
        self.starved = False
        self._error: tuple[str, int] | None = None  # its text, and the size

    def limit(self, max_bytes: int) -> None:
        """The longest frame that may come from now on."""
        self.max_bytes = max_bytes

    # --- receiving ---------------------------------------------------------------------------

    def get_buffer(self, _size_hint: int = -1) -> memoryview:
        """Where to receive the next bytes. Ends the life of frames handed out and not kept."""
        if self.position != self.end:
            raise AssertionError("reading went on although frames are waiting")
        if not self.filled:
            return self._first_buffer() if self._expected else self._scratch
        assert not self.starved, "reading went on although there is no memory"
        return memoryview(self._own)[self.filled : self._need]

    def buffer_updated(self, nbytes: int) -> None:
        """`nbytes` have been received into what `get_buffer` gave. Raises nothing."""
        if not self.filled:
            self._source = self._first
            self.position = 0
            self.end = nbytes
            return
        self.filled += nbytes
        if self.filled == self._need:
            assert self._own is not None
            self._source = memoryview(self._own)
            self.position = 0
            self.end = self._need
            self.filled = 0
            self._expected = self._need if self._need > len(self._scratch) else 0

    def only_frame(self, nbytes: int) -> memoryview | None:
        """The frame, if `nbytes` that have been received are just a whole one; else None.

        Instead of `buffer_updated` and `next_frame`, where the frame is taken; it changes nothing.
        """
        if self.filled:
            return None
        (size,) = _SIZE.unpack_from(self._first)
        if size != nbytes - SIZE_BYTES or not 0 <= size <= self.max_bytes:
            return None
        return self._first[SIZE_BYTES:nbytes]

    # --- taking frames -----------------------------------------------------------------------

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size, writable; None when more bytes are needed.

        Raises ProtocolError for a size that is negative or above `max_bytes`.
        """
        start = self.position + SIZE_BYTES
        if start <= self.end:
            (size,) = _SIZE.unpack_from(self._source, self.position)
            end = start + size
            if 0 <= size <= self.max_bytes and end <= self.end:
                self.position = end
                return self._source[start:end]
        self._move_rest()
        return None

    def detach(self) -> None:
        """Move what `next_frame` has not given yet out of the shared scratch buffer.

        For a caller that stops taking frames before None. Reading has to be paused until it goes on
        and gets None. Frames given before are not moved: see `keep`.
        """
        if self._source is self._scratch:
            copy = bytearray(self._source[self.position : self.end])
            self._source = memoryview(copy)
            self.end -= self.position
            self.position = 0
            self._detached = len(copy)
            self._memory.hold(len(copy))

    def attach(self) -> None:
        """Reading goes on: drop what `detach` has copied, if all of it is taken."""
        if self.position == self.end:
            self._drop_source()

    @property
    def wanted_bytes(self) -> int:
        """What a starved reader could not claim."""
        return max(self._need, _FIRST_RESERVE_BYTES)

    def feed(self) -> None:
        """`wanted_bytes` have been claimed for a starved reader: it may receive again."""
        assert self.starved
        self._continue_in(memoryview(self._own)[: self.filled])

    def keep(self, frame: memoryview) -> memoryview:
        """The same frame for as long as the caller likes: copied only if its bytes are shared."""
        own = self._own
        is_own, is_shared = frame.obj is own, frame.obj is self._scratch.obj
        if is_own:
            small = len(own) > 2 * len(frame) + _FIRST_RESERVE_BYTES
            if not small and self.position == self.end:
                if self._memory is UNCOUNTED and isinstance(own, bytearray):
                    self._given = own
                self._let_go()
                self._source, self._first = _EMPTY, self._scratch
                self.position = self.end = 0
                return frame
        elif not is_shared:
            return frame
        return memoryview(bytearray(frame))

    def hold(self, frame: memoryview) -> memoryview:
        """Keep a frame for as long as it is handled: its bytes count until `settle`."""
        frame = self.keep(frame)
        self._memory.hold(len(frame))
        self.lent += len(frame)
        return frame

    # --- state for the connection's owner ----------------------------------------------------

    @property
    def in_progress(self) -> bool:
        """Whether bytes of an incomplete frame have arrived: its deadline is running."""
        return self.filled > 0

    @property
    def has_unread(self) -> bool:
        """Whether bytes wait that `next_frame` has not looked at yet (see `detach`)."""
        return self.position != self.end

    @property
    def is_large(self) -> bool:
        """Whether the own buffer is to be released as soon as its frame is handled."""
        return self._claimed > KEPT_BYTES

    @property
    def keeps_too_much(self) -> bool:
        """Whether the own buffer is large, or would be kept while frames wait for memory."""
        return self._claimed > 0 and (self.is_large or self._memory.is_waited_for)

    def release(self) -> None:
        """Drop the buffer kept for the next large frame, unless a frame is in it or unread."""
        if not self.filled and self.position == self.end:
            self._drop()

    def lend(self) -> None:
        """The large buffer is its frame's, whose handling goes on: counted until `settle`."""
        if not self.filled and self.position == self.end:
            self.lent, self._claimed = self.lent + self._claimed, 0
            self._drop()

    def settle(self) -> None:
        """The frame that was lent is done with."""
        if self.lent:
            self._memory.free(self.lent)
            self.lent = 0

    def close(self) -> None:
        """Drop all, whatever is in it: the connection is gone."""
        self.settle()
        self._drop()

    def _drop(self) -> None:
        self._given = None
        self._first = self._scratch
        self.filled = self._expected = 0
        self._drop_source()
        self._let_go()

    # --- the incomplete frame ----------------------------------------------------------------

    def _first_buffer(self) -> memoryview:
        """Where a frame is received that may be as large as the last one."""
        if self._own is None:
            self._take_back()
        if self._own is None:
            self._first = self._scratch
        else:
            self._first = memoryview(self._own)[: self._expected]
        return self._first

    def _move_rest(self) -> None:
        """What is left in the source is less than a frame: take it into the own buffer."""
        if self._error is not None:
            raise FrameSizeError(*self._error)
        start = self.position
        rest = self._source[start : self.end]
        if rest:
            self._need = SIZE_BYTES if len(rest) < SIZE_BYTES else self._whole_size(rest)
            self._begin(rest, start)
        self._drop_source()

    def _begin(self, rest: memoryview, start: int) -> None:
        """A frame begins with `rest`, which lies at `start` of its source."""
        self.filled = len(rest)
        self._first = self._scratch
        if self._own is None:
            self._take_back()
        own = self._own
        is_in_it = rest.obj is own
        if own is not None and len(own) >= self._need:
            if start or not is_in_it:
                memoryview(own)[: len(rest)] = rest
            return
        if not is_in_it:
            self._let_go()
        if self._memory.claim(self.wanted_bytes):
            self._continue_in(rest)
            return
        # Held until there is memory: as much as one receive takes, or the buffer that was kept.
        held = bytearray(rest)
        self._let_go()
        self.starved = True
        self._memory.hold_waiting(len(held))
        self._own, self._claimed = held, len(held)

    def _continue_in(self, rest: memoryview) -> None:
        """Receive the frame that begins with `rest` in a buffer that was claimed."""
        room = self.wanted_bytes
        own = self._allocate(room)
        memoryview(own)[: len(rest)] = rest
        self._let_go()
        self._own, self._claimed = own, room

    def _whole_size(self, start: memoryview) -> int:
        """Bytes of the frame that begins with `start`, header included, if it may have them."""
        (size,) = _SIZE.unpack_from(start)
        if 0 <= size <= self.max_bytes:
            return int(size) + SIZE_BYTES
        text = "negative" if size < 0 else f"over the limit of {self.max_bytes} bytes"
        self._error = f"frame size {size} is {text}", size
        # No size passes any more, and nothing is held for a stream that is at its end.
        self.max_bytes = -1
        self._drop()
        raise FrameSizeError(*self._error)

    def _take_back(self) -> None:
        """What `keep` gave away is ours again, if nobody has a view of it any more."""
        if self._given is None:
            return
        try:
            self._given.append(0)  # what has views cannot change its size
        except BufferError:
            return
        self._given.pop()
        self._own, self._given = self._given, None
        self._claimed = len(self._own)

    # --- what is let go of -------------------------------------------------------------------

    def _drop_source(self) -> None:
        self._source = _EMPTY
        self.position = self.end = 0
        if self._detached:
            self._memory.free(self._detached)
            self._detached = 0

    def _let_go(self) -> None:
        """The own buffer is another's, or nobody's."""
        self._own = None
        if self.starved:
            self._memory.free_waiting(self._claimed)
        elif self._claimed:
            self._memory.free(self._claimed)
        self._claimed, self.starved = 0, False
