"""The reader of frames: a connection's bytes in, frames out. A frame is a size (int32), then that
many bytes.

Owns the size limit, and the buffers in which bytes wait until their frame is complete. Never reads
a frame's content, knows a socket or a clock (the caller has the deadline of an incomplete frame:
`in_progress`), or decides how much memory frames may use (`FrameMemory` does).

The methods are those of `asyncio.BufferedProtocol`, so a processor's protocol passes its calls on:

    get_buffer(size_hint)  →  reader.get_buffer()
    buffer_updated(n)      →  reader.buffer_updated(n)
                              while (frame := reader.next_frame()) is not None: …

The buffers, and how long a frame is valid:

* Bytes are received into one `scratch` buffer that all connections of a processor share. A frame
  that arrived complete is a writable view of it, without a copy. So it is valid until the next
  `get_buffer` of any reader with that scratch. `keep(frame)` returns one that stays valid.
* An incomplete frame continues in the connection's own buffer: the bytes that have arrived are
  copied there once, and the rest is received after them. The buffer has room for the whole frame
  from the start, so it never grows. `FrameMemory` grants the room first. Until then the reader is
  `starved`: it holds the bytes that have arrived, and nothing may be received before `feed`.
  `Allocate` should take memory pages only as bytes arrive, because a size may be false.
* A buffer of at most `KEPT_BYTES` is kept for the next large frame; `release()` drops it when the
  connection is idle. Readers with uncounted memory also reuse a buffer that `keep` gave away, after
  its last view is gone. A larger buffer (`is_large`) is never reused: it is released as soon as its
  frame is handled, or lent to the frame if its handling continues, so that a view of it may be
  kept. `close()` drops all buffers.
* Before control returns to the loop, `next_frame` has returned None, or no bytes are unread
  (`has_unread`), or the caller has paused reading and called `detach()`. That moves the unread
  bytes out of the scratch; the caller calls `attach()` after they are taken. Kafka answers a
  connection's requests one by one, so this happens to pipelined requests.

After a ProtocolError the next frame's start is unknown, so each further call raises it again.
Follows Kafka's `NetworkReceive`, whose limit is `socket.request.max.bytes`, and whose buffers come
from a `MemoryPool`.
"""

from __future__ import annotations

from struct import Struct

from protocol.errors import ProtocolError
from protocol.frames.frame_memory import UNCOUNTED, Allocate, Buffer, FrameMemory

SCRATCH_BYTES = 128 * 1024
"""The usual size of a scratch buffer: a socket's default receive buffer fits into it."""
SIZE_BYTES = 4
KEPT_BYTES = 4 * 1024 * 1024
"""The largest buffer that a connection keeps for its next frame."""

_SIZE = Struct(">i")
_FIRST_RESERVE_BYTES = 1024
_TLS_HANDSHAKE = 0x1603
_EMPTY = memoryview(b"")


class FrameSizeError(ProtocolError):
    """A frame size that is negative or over the limit."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size

    @property
    def begins_tls(self) -> bool:
        """Whether the four bytes of the size begin a TLS handshake (RFC 8446, 5.1): the peer
        expects TLS on a listener without it."""
        return self.size >> 16 == _TLS_HANDSHAKE


class FrameReader:
    """The receiving half of one connection. The module's docstring has the calls and their order.

    `limit` may be called between frames (a smaller limit applies before authentication).

    Callers only read these attributes, which are no properties because each request reads them.
    `position` and `end` bound the unread bytes (`has_unread`). `filled` is the number of bytes of
    an incomplete frame (`in_progress`). While `starved`, nothing may be received. `lent` is the
    number of bytes until the next `settle`.
    """

    __slots__ = (
        "_allocate",
        "_claimed",
        "_detached",
        "_error",
        "_expected",
        "_first",
        "_given_away",
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
        memory: FrameMemory = UNCOUNTED,
        allocate: Allocate = bytearray,
    ) -> None:
        """Receive into `scratch`, which other readers share, and into own buffers of `allocate`.

        `max_bytes` limits a frame's size, `memory` the own buffers of all readers together. Raises
        ValueError if `scratch` is empty.
        """
        if not scratch:
            raise ValueError("the scratch buffer has no room")
        self.max_bytes = max_bytes
        self._memory = memory
        self._allocate = allocate
        self._claimed = 0  # bytes of the own buffer, as `memory` counts them
        self._detached = 0  # bytes of a detached copy
        self.lent = 0  # bytes that the handling of frames may still use
        self._scratch = memoryview(scratch)
        self._first = self._scratch  # the buffer for the first bytes of a frame
        self._expected = 0  # bytes of the last frame if it was larger than the scratch, else 0
        # Bytes from which next_frame takes: the scratch, the own buffer, or a detached copy.
        self._source = _EMPTY
        self.position = 0
        self.end = 0
        # The incomplete frame, size prefix included: _own[:filled], of _need bytes in all.
        self._own: Buffer = None
        self._given_away: bytearray | None = None
        self.filled = 0
        self._need = 0
        self.starved = False
        self._error: tuple[str, int] | None = None  # the text and the size of a FrameSizeError

    def limit(self, max_bytes: int) -> None:
        """Set the size in bytes of the longest frame that is accepted from now on."""
        self.max_bytes = max_bytes

    # --- receiving ---------------------------------------------------------------------------

    def get_buffer(self, _size_hint: int = -1) -> memoryview:
        """Return the buffer for the next bytes. Frames that were returned before and not kept are
        invalid from now on.

        Raises AssertionError if bytes are unread or the reader is starved.
        """
        if self.position != self.end:
            raise AssertionError("reading went on although frames are waiting")
        if not self.filled:
            return self._first_buffer() if self._expected else self._scratch
        assert not self.starved, "reading went on although there is no memory"
        return memoryview(self._own)[self.filled : self._need]

    def buffer_updated(self, nbytes: int) -> None:
        """Make `nbytes`, which were received into the buffer of `get_buffer`, available to
        `next_frame`. Raises nothing."""
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
        """Return the frame if the `nbytes` that were received are exactly one whole frame; else
        None.

        A caller that takes the frame leaves out `buffer_updated` and `next_frame`. This method
        changes nothing.
        """
        if self.filled:
            return None
        (size,) = _SIZE.unpack_from(self._first)
        if size != nbytes - SIZE_BYTES or not 0 <= size <= self.max_bytes:
            return None
        return self._first[SIZE_BYTES:nbytes]

    # --- taking frames -----------------------------------------------------------------------

    def next_frame(self) -> memoryview | None:
        """Return the next whole frame, writable and without its size; None: more bytes are needed.

        With None, the bytes of an incomplete frame have moved to the connection's own buffer, or
        the reader is `starved` if `memory` has no room for it. Raises FrameSizeError if the size is
        negative or over `max_bytes`, and again at every later call.
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
        """Copy the unread bytes out of the shared scratch buffer, and count the copy in `memory`.

        For a caller that stops taking frames before `next_frame` returned None. Reading has to be
        paused until it continues and gets None. Frames returned before are not moved: see `keep`.
        """
        if self._source is self._scratch:
            copy = bytearray(self._source[self.position : self.end])
            self._source = memoryview(copy)
            self.end -= self.position
            self.position = 0
            self._detached = len(copy)
            self._memory.hold(len(copy))

    def attach(self) -> None:
        """Drop the copy of `detach` before reading continues, and stop counting it. Nothing happens
        while bytes of it are unread."""
        if self.position == self.end:
            self._drop_source()

    @property
    def wanted_bytes(self) -> int:
        """The number of bytes that a starved reader needs."""
        return max(self._need, _FIRST_RESERVE_BYTES)

    def feed(self) -> None:
        """Let a starved reader receive again: allocate its buffer of `wanted_bytes`, which the
        caller has claimed. Raises AssertionError if the reader is not starved."""
        assert self.starved
        self._continue_in(memoryview(self._own)[: self.filled])

    def keep(self, frame: memoryview) -> memoryview:
        """Return the frame in memory that stays valid. It is copied only if its buffer is shared,
        much larger than the frame, or has unread bytes."""
        own = self._own
        is_own, is_shared = frame.obj is own, frame.obj is self._scratch.obj
        if is_own:
            small = len(own) > 2 * len(frame) + _FIRST_RESERVE_BYTES
            if not small and self.position == self.end:
                if self._memory is UNCOUNTED and isinstance(own, bytearray):
                    self._given_away = own
                self._drop_own()
                self._source, self._first = _EMPTY, self._scratch
                self.position = self.end = 0
                return frame
        elif not is_shared:
            return frame
        return memoryview(bytearray(frame))

    def keep_counted(self, frame: memoryview) -> memoryview:
        """Return the frame in memory that stays valid, as `keep` does, and count its bytes in
        `memory` until `settle`."""
        frame = self.keep(frame)
        self._memory.hold(len(frame))
        self.lent += len(frame)
        return frame

    # --- state for the connection's owner ----------------------------------------------------

    @property
    def in_progress(self) -> bool:
        """Whether bytes of an incomplete frame have arrived, so that its deadline counts."""
        return self.filled > 0

    @property
    def has_unread(self) -> bool:
        """Whether received bytes wait that `next_frame` has not read (see `detach`)."""
        return self.position != self.end

    @property
    def is_large(self) -> bool:
        """Whether the own buffer is too large to be kept after its frame is handled."""
        return self._claimed > KEPT_BYTES

    @property
    def keeps_too_much(self) -> bool:
        """Whether the own buffer is large, or would be kept while frames wait for memory."""
        return self._claimed > 0 and (self.is_large or self._memory.is_waited_for)

    def release(self) -> None:
        """Drop the buffer that is kept for the next large frame, unless a part of a frame is in it
        or bytes are unread."""
        if not self.filled and self.position == self.end:
            self._drop()

    def lend(self) -> None:
        """Leave the large buffer to its frame, whose handling continues, and count it until
        `settle`. Nothing happens if the buffer has unread bytes or an incomplete frame."""
        if not self.filled and self.position == self.end:
            self.lent, self._claimed = self.lent + self._claimed, 0
            self._drop()

    def settle(self) -> None:
        """Stop counting the lent bytes: their frames are handled."""
        if self.lent:
            self._memory.free(self.lent)
            self.lent = 0

    def close(self) -> None:
        """Drop all buffers, whatever is in them, because the connection is closed."""
        self.settle()
        self._drop()

    def _drop(self) -> None:
        """Drop the received bytes and all buffers, and stop counting them, except lent bytes."""
        self._given_away = None
        self._first = self._scratch
        self.filled = self._expected = 0
        self._drop_source()
        self._drop_own()

    # --- the incomplete frame ----------------------------------------------------------------

    def _first_buffer(self) -> memoryview:
        """Set and return the buffer for the first bytes of a frame that may be as large as the last
        frame: the own buffer if there is one, else the scratch."""
        if self._own is None:
            self._take_back()
        if self._own is None:
            self._first = self._scratch
        else:
            self._first = memoryview(self._own)[: self._expected]
        return self._first

    def _move_rest(self) -> None:
        """Move the rest of the source, which is less than a frame, into the own buffer, or starve
        if `memory` has no room for that.

        Raises FrameSizeError if the next frame's size is wrong, or an earlier size was.
        """
        if self._error is not None:
            raise FrameSizeError(*self._error)
        start = self.position
        rest = self._source[start : self.end]
        if rest:
            self._need = SIZE_BYTES if len(rest) < SIZE_BYTES else self._whole_size(rest)
            self._begin(rest, start)
        self._drop_source()

    def _begin(self, rest: memoryview, start: int) -> None:
        """Begin an incomplete frame in the own buffer, with `rest`, which starts at `start` of its
        source. If `memory` has no room for a larger buffer, keep a copy of `rest` and starve."""
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
            self._drop_own()
        if self._memory.claim(self.wanted_bytes):
            self._continue_in(rest)
            return
        # These bytes wait for memory: as many as one receive brings, or as the kept buffer had.
        held = bytearray(rest)
        self._drop_own()
        self.starved = True
        self._memory.hold_waiting(len(held))
        self._own, self._claimed = held, len(held)

    def _continue_in(self, rest: memoryview) -> None:
        """Replace the own buffer by a new one, whose bytes are claimed already, and copy `rest`,
        the frame's beginning, into it."""
        room = self.wanted_bytes
        own = self._allocate(room)
        memoryview(own)[: len(rest)] = rest
        self._drop_own()
        self._own, self._claimed = own, room

    def _whole_size(self, start: memoryview) -> int:
        """Return the size of the frame that begins with `start`, size prefix included.

        Raises FrameSizeError if the size is negative or over the limit. Before that, drop all
        buffers, and make every later call fail in the same way.
        """
        (size,) = _SIZE.unpack_from(start)
        if 0 <= size <= self.max_bytes:
            return int(size) + SIZE_BYTES
        text = "negative" if size < 0 else f"over the limit of {self.max_bytes} bytes"
        self._error = f"frame size {size} is {text}", size
        # From now on every size is over the limit, and the ended stream holds no buffer.
        self.max_bytes = -1
        self._drop()
        raise FrameSizeError(*self._error)

    def _take_back(self) -> None:
        """Reuse the buffer that `keep` gave away, if no view of it is left."""
        if self._given_away is None:
            return
        try:
            self._given_away.append(0)  # a bytearray with views cannot be resized
        except BufferError:
            return
        self._given_away.pop()
        self._own, self._given_away = self._given_away, None
        self._claimed = len(self._own)

    # --- dropping buffers --------------------------------------------------------------------

    def _drop_source(self) -> None:
        """Drop the unread bytes. If they are a detached copy, stop counting it."""
        self._source = _EMPTY
        self.position = self.end = 0
        if self._detached:
            self._memory.free(self._detached)
            self._detached = 0

    def _drop_own(self) -> None:
        """Drop the own buffer and stop counting it."""
        self._own = None
        if self.starved:
            self._memory.free_waiting(self._claimed)
        elif self._claimed:
            self._memory.free(self._claimed)
        self._claimed, self.starved = 0, False
