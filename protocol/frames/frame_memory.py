"""The memory for frames, as the readers of a node's connections see it.

Owns nothing: `broker.network.limits.request_memory` counts what clients' connections hold, and
says who waits; responses of other nodes, of which few are under way, are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

Buffer: TypeAlias = Any
"""A writable buffer: a bytearray, or anonymous memory. Before Python 3.12 no type says so."""
Allocate: TypeAlias = Callable[[int], Buffer]
"""A new buffer of so many bytes."""


class Memory(Protocol):
    """What readers share: how many bytes there may be for frames."""

    def claim(self, size: int) -> bool:
        """Whether a frame may have a buffer of `size` bytes now; then it has them."""

    def hold(self, size: int) -> None:
        """Count `size` bytes that are there already."""

    def free(self, size: int) -> None:
        """What was claimed or held is let go of."""

    def hold_waiting(self, size: int) -> None:
        """Count `size` bytes that have come of a frame which waits for memory."""

    def free_waiting(self, size: int) -> None:
        """They are let go of, or part of a buffer that was claimed."""

    @property
    def is_waited_for(self) -> bool:
        """Whether frames wait for memory."""


class Uncounted:
    """`Memory` for readers whose peers are trusted."""

    def claim(self, size: int) -> bool:
        return True

    def hold(self, size: int) -> None: ...

    def free(self, size: int) -> None: ...

    def hold_waiting(self, size: int) -> None: ...

    def free_waiting(self, size: int) -> None: ...

    is_waited_for = False


UNCOUNTED = Uncounted()
