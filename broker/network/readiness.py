"""Waiting for the first of several sources that can be read, in code without an event loop.

It uses `poll`, because `select` refuses descriptors from 1024 on, and a console with a thousand
tabs has so many. Unlike `epoll`, `poll` also takes files and `/dev/null`.
"""

from __future__ import annotations

import selectors
from collections.abc import Sequence
from typing import Protocol, TypeVar


class HasDescriptor(Protocol):
    """A socket, a pipe, or an object that owns one."""

    def fileno(self) -> int:
        """Return the file descriptor."""


S = TypeVar("S", bound=HasDescriptor | int)


def readable(sources: Sequence[S], timeout_s: float) -> list[S]:
    """Wait for up to `timeout_s`; return the sources that can be read without waiting.

    A source that has ended can be read, too. The list is empty after the timeout.
    """
    with selectors.PollSelector() as selector:
        for position, source in enumerate(sources):
            selector.register(source, selectors.EVENT_READ, position)
        return [sources[key.data] for key, _ in selector.select(timeout_s)]
