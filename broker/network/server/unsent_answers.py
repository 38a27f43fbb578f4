"""The limit on answers that wait in memory for clients that do not read them.

Owns: the connections with such answers, and the choice of those to close when all together hold too
much. Never: an answer (`file_send` has them), or the closing of a connection (`connection`).

A connection has one unsent answer at most, because it is not read from before that is sent. Slices
of files are not in memory. So memory fills only if many clients request large answers and stop
reading. Kafka keeps the answers until `connections.max.idle.ms`. Ottla closes connections: above
half of `ottla.queued.max.response.bytes` those that took nothing for STALLED_S, above all of it
others too, in both cases first those that have been silent longest. A client that reads, however
slowly, is among the last to be closed, and the only connection with an unsent answer is never
closed.

An answer that is sent at once is not counted. An unsent answer is added when it has to wait, and
the sum does not shrink as it is sent. So the connections are counted again when the sum is too
large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

STALLED_S = 1.0
"""The time without a byte taken after which a connection may be closed."""
LOOK_AGAIN_S = STALLED_S / 4


class UnsentConnection(Protocol):
    """A connection with an answer that waits to be sent."""

    @property
    def unsent_bytes(self) -> int:
        """The unsent bytes of answers in memory."""

    @property
    def sent_bytes(self) -> int:
        """The bytes that the client has taken since it connected."""

    def abort(self, reason: str) -> None:
        """Close the connection now."""


class UnsentAnswers:
    """The unsent answers of all connections of a node. All calls on the loop's thread."""

    def __init__(
        self,
        limit_bytes: int,
        clock_s: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        """Count unsent answers, and close connections if these hold too much of `limit_bytes`."""
        self.limit_bytes = limit_bytes
        self._enough = limit_bytes // 2
        # The bytes to get down to above the limit: a margin, so that not each further answer makes
        # all connections be counted.
        self._target = limit_bytes - limit_bytes // 8
        self._clock_s = clock_s
        self._call_later = call_later
        # By connection: its sent bytes when its client last took some, and the time of that.
        self._waiting: dict[UnsentConnection, tuple[int, float]] = {}
        self._at_most = 0  # an upper bound of the unsent bytes
        self._looks_now = self._looks_later = False
        self.closed_count = 0
        """The number of connections closed since the start."""

    @property
    def held_bytes(self) -> int:
        """The bytes of unsent answers in memory."""
        return sum(connection.unsent_bytes for connection in self._waiting)

    def add(self, connection: UnsentConnection) -> None:
        """Add a connection whose answer could not be sent whole at once. If all together may hold
        too much, look later for connections to close."""
        unsent = connection.unsent_bytes
        if not unsent:
            return
        self._waiting[connection] = connection.sent_bytes, self._clock_s()
        self._at_most += unsent
        if self._at_most > self.limit_bytes and not self._looks_now:
            self._looks_now = True
            self._call_later(0, self._look_now)
        elif self._at_most > self._enough:
            self._schedule_look()

    def forget(self, connection: UnsentConnection) -> None:
        """Forget a closed connection."""
        self._waiting.pop(connection, None)

    def _schedule_look(self) -> None:
        """Count the unsent bytes again after LOOK_AGAIN_S, unless that is scheduled already."""
        if not self._looks_later:
            self._looks_later = True
            self._call_later(LOOK_AGAIN_S, self._look_again)

    def _look_again(self) -> None:
        """Count the unsent bytes after a pause, and close connections if these are too many."""
        self._looks_later = False
        self._count_again()

    def _look_now(self) -> None:
        """Count the unsent bytes, which seem to be above the limit, and close connections if they
        are."""
        self._looks_now = False
        self._count_again()

    def _count_again(self) -> None:
        """Count the unsent bytes again, and close connections if these are too many."""
        now_s, held_bytes = self._clock_s(), 0
        for connection, (last_sent_bytes, _) in list(self._waiting.items()):
            unsent = connection.unsent_bytes
            if not unsent:
                del self._waiting[connection]
                continue
            held_bytes += unsent
            if connection.sent_bytes != last_sent_bytes:
                self._waiting[connection] = connection.sent_bytes, now_s
        if held_bytes > self.limit_bytes:
            held_bytes = self._close_silent(now_s, held_bytes, self._target)
        if held_bytes > self._enough:
            held_bytes = self._close_silent(now_s - STALLED_S, held_bytes, self._enough)
        self._at_most = held_bytes
        if held_bytes > self._enough and len(self._waiting) > 1:
            self._schedule_look()

    def _close_silent(self, silent_since_s: float, held_bytes: int, enough: int) -> int:
        """Close connections that took nothing since `silent_since_s`, until at most `enough` bytes
        are held or one connection is left. Return the bytes that are then held."""
        silent = sorted(
            ((since_s, connection) for connection, (_, since_s) in self._waiting.items()),
            key=lambda entry: entry[0],
        )
        for since_s, connection in silent:
            if since_s > silent_since_s or held_bytes <= enough or len(self._waiting) == 1:
                break
            reason = f"it takes no answers, and {held_bytes} bytes of them wait for slow readers"
            held_bytes -= connection.unsent_bytes
            del self._waiting[connection]
            self.closed_count += 1
            connection.abort(reason)
        return held_bytes
