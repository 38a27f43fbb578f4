"""The limit on the memory of requests: being received, queued or handled.

Owns: the count of bytes, and the queue of connections that wait for room. Never: a buffer
(`protocol.frames.framing` has them), or the question whether a peer is too slow (`processor`).

A frame that does not arrive in one piece claims its whole size before a buffer is made for it. So a
frame that has begun can always be finished, and two half frames never wait for each other. A
connection that gets no room is not read from until there is room, in the order of the claims. Large
frames leave a reserve to small ones: a Metadata request does not wait until another client has
sent 90 MB.

No connection waits for ever: room comes back when a request is handled or its connection ends, and
`ottla.partial.frame.timeout.ms` closes a connection whose peer stops within a frame. If a large
frame waits and no other large frame has room, small frames leave the common room to it. The bytes
that have arrived of a waiting frame, at most one receive, are counted but take no room from any
frame. Otherwise frames that have all begun might wait for each other, because the limit may be the
size of one frame. While frames wait, no connection keeps a buffer for its next one.

Follows Kafka's `MemoryPool` (`queued.max.request.bytes`, KIP-72), which mutes all connections while
its memory is used up, and lets one frame go beyond it.
"""

from __future__ import annotations

from collections.abc import Callable

SMALL_FRAME_BYTES = 1024 * 1024
"""The largest size of a small frame, which may use the reserve."""
_SMALL_SHARE = 8


class RequestMemory:
    """The count of request bytes; implements `protocol.frames.frame_memory.FrameMemory`. All calls
    on the loop's thread."""

    def __init__(
        self,
        limit_bytes: int,
        frame_max_bytes: int,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        """Set the limit to `limit_bytes`, or to `frame_max_bytes` if that is more."""
        self.limit_bytes = max(limit_bytes, frame_max_bytes)
        # For small frames alone; small enough that the largest frame still has room.
        self._reserve = min(self.limit_bytes // _SMALL_SHARE, self.limit_bytes - frame_max_bytes)
        self._common = self.limit_bytes - self._reserve
        self._call_soon = call_soon
        self._small = 0
        self._large = 0
        self._of_waiting = 0  # the arrived bytes of waiting frames, which take no room
        self._small_waiting: dict[Callable[[], object], int] = {}
        self._large_waiting: dict[Callable[[], object], int] = {}
        self._granting = False
        self.reclaimers: list[Callable[[], None]] = []
        """Functions that free the memory which idle connections keep."""

    @property
    def held_bytes(self) -> int:
        """The bytes that requests hold: Kafka's MemoryPoolUsed."""
        return self._small + self._large + self._of_waiting

    @property
    def waiting_count(self) -> int:
        """The number of connections that are not read from because there is no room."""
        return len(self._small_waiting) + len(self._large_waiting)

    def claim(self, size: int) -> bool:
        """Count a frame of `size` bytes if there is room for it; return whether there was. If room
        is lacking, first call the `reclaimers`."""
        if not self._has_room(size):
            for reclaim in self.reclaimers:
                reclaim()
            if not self._has_room(size):
                return False
        self.hold(size)
        return True

    def hold(self, size: int) -> None:
        """Count `size` bytes, even beyond the limit: they are in memory already."""
        if size <= SMALL_FRAME_BYTES:
            self._small += size
        else:
            self._large += size

    def free(self, size: int) -> None:
        """Give back `size` bytes, the same portion as in the `claim` or `hold` that counted them.
        In a later turn, waiting frames get the room."""
        if size <= SMALL_FRAME_BYTES:
            self._small -= size
        else:
            self._large -= size
        assert self._small >= 0 and self._large >= 0
        if self.waiting_count and not self._granting:
            self._granting = True
            self._call_soon(self._grant)

    def hold_waiting(self, size: int) -> None:
        """Count `size` bytes that have arrived of a frame that is about to `wait`."""
        self._of_waiting += size

    def free_waiting(self, size: int) -> None:
        """Count these bytes no longer, because the frame got its room or was dropped; `forget`
        follows a drop."""
        self._of_waiting -= size
        assert self._of_waiting >= 0

    @property
    def is_waited_for(self) -> bool:
        """Whether frames wait for memory."""
        return bool(self._large_waiting or self._small_waiting)

    def wait(self, size: int, granted: Callable[[], object]) -> None:
        """Claim `size` bytes as soon as there is room, then call `granted` once, in a later
        turn."""
        waiting = self._small_waiting if size <= SMALL_FRAME_BYTES else self._large_waiting
        waiting[granted] = size

    def forget(self, granted: Callable[[], object]) -> None:
        """Cancel the `wait` that was begun with this callback. In a later turn, the next waiting
        frames get the room."""
        if self._small_waiting.pop(granted, None) or self._large_waiting.pop(granted, None):
            self.free(0)  # the next in the queue may have room now

    def _has_room(self, size: int) -> bool:
        """Return True if a frame of `size` bytes may be read now; false while others of its kind
        wait.
        """
        bytes_with_it = self._small + self._large + size
        if size <= SMALL_FRAME_BYTES:
            if self._small_waiting:
                return False
            return self._room_for_small(size, bytes_with_it)
        return not self._large_waiting and self._room_for_large(size, bytes_with_it)

    def _room_for_small(self, size: int, bytes_with_it: int) -> bool:
        """Return True if a small frame fits, into the reserve or into the common memory."""
        if self._small + size <= self._reserve:
            return True
        # If a large frame waits and none has room yet, it gets the room that small ones free.
        return bytes_with_it <= self.limit_bytes and not (self._large_waiting and not self._large)

    def _room_for_large(self, size: int, bytes_with_it: int) -> bool:
        """Return True if a large frame fits beside the reserve of the small ones."""
        return bytes_with_it <= self.limit_bytes and self._large + size <= self._common

    def _grant(self) -> None:
        """Claim the free room for waiting frames in their order, large frames first, and call their
        callbacks."""
        self._granting = False
        for waiting, has_room in (
            (self._large_waiting, self._room_for_large),
            (self._small_waiting, self._room_for_small),
        ):
            while waiting:
                granted, size = next(iter(waiting.items()))
                if not has_room(size, self._small + self._large + size):
                    break
                del waiting[granted]
                self.hold(size)
                granted()


class InterBrokerMemory:
    """The memory of requests between brokers: counted, and never limited."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory

    def claim(self, size: int) -> bool:
        """Count a frame of `size` bytes; return True, whatever is in use."""
        self._memory.hold(size)
        return True

    def hold(self, size: int) -> None:
        """Count `size` bytes."""
        self._memory.hold(size)

    def free(self, size: int) -> None:
        """Give back `size` bytes that were counted."""
        self._memory.free(size)

    def hold_waiting(self, size: int) -> None:
        """Do nothing: `claim` never makes these frames wait."""

    def free_waiting(self, size: int) -> None:
        """Do nothing, as `hold_waiting`."""

    @property
    def is_waited_for(self) -> bool:
        """Whether frames of clients wait for memory."""
        return self._memory.is_waited_for
