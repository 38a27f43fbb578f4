"""How many bytes of answers wait in memory for clients that do not take them, and whose.

Owns: which connections have such answers, and whom to give up when all together hold too much.
Never: an answer (`file_send` has them), or the connection's end (`connection`).

A connection has one answer that waits, for it is not read from before that has left. Slices of
files wait as such, and take no memory. So only many clients at once can hold much: those that ask
for what is large, and stop reading. Kafka keeps all of it until `connections.max.idle.ms`. Here,
from half of `ottla.queued.max.response.bytes` on, connections that took nothing for STALLED_S are
closed, the longest silent first; and at all of it, the longest silent ones without that wait. Who
takes what it has asked for, however slowly, stays; so does one whose answer alone is larger.

Nothing is counted for an answer that leaves at once. What a connection holds is added when it has
to wait, and counted anew only when these sums are too large: they forget what has left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

STALLED_S = 1.0
"""Who takes nothing for so long may be given up."""
LOOK_AGAIN_S = STALLED_S / 4


class Unsent(Protocol):
    """A connection with an answer that waits."""

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers in memory."""

    @property
    def sent_bytes(self) -> int:
        """Bytes that it has taken since it began."""

    def abort(self, reason: str) -> None:
        """Close it now."""


class UnsentAnswers:
    """Of all connections of a node's listeners: see the module. All calls on the loop's thread."""

    def __init__(
        self,
        limit_bytes: int,
        clock_s: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self.limit_bytes = limit_bytes
        self._enough = limit_bytes // 2
        # What is left where nobody is waited for, so that not each further answer has all counted.
        self._left = limit_bytes - limit_bytes // 8
        self._clock_s = clock_s
        self._call_later = call_later
        # What each had taken when it was last seen to take something, and when that was.
        self._waiting: dict[Unsent, tuple[int, float]] = {}
        self._at_most = 0  # what they hold, or held
        self._looks_now = self._looks_later = False
        self.given_up = 0
        """Connections that were closed, since the start."""

    @property
    def held_bytes(self) -> int:
        """Bytes of answers that wait in memory."""
        return sum(one.unsent_bytes for one in self._waiting)

    def add(self, who: Unsent) -> None:
        """An answer does not leave at once."""
        held = who.unsent_bytes
        if not held:
            return
        self._waiting[who] = who.sent_bytes, self._clock_s()
        self._at_most += held
        if self._at_most > self.limit_bytes and not self._looks_now:
            self._looks_now = True
            self._call_later(0, self._look_now)
        elif self._at_most > self._enough:
            self._look_again()

    def forget(self, who: Unsent) -> None:
        """It is gone."""
        self._waiting.pop(who, None)

    def _look_again(self) -> None:
        if not self._looks_later:
            self._looks_later = True
            self._call_later(LOOK_AGAIN_S, self._look_later)

    def _look_later(self) -> None:
        self._looks_later = False
        self._look()

    def _look_now(self) -> None:
        self._looks_now = False
        self._look()

    def _look(self) -> None:
        """Count anew; give up those that hold what is too much."""
        now_s, held = self._clock_s(), 0
        for one, (taken, _) in list(self._waiting.items()):
            unsent = one.unsent_bytes
            if not unsent:
                del self._waiting[one]
                continue
            held += unsent
            if one.sent_bytes != taken:
                self._waiting[one] = one.sent_bytes, now_s
        if held > self.limit_bytes:
            held = self._give_up(now_s, held, self._left)
        if held > self._enough:
            held = self._give_up(now_s - STALLED_S, held, self._enough)
        self._at_most = held
        if held > self._enough and len(self._waiting) > 1:
            self._look_again()

    def _give_up(self, silent_since_s: float, held: int, enough: int) -> int:
        """What is held when those have gone that took nothing since then, or when it is enough."""
        silent = sorted(
            ((since_s, one) for one, (_, since_s) in self._waiting.items()), key=lambda it: it[0]
        )
        for since_s, one in silent:
            if since_s > silent_since_s or held <= enough or len(self._waiting) == 1:
                break
            reason = f"it takes no answers, and {held} bytes of them wait for slow readers"
            held -= one.unsent_bytes
            del self._waiting[one]
            self.given_up += 1
            one.abort(reason)
        return held
