"""Sending a connection's responses: bytes, and slices of log files without copying them.

Owns: what a connection still has to send, in order, and the descriptor it waits on. Never: what a
response means, or when a connection reads (`broker.network.connection`).

Plain connections are written past the transport, straight to the socket, so that bytes and files
keep one order. A small slice is read and leaves in one call with the bytes around it; a large one
goes by `sendfile`, its header held back by MSG_MORE so that both share a packet. When the socket is
full, the loop watches a duplicate of its descriptor: it lets nobody watch a transport's own.

Reading a file blocks when its pages are not in the page cache, and the loop serves everybody. So
what comes next is probed with RWF_NOWAIT first, and cold data is brought in by a job of the I/O
pool. File systems that cannot tell (RWF_NOWAIT unsupported) count as cold.

Connections without a socket of their own (TLS) take the copying path through the transport.
Follows Kafka's `FileRecords.writeTo` and `NetworkSend`; for slices see `FileSlice`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from storage.ports import Blocking

SMALL_SLICE_BYTES = 32 * 1024
"""Up to here, reading and sending beats sendfile, or is level with it."""
CHUNK_BYTES = 256 * 1024
"""What is read ahead at once, or read and sent on the copying path."""
PROBE_BYTES = 1024 * 1024
"""What one look at its first and last page speaks for, and what one sendfile may take."""
TURN_BYTES = 1024 * 1024
"""What one connection may send before others have their turn."""
GATHER_BYTES = 256 * 1024
_GATHER_PARTS = 256

_CANNOT_TELL = (errno.EAGAIN, errno.EOPNOTSUPP)
_PROBE = [bytearray(1)]
_SINK = bytearray(CHUNK_BYTES)
"""Where read-ahead puts bytes that only had to come into the page cache. Nobody reads it, so
threads may share it."""

Bytes = bytes | bytearray | memoryview


class FileSlice(Protocol):
    """An immutable run of a file's bytes (`storage.file_records.FileRecords`).

    `fileno()` is asked for at each use on the loop's thread, and raises ValueError or OSError once
    the file is closed; files are closed on that thread too, so a number is never a reused one.
    """

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def position(self) -> int:
        """Where it starts in the file."""

    def fileno(self) -> int:
        """The file's descriptor."""


class SliceEnded(OSError):
    """The file ends before its slice does: the response cannot be completed any more."""


class _Cursor:
    """How far a slice has been sent."""

    __slots__ = ("position", "remaining", "slice", "warm_until")

    def __init__(self, file_slice: FileSlice, position: int, remaining: int) -> None:
        self.slice = file_slice
        self.position = position
        self.remaining = remaining
        # Up to here a probe or a job has found it in the page cache, a moment ago.
        self.warm_until = 0


_Part = memoryview | _Cursor


class ResponseSender:
    """The sending half of one connection; all calls and callbacks on the loop's thread.

    `on_drained` is called when `flush`, having answered False, has brought everything out later;
    `on_failed` when the connection or the file fails outside of a caller's `flush`.
    """

    __slots__ = (
        "_blocking",
        "_closed",
        "_loop",
        "_on_drained",
        "_on_failed",
        "_paused",
        "_queue",
        "_reading_ahead",
        "_socket",
        "_transport",
        "_waiting",
        "_watch_fd",
        "pending_bytes",
        "read_ahead_count",
        "sent_bytes",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket | None,
        transport: asyncio.WriteTransport,
        blocking: Blocking,
        on_drained: Callable[[], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._transport = transport
        self._blocking = blocking
        self._on_drained = on_drained
        self._on_failed = on_failed
        self._queue: deque[_Part] = deque()
        self._watch_fd = -1
        self._waiting = False
        self._reading_ahead = False
        self._paused = False
        self._closed = False
        self.pending_bytes = 0
        """Bytes that have not gone to the kernel (or the transport) yet."""
        self.sent_bytes = 0
        self.read_ahead_count = 0

    # --- for the connection --------------------------------------------------------------------

    def send(self, data: Bytes) -> bool:
        """Push `data` and flush: the quick path of a response that is one piece."""
        if self._queue or self._socket is None or self._closed:
            self.push(data)
            return self.flush()
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        self.sent_bytes += sent
        if sent == len(data):
            return True
        self.push(memoryview(data)[sent:])
        self._watch()
        return False

    def push(self, part: Bytes | FileSlice) -> None:
        """Put a part at the end, without sending it yet. It must not be changed any more."""
        if self._closed:
            return
        if isinstance(part, (bytes, bytearray, memoryview)):
            if len(part):
                self._queue.append(memoryview(part))
                self.pending_bytes += len(part)
        elif part.size:
            # The copying path reads whole cursors, so there they are no larger than a chunk.
            step = part.size if self._socket is not None else CHUNK_BYTES
            for start in range(0, part.size, step):
                size = min(step, part.size - start)
                self._queue.append(_Cursor(part, part.position + start, size))
            self.pending_bytes += part.size

    def flush(self) -> bool:
        """Send what the peer takes now; True if nothing is left.

        Raises OSError when the connection is gone, or a file does not have its slice any more.
        """
        if self._paused or self._reading_ahead:
            return self._closed
        turn_end = self.sent_bytes + TURN_BYTES
        while self._queue:
            if self.sent_bytes >= turn_end:
                self._next_turn()
                return False
            if not self._send_some():
                return False
        self._unwatch()
        return True

    def close(self) -> None:
        """Drop what is left and the descriptor. The connection is lost or being closed."""
        self._closed = True
        self._queue.clear()
        self.pending_bytes = 0
        self._unwatch()
        if self._watch_fd >= 0:
            os.close(self._watch_fd)
            self._watch_fd = -1

    def transport_paused(self) -> None:
        """The transport's buffer is above its high-water mark (copying path)."""
        self._paused = True

    def transport_resumed(self) -> None:
        """The transport's buffer is low again (copying path)."""
        self._paused = False
        self._go_on()

    # --- sending -------------------------------------------------------------------------------

    def _send_some(self) -> bool:
        """One call's worth. False: come back when socket, file or transport is ready."""
        buffers, cursor = self._gather()
        if buffers:
            # Only what is sure to follow at once may hold a packet back.
            return self._send_bytes(buffers, more=cursor is not None and self._is_warm(cursor))
        assert cursor is not None
        if not self._is_warm(cursor):
            self._read_ahead(cursor)
            return False
        return self._send_file(cursor)

    def _gather(self) -> tuple[list[memoryview], _Cursor | None]:
        """Bytes that can leave in one call, and the slice that comes next if one stopped us.

        Small slices at hand are read and take part; their cursors are replaced by their bytes.
        """
        buffers: list[memoryview] = []
        gathered = 0
        for index, part in enumerate(self._queue):
            if isinstance(part, _Cursor):
                data = self._read_small(part)
                if data is None:
                    return buffers, part
                self._queue[index] = part = data
            buffers.append(part)
            gathered += len(part)
            if gathered >= GATHER_BYTES or len(buffers) >= _GATHER_PARTS:
                break
        return buffers, None

    def _read_small(self, cursor: _Cursor) -> memoryview | None:
        """A whole small slice if it is in the page cache; None if not, or if it is not small."""
        size = cursor.remaining
        if size > SMALL_SLICE_BYTES and self._socket is not None:
            return None
        buffer = bytearray(size)
        flags = 0 if cursor.warm_until >= cursor.position + size else os.RWF_NOWAIT
        try:
            count = os.preadv(cursor.slice.fileno(), [buffer], cursor.position, flags)
        except OSError as error:
            if error.errno in _CANNOT_TELL:
                return None
            raise
        if count < size:
            if flags and count:
                return None  # the rest is cold
            raise SliceEnded(errno.EIO, f"file ends at {cursor.position + count}")
        return memoryview(buffer)

    def _send_bytes(self, buffers: list[memoryview], more: bool) -> bool:
        size = sum(map(len, buffers))
        sock = self._socket
        if sock is None:
            self._drop(size)
            self._transport.write(b"".join(buffers))
            return not self._paused
        flags = socket.MSG_MORE if more else 0
        try:
            if len(buffers) == 1:
                sent = sock.send(buffers[0], flags)
            else:
                sent = sock.sendmsg(buffers, [], flags)
        except (BlockingIOError, InterruptedError):
            sent = 0
        self._drop(sent)
        if sent < size:
            self._watch()
            return False
        return True

    def _send_file(self, cursor: _Cursor) -> bool:
        assert self._socket is not None
        count = min(cursor.remaining, PROBE_BYTES)
        out, file = self._socket.fileno(), cursor.slice.fileno()
        try:
            sent = os.sendfile(out, file, cursor.position, count)
        except (BlockingIOError, InterruptedError):
            self._watch()
            return False
        if sent == 0:
            raise SliceEnded(errno.EIO, f"file ends at {cursor.position}")
        cursor.position += sent
        cursor.remaining -= sent
        self.sent_bytes += sent
        self.pending_bytes -= sent
        if not cursor.remaining:
            self._queue.popleft()
        if sent < count:
            self._watch()
            return False
        return True

    def _drop(self, sent: int) -> None:
        """Take `sent` bytes, which have left, from the head of the queue."""
        self.sent_bytes += sent
        self.pending_bytes -= sent
        while sent:
            head = self._queue[0]
            assert isinstance(head, memoryview)
            if sent < len(head):
                self._queue[0] = head[sent:]
                return
            sent -= len(head)
            self._queue.popleft()

    # --- the page cache ------------------------------------------------------------------------

    def _is_warm(self, cursor: _Cursor) -> bool:
        """Whether what comes next is in the page cache, going by its first and last pages."""
        end = cursor.position + min(cursor.remaining, PROBE_BYTES)
        if cursor.warm_until > cursor.position:
            return True
        fd = cursor.slice.fileno()
        try:
            for offset in (cursor.position, end - 1):
                if os.preadv(fd, _PROBE, offset, os.RWF_NOWAIT) == 0:
                    raise SliceEnded(errno.EIO, f"file ends before {offset}")
        except OSError as error:
            if error.errno in _CANNOT_TELL:
                return False
            raise
        cursor.warm_until = end
        return True

    def _read_ahead(self, cursor: _Cursor) -> None:
        """Bring the next chunk into the page cache on an I/O thread, then go on."""
        self._reading_ahead = True
        self.read_ahead_count += 1
        self._unwatch()
        end = cursor.position + min(cursor.remaining, CHUNK_BYTES)
        job = partial(_touch, cursor.slice.fileno(), cursor.position, end)

        def done(_result: object, error: Exception | None) -> None:
            self._reading_ahead = False
            if self._closed:
                return
            if error is not None:
                self._on_failed(error)
                return
            cursor.warm_until = end
            self._go_on()

        self._blocking.submit(job, done)

    # --- waiting -------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """A flush of our own accord, after waiting."""
        try:
            drained = self.flush()
        except (OSError, ValueError) as error:
            self._on_failed(error)
            return
        if drained and not self._closed:
            self._on_drained()

    def _writable(self) -> None:
        """The socket has room. Time has passed: what was in the page cache may have left it."""
        head = self._queue[0]
        if isinstance(head, _Cursor):
            head.warm_until = 0
        self._go_on()

    def _next_turn(self) -> None:
        """The peer takes all that we give: let others have the loop, then go on."""
        if self._socket is not None:
            self._watch()
        else:
            self._loop.call_soon(self._go_on)

    def _watch(self) -> None:
        if self._waiting:
            return
        assert self._socket is not None
        if self._watch_fd < 0:
            self._watch_fd = os.dup(self._socket.fileno())
        self._loop.add_writer(self._watch_fd, self._writable)
        self._waiting = True

    def _unwatch(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._watch_fd)


def _touch(fd: int, start: int, end: int) -> None:
    """A blocking job: read `start` to `end` for the sake of the page cache alone."""
    view = memoryview(_SINK)
    while start < end:
        count = os.preadv(fd, [view[: end - start]], start)
        if count == 0:
            # The file ends here; whoever sends the slice notices and says so.
            return
        start += count
