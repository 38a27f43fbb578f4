"""How many bytes requests may hold: those that are being received, that wait, or that are handled.

Owns: the count, and who waits for room in it. Never: a buffer (`protocol.frames.framing` has them),
or the question whether a peer is too slow (`processor`).

A frame that does not come whole claims its whole size before a buffer is made for it, so what has
begun can always be finished, and no two halves wait for each other. Who gets no room is not read
from until there is; in the order in which they asked. What a small frame may claim of is kept free
of large ones: a request for metadata does not wait until somebody has sent 90 MB.

Nobody waits for ever: room comes back when a request is handled, when its connection ends, and
`ottla.partial.frame.timeout.ms` ends one whose peer does not go on; small frames leave the rest to
a large one that waits where no other large one is under way. What has come of frames that wait is
counted, at most one receive each, and takes no room from any: the limit may be of one frame, and
all may have begun. While frames wait, no connection keeps a buffer for its next one.

Follows Kafka's `MemoryPool` (`queued.max.request.bytes`, KIP-72), which mutes all connections while
its memory is used up, and lets one frame go beyond it.
"""

from __future__ import annotations

from collections.abc import Callable

SMALL_FRAME_BYTES = 1024 * 1024
"""Up to here a frame is small."""
_SMALL_SHARE = 8


class RequestMemory:
    """See the module, and `protocol.frames.framing.Memory`. All calls on the loop's thread."""

    def __init__(
        self,
        limit_bytes: int,
        frame_max_bytes: int,
        call_soon: Callable[[Callable[[], None]], object],
    ) -> None:
        """At most `limit_bytes`, and so much that one frame of `frame_max_bytes` has room."""
        self.limit_bytes = max(limit_bytes, frame_max_bytes)
        # Of small frames alone; as little of it as leaves room for the largest frame.
        self._reserve = min(self.limit_bytes // _SMALL_SHARE, self.limit_bytes - frame_max_bytes)
        self._common = self.limit_bytes - self._reserve
        self._call_soon = call_soon
        self._small = 0
        self._large = 0
        self._of_waiting = 0  # what has come of frames that wait: it takes no room from them
        self._small_waiting: dict[Callable[[], object], int] = {}
        self._large_waiting: dict[Callable[[], object], int] = {}
        self._granting = False
        self.reclaimers: list[Callable[[], None]] = []
        """Each gives back what idle connections keep."""

    @property
    def held_bytes(self) -> int:
        """Bytes of requests: Kafka's MemoryPoolUsed."""
        return self._small + self._large + self._of_waiting

    @property
    def waiting_count(self) -> int:
        """Connections that are not read from because there is no room."""
        return len(self._small_waiting) + len(self._large_waiting)

    def claim(self, size: int) -> bool:
        """Whether a frame of `size` bytes may have its buffer now; then it is counted."""
        if not self._has_room(size):
            for reclaim in self.reclaimers:
                reclaim()
            if not self._has_room(size):
                return False
        self.hold(size)
        return True

    def hold(self, size: int) -> None:
        """Count `size` bytes that are there whether there is room or not."""
        if size <= SMALL_FRAME_BYTES:
            self._small += size
        else:
            self._large += size

    def free(self, size: int) -> None:
        """What was counted by `claim` or `hold`, in the same portion, is let go of."""
        if size <= SMALL_FRAME_BYTES:
            self._small -= size
        else:
            self._large -= size
        assert self._small >= 0 and self._large >= 0
        if self.waiting_count and not self._granting:
            self._granting = True
            self._call_soon(self._grant)

    def hold_waiting(self, size: int) -> None:
        """Count `size` bytes that have come of a frame for which `wait` is about to be called."""
        self._of_waiting += size

    def free_waiting(self, size: int) -> None:
        """The frame waits no longer. Where it is given up, `forget` follows."""
        self._of_waiting -= size
        assert self._of_waiting >= 0

    @property
    def is_waited_for(self) -> bool:
        """Whether frames wait for memory."""
        return bool(self._large_waiting or self._small_waiting)

    def wait(self, size: int, granted: Callable[[], object]) -> None:
        """Claim `size` bytes as soon as there is room; then `granted`, once, later."""
        waiting = self._small_waiting if size <= SMALL_FRAME_BYTES else self._large_waiting
        waiting[granted] = size

    def forget(self, granted: Callable[[], object]) -> None:
        """Whoever waits by this does so no longer."""
        if self._small_waiting.pop(granted, None) or self._large_waiting.pop(granted, None):
            self.free(0)  # who is behind it may have its turn

    def _has_room(self, size: int) -> bool:
        held = self._small + self._large + size
        if size <= SMALL_FRAME_BYTES:
            if self._small_waiting:
                return False
            return self._room_for_small(size, held)
        return not self._large_waiting and self._room_for_large(size, held)

    def _room_for_small(self, size: int, held: int) -> bool:
        if self._small + size <= self._reserve:
            return True
        # A large one that is alone gets what small ones give back.
        return held <= self.limit_bytes and not (self._large_waiting and not self._large)

    def _room_for_large(self, size: int, held: int) -> bool:
        return held <= self.limit_bytes and self._large + size <= self._common

    def _grant(self) -> None:
        """Give room to those who wait, in their order; large ones first, where they have any."""
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


class ForBrokers:
    """The same memory for connections between brokers: counted, and never waited for."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory

    def claim(self, size: int) -> bool:
        """Yes."""
        self._memory.hold(size)
        return True

    def hold(self, size: int) -> None:
        """See `RequestMemory.hold`."""
        self._memory.hold(size)

    def free(self, size: int) -> None:
        """See `RequestMemory.free`."""
        self._memory.free(size)

    def hold_waiting(self, size: int) -> None:
        """Never asked: see `claim`."""

    def free_waiting(self, size: int) -> None:
        """See `hold_waiting`."""

    @property
    def is_waited_for(self) -> bool:
        """See `RequestMemory.is_waited_for`."""
        return self._memory.is_waited_for
