"""Sending a connection's responses: bytes, and slices of log files without copying them.

Owns: a connection's unsent bytes, in order, and the descriptor that the loop watches. Never: what a
response means, or when a connection reads (`broker.network.server.connection`).

Plain connections are written past the transport, straight to the socket, so that bytes and files
keep one order. A small slice is read and leaves in one call with the bytes around it. A large one
goes by `sendfile`, with its header held back so that both share a packet. When the socket is full,
the loop watches a duplicate of its descriptor: asyncio forbids add_writer on a transport's own
descriptor.

Reading a file blocks when its pages are not in the page cache: a job of the I/O pool reads cold
data into it first (`broker.network.file_slice`).

TLS connections, which have no plain socket, take the copying path through the transport, in pieces
small enough for malloc to serve from memory that it already has.
Follows Kafka's `FileRecords.writeTo` and `NetworkSend`; for slices see `FileSlice`.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from broker.network import socket_calls
from broker.network.file_slice import (
    CHUNK_BYTES,
    PROBE_BYTES,
    SMALL_SLICE_BYTES,
    Cursor,
    FileSlice,
    SliceEnded,
    is_cached,
    touch,
)
from ground.ports import Blocking

TURN_BYTES = 1024 * 1024
"""The bytes that a connection may send before other connections have their turn."""
POLL_S = 0.01
"""The pause between two tries at a full socket, if no descriptor is left to watch it with."""
GATHER_BYTES = 256 * 1024
_GATHER_PARTS = 256
COPIED_BYTES = 7 * 16 * 1024
"""The bytes that the copying path gives the transport at once: whole TLS records. The size stays
below the 128 KiB from which malloc asks the kernel for fresh pages each time: 256 KiB at once took
twice the CPU."""
_JOINED_BYTES = 16 * 1024
"""The size up to which parts are joined into one TLS record, which costs more than the copy."""

_COPIED_REST_BYTES = 64 * 1024
"""The smallest unsent rest that is copied, so that the sent part of its buffer can be freed."""

Bytes = bytes | bytearray | memoryview
_BYTES = (bytes, bytearray, memoryview)
_Part = memoryview | Cursor


class _GoneTransport(asyncio.Transport):
    """The transport of a lost connection: closed, with nothing to write."""

    def close(self) -> None:
        """Do nothing: the connection is lost."""

    def abort(self) -> None:
        """Do nothing: the connection is lost."""

    def pause_reading(self) -> None:
        """Do nothing: the connection is lost."""

    def resume_reading(self) -> None:
        """Do nothing: the connection is lost."""

    def get_write_buffer_size(self) -> int:
        """Return 0: nothing is left to write."""
        return 0


GONE = _GoneTransport()
"""The replacement of a lost transport. A TLS transport and its protocol refer to each other, with
400 KB of buffers, and only a full garbage collection would free them."""


class ResponseSender:
    """The sending half of one connection; all calls and callbacks on the loop's thread.

    `on_drained` is called when everything is sent after a `flush` that returned False; `on_failed`
    when the connection or the file fails outside of a caller's `flush`.
    """

    __slots__ = (
        "_blocking",
        "_closed",
        "_loop",
        "_on_drained",
        "_on_failed",
        "_paused",
        "_poll",
        "_queue",
        "_reading_ahead",
        "_socket",
        "_transport",
        "_waiting",
        "_watch_fd",
        "held_bytes",
        "pending_bytes",
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
        """Send to `sock`, or, if it is None, through `transport`, as TLS needs.

        `on_drained` is called when everything is sent after a `flush` that returned False.
        `on_failed` is called if the connection or a file fails outside of a caller's `flush`.
        `blocking` reads cold slices into the page cache.
        """
        self._loop = loop
        self._socket = sock
        self._transport = transport
        self._blocking = blocking
        self._on_drained = on_drained
        self._on_failed = on_failed
        self._queue: deque[_Part] = deque()
        self._watch_fd = -1
        self._poll: asyncio.TimerHandle | None = None
        self._waiting = False
        self._reading_ahead = False
        self._paused = False
        self._closed = False
        self.pending_bytes = 0
        """The bytes that the kernel (or the transport) has not taken yet."""
        self.held_bytes = 0
        """The pending bytes that are in memory, without those of slices."""
        self.sent_bytes = 0

    # --- for the connection --------------------------------------------------------------------

    def send(self, data: Bytes) -> bool:
        """Send `data` after all parts before it; what the peer does not take yet waits. Return True
        if nothing is left, as `flush` does.

        It is the quick path of a response in one piece. Raises OSError if the connection is closed.
        """
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
        self.push(_rest(memoryview(data), sent))
        self._await_writable()
        return False

    def push(self, part: Bytes | FileSlice) -> None:
        """Append a part without sending it yet. It must not be changed afterwards."""
        if self._closed:
            return
        if isinstance(part, _BYTES):
            if len(part):
                self._queue.append(memoryview(part))
                self.pending_bytes += len(part)
                self.held_bytes += len(part)
        elif part.size:
            # The copying path reads whole cursors, so there they are small.
            step = part.size if self._socket is not None else COPIED_BYTES
            for start in range(0, part.size, step):
                size = min(step, part.size - start)
                self._queue.append(Cursor(part, part.position + start, size))
            self.pending_bytes += part.size

    def send_parts(self, parts: Sequence[Bytes | FileSlice]) -> bool:
        """Send `parts` after all parts before them; what the peer does not take yet waits. Return
        True if nothing is left, and raise as `flush` does.

        There is a quick path for the usual answers to Fetch: bytes, one slice, and at most one
        piece of bytes after it.
        """
        if not self._queue and 2 <= len(parts) <= 3 and self._socket is not None:
            head, records = parts[0], parts[1]
            if isinstance(head, _BYTES) and not isinstance(records, _BYTES) and not self._closed:
                size, position = records.size, records.position
                if size <= SMALL_SLICE_BYTES:
                    data = Cursor(records, position, size).read_whole()
                    if data is not None:
                        return self.send(b"".join((head, data, *parts[2:])))  # type: ignore[arg-type]
                elif size <= PROBE_BYTES:
                    fd = records.fileno()
                    if is_cached(fd, position, size):
                        sent = self._send_head_and_file(self._socket, head, fd, position, size)
                        return self._send_rest(parts, sent - len(head), size)
        for part in parts:
            self.push(part)
        return self.flush()

    def flush(self) -> bool:
        """Send what the peer takes now. Return True if nothing is left; otherwise sending continues
        by itself, and `on_drained` is called at its end.

        Raises OSError if the connection is closed, or if a file ends before its slice; ValueError
        if a file is closed.
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
        self._stop_waiting()
        return True

    def close(self) -> None:
        """Drop all unsent parts, the callbacks and the transport, and close the descriptor that the
        loop watches. The connection is lost or closing."""
        self._closed = True
        # Without callbacks and transport, no reference cycle keeps the connection in memory.
        self._on_drained = self._on_failed = _ignore
        self._transport = GONE
        self._queue.clear()
        self.pending_bytes = self.held_bytes = 0
        self._stop_waiting()
        if self._watch_fd >= 0:
            os.close(self._watch_fd)
            self._watch_fd = -1

    def transport_paused(self) -> None:
        """Stop sending: the transport's buffer is above its high-water mark (copying path)."""
        self._paused = True

    def transport_resumed(self) -> None:
        """Resume sending: the transport's buffer is low again (copying path)."""
        self._paused = False
        self._continue_sending()

    # --- sending -------------------------------------------------------------------------------

    def _send_some(self) -> bool:
        """Make one send call, or begin to read a cold slice into the page cache. Return False if
        the socket, file or transport is not ready."""
        buffers, cursor = self._gather()
        # The copying path has tried to read the slice: some page is cold even if a probe says warm.
        warm = self._socket is not None and cursor is not None and cursor.is_warm()
        if buffers:
            # Hold back a packet (MSG_MORE) only for data that is sure to follow at once.
            return self._send_bytes(buffers, more=warm)
        assert cursor is not None
        if not warm:
            self._read_ahead(cursor)
            return False
        return self._send_file(cursor)

    def _gather(self) -> tuple[list[memoryview], Cursor | None]:
        """Return the buffers to send in one call, and the slice after them if there is one.

        Small slices in the page cache are read: their bytes replace their cursors in the queue.
        """
        buffers: list[memoryview] = []
        gathered, size_max = 0, GATHER_BYTES if self._socket is not None else COPIED_BYTES
        for index, part in enumerate(self._queue):
            if isinstance(part, Cursor):
                if part.remaining > SMALL_SLICE_BYTES and self._socket is not None:
                    return buffers, part
                data = part.read_whole()
                if data is None:
                    return buffers, part
                self._queue[index] = part = data
                self.held_bytes += len(data)
            elif self._socket is None and len(part) > size_max:
                part = part[:size_max]
            buffers.append(part)
            gathered += len(part)
            if gathered >= size_max or len(buffers) >= _GATHER_PARTS:
                break
        return buffers, None

    def _send_bytes(self, buffers: list[memoryview], more: bool) -> bool:
        """Send the buffers, and return True if they are all out.

        The rest stays in the queue until the socket is writable. `more` announces further bytes.
        Raises OSError if the socket fails.
        """
        size = sum(map(len, buffers))
        sock = self._socket
        if sock is None:
            self._drop(size)
            if len(buffers) == 1:
                self._transport.write(buffers[0])
            elif size <= _JOINED_BYTES:
                self._transport.write(b"".join(buffers))
            else:
                self._transport.writelines(buffers)
            return not self._paused
        flags = socket_calls.MORE if more else 0
        try:
            if len(buffers) == 1:
                sent = sock.send(buffers[0], flags)
            else:
                sent = sock.sendmsg(buffers, [], flags)
        except (BlockingIOError, InterruptedError):
            sent = 0
        self._drop(sent)
        if sent < size:
            self._await_writable()
            return False
        return True

    def _send_file(self, cursor: Cursor) -> bool:
        """Send up to PROBE_BYTES of a file, and return True if they are out; else wait for the
        socket.

        Raises SliceEnded if the file is shorter than its slice, OSError if the socket fails.
        """
        assert self._socket is not None
        count = min(cursor.remaining, PROBE_BYTES)
        out, file = self._socket.fileno(), cursor.slice.fileno()
        try:
            sent = socket_calls.send_file(out, file, cursor.position, count)
        except (BlockingIOError, InterruptedError):
            self._await_writable()
            return False
        if sent == 0:
            raise SliceEnded(errno.EIO, f"file ends at {cursor.position}")
        cursor.sent(sent)
        self.sent_bytes += sent
        self.pending_bytes -= sent
        if not cursor.remaining:
            self._queue.popleft()
        if sent < count:
            self._await_writable()
            return False
        return True

    def _send_head_and_file(
        self, sock: socket.socket, head: Bytes, fd: int, position: int, size: int
    ) -> int:
        """Send `head` and `size` cached bytes of a file; return how many bytes the socket took.
        Raises OSError, SliceEnded if the file is too short."""
        sent = 0
        try:
            sent = sock.send(head, socket_calls.MORE)
            if sent == len(head):
                count = socket_calls.send_file(sock.fileno(), fd, position, size)
                if count == 0:
                    raise SliceEnded(errno.EIO, f"file ends at {position}")
                sent += count
        except (BlockingIOError, InterruptedError):
            pass  # the rest waits for room
        self.sent_bytes += sent
        return sent

    def _send_rest(self, parts: Sequence[Bytes | FileSlice], sent: int, size: int) -> bool:
        """Push what is left after `sent` bytes of the slice, and return True if nothing is left to
        send. A negative `sent` means that so many bytes of the head are left."""
        if sent == size:
            return len(parts) == 2 or self.send(parts[2])  # type: ignore[arg-type]
        head, records = parts[0], parts[1]
        assert isinstance(head, _BYTES) and not isinstance(records, _BYTES)
        if sent < 0:
            self.push(memoryview(head)[sent:])
            sent = 0
        self._queue.append(Cursor(records, records.position + sent, size - sent))
        self.pending_bytes += size - sent
        for part in parts[2:]:
            self.push(part)
        self._await_writable()
        return False

    def _drop(self, sent: int) -> None:
        """Remove `sent` bytes, which were sent, from the head of the queue."""
        self.sent_bytes += sent
        self.pending_bytes -= sent
        self.held_bytes -= sent
        while sent:
            head = self._queue[0]
            assert isinstance(head, memoryview)
            if sent < len(head):
                self._queue[0] = _rest(head, sent)
                return
            sent -= len(head)
            self._queue.popleft()

    # --- the page cache ------------------------------------------------------------------------

    def _read_ahead(self, cursor: Cursor) -> None:
        """Read the next chunk into the page cache on an I/O thread, then continue sending."""
        self._reading_ahead = True
        self._stop_waiting()
        # To the slice's end, not the cursor's: the copying path cuts a slice into several.
        end = min(cursor.slice.position + cursor.slice.size, cursor.position + CHUNK_BYTES)
        job = partial(touch, cursor.slice.fileno(), cursor.position, end)

        def done(_result: object, error: Exception | None) -> None:
            """Continue sending with the chunk in the page cache, or pass the job's error to
            `on_failed`."""
            self._reading_ahead = False
            if self._closed:
                return
            if error is not None:
                self._on_failed(error)
                return
            cursor.warmed(end)
            self._continue_sending()

        self._blocking.submit(job, done)

    # --- waiting -------------------------------------------------------------------------------

    def _continue_sending(self) -> None:
        """Flush after a wait. Call `on_drained` if all is sent, `on_failed` with an error."""
        try:
            drained = self.flush()
        except (OSError, ValueError) as error:
            self._on_failed(error)
            return
        if drained and not self._closed:
            self._on_drained()

    def _writable(self) -> None:
        """Resume sending to a socket that has room. Meanwhile the page cache may have dropped the
        slice, so the cache is probed again."""
        head = self._queue[0]
        if isinstance(head, Cursor):
            head.warmed(0)
        self._continue_sending()

    def _next_turn(self) -> None:
        """Let other connections use the loop, then continue sending."""
        if self._socket is not None:
            self._await_writable()
        else:
            self._loop.call_soon(self._continue_sending)

    def _await_writable(self) -> None:
        """Call `_writable` when the socket is. If no descriptor is free, try again after POLL_S."""
        if self._waiting:
            return
        assert self._socket is not None
        self._waiting = True
        if self._watch_fd < 0:
            try:
                self._watch_fd = os.dup(self._socket.fileno())
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                self._poll = self._loop.call_later(POLL_S, self._try_again)
                return
        self._loop.add_writer(self._watch_fd, self._writable)

    def _try_again(self) -> None:
        """Try the socket again, because no descriptor was left to watch it with."""
        self._poll = None
        self._waiting = False
        self._writable()

    def _stop_waiting(self) -> None:
        """Stop waiting for the socket; no effect if nothing waits."""
        if self._waiting:
            self._waiting = False
            if self._poll is not None:
                self._poll.cancel()
                self._poll = None
            else:
                self._loop.remove_writer(self._watch_fd)


def _rest(data: memoryview, sent: int) -> memoryview:
    """Return the unsent rest of `data`, copied if it would keep more sent bytes than it has."""
    rest = data[sent:]
    if len(rest) >= _COPIED_REST_BYTES and 2 * len(rest) <= memoryview(data.obj).nbytes:
        return memoryview(bytes(rest))
    return rest


def _ignore(*_args: object) -> None:
    """Ignore a callback of a closed sender."""
