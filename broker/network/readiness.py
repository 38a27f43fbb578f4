"""Which of several sources has something to read, for code that has no event loop.

By `poll`, not by `select`: that one refuses each descriptor from 1024 on, which a console with a
thousand tabs hands out. Unlike `epoll`, `poll` also takes files and `/dev/null`.
"""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from typing import Protocol, TypeVar


class HasDescriptor(Protocol):
    """A socket, a pipe, or what owns one."""

    def fileno(self) -> int:
        """Its file descriptor."""


S = TypeVar("S", bound=HasDescriptor | int)


def readable(sources: Sequence[S], timeout_s: float) -> list[S]:
    """Those from which a read would not wait, once there is one; none after `timeout_s`.

    The end of a source is something to read, too.
    """
    with selectors.PollSelector() as selector:
        for position, source in enumerate(sources):
            selector.register(source, selectors.EVENT_READ, position)
        return [sources[key.data] for key, _ in selector.select(timeout_s)]
