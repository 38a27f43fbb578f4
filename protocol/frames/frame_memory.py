"""The interface of the memory for frames, which the readers of a node's connections share.

Owns nothing: `broker.network.limits.request_memory` counts the bytes of clients' connections and
decides which readers wait. The few responses of other nodes are not counted. Never allocates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Buffer: TypeAlias = Any
"""A writable buffer: a bytearray, or anonymous memory. Python has no type for it before 3.12."""
Allocate: TypeAlias = Callable[[int], Buffer]
"""A function that returns a new buffer with this number of bytes."""


class FrameMemory(Protocol):
    """The count of the bytes that all readers use for frames, with its limit."""

    def claim(self, size: int) -> bool:
        """Count `size` bytes for a frame's buffer if the limit allows them now. Return whether it
        does."""

    def hold(self, size: int) -> None:
        """Count `size` bytes that exist already, whatever the limit is."""

    def free(self, size: int) -> None:
        """Stop counting `size` bytes that were claimed or held."""

    def hold_waiting(self, size: int) -> None:
        """Count `size` received bytes of a frame that waits for memory."""

    def free_waiting(self, size: int) -> None:
        """Stop counting `size` bytes of `hold_waiting`: they are dropped, or are now part of a
        claimed buffer."""

    @property
    def is_waited_for(self) -> bool:
        """Whether any frame waits for memory."""


class Uncounted:
    """A `FrameMemory` without a limit, for readers whose peers are trusted."""

    def claim(self, size: int) -> bool:
        """Return True: any size is allowed."""
        return True

    def hold(self, size: int) -> None:
        """Do nothing: no bytes are counted."""

    def free(self, size: int) -> None:
        """Do nothing: no bytes are counted."""

    def hold_waiting(self, size: int) -> None:
        """Do nothing: no bytes are counted."""

    def free_waiting(self, size: int) -> None:
        """Do nothing: no bytes are counted."""

    is_waited_for = False


UNCOUNTED = Uncounted()
