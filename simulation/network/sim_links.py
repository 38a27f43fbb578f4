"""Links between machines: delays, and what cuts and slows them, each way for itself.

A machine is a name: `broker-1`, or a client's. What a cut link carries is held back, as TCP does:
it arrives some time after the heal, in its order, if its connection is still there. `Wire` is one
direction of one connection; a link is what all wires of one pair and direction share. A connection
is made by a `Handshake` first, which needs both ways: over a link that is cut one way only, what
stands still carries, but nothing new is opened.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ground.sim_scheduler import SimScheduler

RETRANSMIT_MS = 300.0
"""The longest time after a heal until what was held arrives."""

Link = tuple[str, str]


class Links:
    """Which links are cut or slow. Links are named by (from, to)."""

    def __init__(self, world: SimScheduler, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self._cut: dict[Link, None] = {}
        self._slow: dict[Link, float] = {}
        self._holding: dict[Link, list[Held]] = {}

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    def cut(self, source: str, target: str) -> None:
        """Nothing goes from `source` to `target` any more."""
        self._cut[(source, target)] = None

    def cut_both(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def slow(self, source: str, target: str, extra_ms: float) -> None:
        """Everything takes up to `extra_ms` more."""
        self._slow[(source, target)] = extra_ms

    def heal(self) -> None:
        """All links are whole and quick again."""
        self._slow.clear()
        for source, target in list(self._cut):
            self.mend(source, target)

    def mend(self, source: str, target: str) -> None:
        """One link is whole again: what was held on it arrives soon."""
        self._cut.pop((source, target), None)
        for wire in self._holding.pop((source, target), []):
            self.world.call_later(self.chance.random() * RETRANSMIT_MS, wire.release)

    def extra_ms(self, source: str, target: str) -> float:
        """How much longer something takes, because the link is slow."""
        slow = self._slow.get((source, target))
        return 0.0 if slow is None else self.chance.random() * slow

    def hold(self, source: str, target: str, held: Held) -> None:
        """Release it some time after this link is whole again."""
        self._holding.setdefault((source, target), []).append(held)


class Held(Protocol):
    """What waits for a link."""

    def release(self) -> None:
        """The link is whole."""


class Handshake:
    """A connection that is being made: it takes no time where both ways are whole.

    What is to be sent waits until then, as behind a SYN that nobody answers. A caller that hangs up
    before has sent nothing, whatever becomes of the links.
    """

    __slots__ = ("_caller", "_host", "_links", "_waiting", "made")

    def __init__(self, links: Links, caller: str, host: str) -> None:
        self.made = False
        """Whether the other end may know of the connection."""
        self._links = links
        self._caller = caller
        self._host = host
        self._waiting: list[Callable[[], None]] = []

    def then(self, send: Callable[[], None]) -> None:
        """Call `send` once the connection is made, in the order of the calls."""
        self._waiting.append(send)
        if self.made or len(self._waiting) == 1:
            self.release()

    def give_up(self) -> None:
        """The caller hangs up: what waits is never sent."""
        self._waiting.clear()

    def release(self) -> None:
        """A way that was cut is whole: see whether both are."""
        if not self._waiting:
            return
        for source, target in ((self._caller, self._host), (self._host, self._caller)):
            if not self.made and self._links.is_cut(source, target):
                self._links.hold(source, target, self)
                return
        self.made = True
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            send()


class Wire:
    """One direction of one connection: keeps order, delays, and holds while its link is cut."""

    __slots__ = ("_due_ms", "_held", "_links", "source", "target")

    def __init__(self, links: Links, source: str, target: str) -> None:
        self._links = links
        self._due_ms = 0.0
        self._held: deque[Callable[[], None]] = deque()
        self.source = source
        self.target = target

    def carry(self, then: Callable[[], None], delay_ms: float) -> None:
        """Call `then` at the other end, after what was carried before."""
        world = self._links.world
        delay_ms += self._links.extra_ms(self.source, self.target)
        self._due_ms = max(self._due_ms, world.now_ms + delay_ms)
        world.call_later(self._due_ms - world.now_ms, lambda: self._arrive(then))

    def _arrive(self, then: Callable[[], None]) -> None:
        if self._held:
            self._held.append(then)
        elif self._links.is_cut(self.source, self.target):
            self._held.append(then)
            self._links.hold(self.source, self.target, self)
        else:
            then()

    def release(self) -> None:
        """The link is whole: deliver what was held, each as an event of its own."""
        if self._links.is_cut(self.source, self.target):
            self._links.hold(self.source, self.target, self)
            return
        held, self._held = self._held, deque()
        for then in held:
            self.carry(then, 0.0)
