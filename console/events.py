"""Server-sent events out of a plain iterator, whose steps run in threads.

At most STREAMS_MAX at once, since each holds a thread while it waits for the cluster. If a tab is
closed, the next event or heartbeat fails, and the iterator is closed. Follows the `EventSource`
part of the HTML standard.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import anyio
from anyio import CapacityLimiter, to_thread

from console.answers import to_json

STREAMS_MAX = 32
HEARTBEAT = b": still here\n\n"
_END = object()


class Streams:
    """The open streams of a console."""

    def __init__(self) -> None:
        self._threads = CapacityLimiter(STREAMS_MAX)
        self._open = 0

    @property
    def is_full(self) -> bool:
        """Whether STREAMS_MAX streams are open."""
        return self._open >= STREAMS_MAX

    async def sent(
        self, values: Iterator[object], explain: Callable[[Exception], str]
    ) -> AsyncIterator[bytes]:
        """Yield the bytes to send, until the iterator ends or the tab is closed. The last event is
        `done`, or `failed` with the text that `explain` returns for the error."""
        self._open += 1
        try:
            yield HEARTBEAT  # the tab gets the headers at once
            while True:
                try:
                    value = await to_thread.run_sync(_next, values, limiter=self._threads)
                except Exception as error:  # noqa: BLE001 - `explain` logs it
                    yield event({"error": explain(error)}, "failed")
                    return
                if value is _END:
                    yield event({}, "done")
                    return
                yield HEARTBEAT if value is None else event(value)
        finally:
            self._open -= 1
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_close, values, limiter=self._threads)

    async def pieces(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the pieces of a file, and close `pieces` at the end or if the reader has gone."""
        self._open += 1
        try:
            while True:
                piece = await to_thread.run_sync(_next, pieces, limiter=self._threads)
                if not isinstance(piece, bytes):
                    return
                if piece:
                    yield piece
        finally:
            self._open -= 1
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(_close, pieces, limiter=self._threads)


def event(value: object, name: str | None = None) -> bytes:
    """Return the bytes of an event."""
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {to_json(value)}\n\n".encode()


def _next(values: Iterator[object]) -> object:
    return next(values, _END)


def _close(values: Iterator[object]) -> None:
    close = getattr(values, "close", None)
    if close is not None:
        close()
