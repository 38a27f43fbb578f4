"""Waits for an event that another process, thread or task causes.

The limit is generous: a wait that ends there means that the event never comes, not that the machine
is busy. No function here measures time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

LIMIT_S = 90.0
"""A limit below that of a test (`timeout` in pyproject.toml), so that the wait's own error shows.
"""
PAUSE_S = 0.02


def wait_until(
    condition: Callable[[], T], what: str, *, limit_s: float = LIMIT_S, pause_s: float = PAUSE_S
) -> T:
    """Return the first truthy result of `condition`. Raises AssertionError with `what` at the
    limit.
    """
    deadline = time.monotonic() + limit_s
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {limit_s:.0f} s, last {answer!r}")
        time.sleep(pause_s)
    return answer


async def wait_until_async(
    condition: Callable[[], T | Awaitable[T]],
    what: str,
    *,
    limit_s: float = LIMIT_S,
    pause_s: float = PAUSE_S,
) -> T:
    """Wait as `wait_until` does, without blocking the loop. `condition` may return an awaitable."""
    deadline = time.monotonic() + limit_s
    while True:
        result = condition()
        answer = await result if isinstance(result, Awaitable) else result
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {limit_s:.0f} s, last {answer!r}")
        await asyncio.sleep(pause_s)
