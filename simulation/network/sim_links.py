"""The links between machines: delays, cuts and slowness, each direction separately.

A machine is a name: `broker-1`, or a client's. What a cut link carries is held, as by TCP: it
arrives some time after the link is mended, in order, if its connection still exists. A `OneWayWire`
is one direction of one connection; a link is shared by all wires of one pair of machines and
direction. A connection begins with a `Handshake`, which needs both directions: over a link that is
cut in one direction only, existing connections still carry the other, but no new one is opened.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ground.sim_scheduler import SimScheduler

RETRANSMIT_MS = 300.0
"""The longest time from the mending of a link to the arrival of what it held."""

Link = tuple[str, str]


class Links:
    """The cut and the slow links, named by (from, to)."""

    def __init__(self, world: SimScheduler, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self._cut: dict[Link, None] = {}
        self._slow: dict[Link, float] = {}
        self._holding: dict[Link, list[Held]] = {}

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    def cut(self, source: str, target: str) -> None:
        """Cut the link from `source` to `target`, until `mend` or `heal`."""
        self._cut[(source, target)] = None

    def cut_both(self, first: str, second: str) -> None:
        self.cut(first, second)
        self.cut(second, first)

    def slow(self, source: str, target: str, extra_ms: float) -> None:
        """Delay each message on a link by a random time up to `extra_ms`, until `heal`."""
        self._slow[(source, target)] = extra_ms

    def heal(self) -> None:
        """Restore all links: none is cut or slow."""
        self._slow.clear()
        for source, target in list(self._cut):
            self.mend(source, target)

    def mend(self, source: str, target: str) -> None:
        """Restore a cut link: what was held on it is released within RETRANSMIT_MS."""
        self._cut.pop((source, target), None)
        for wire in self._holding.pop((source, target), []):
            self.world.call_later(self.chance.random() * RETRANSMIT_MS, wire.release)

    def extra_ms(self, source: str, target: str) -> float:
        """Return the random delay that a slow link adds, in ms; 0 if the link is not slow."""
        slow = self._slow.get((source, target))
        return 0.0 if slow is None else self.chance.random() * slow

    def hold(self, source: str, target: str, held: Held) -> None:
        """Call `held.release` some time after this link is mended."""
        self._holding.setdefault((source, target), []).append(held)


class Held(Protocol):
    """A holder of messages that wait for a link."""

    def release(self) -> None:
        """Send what was held: the link is restored."""


class Handshake:
    """The opening of a connection: it takes no time if both directions are whole.

    Messages wait for it, as behind a SYN without an answer. If the caller hangs up before, it has
    sent nothing, whatever happens to the links later.
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
        """Call `send` as soon as the connection is open, in the order of the calls."""
        self._waiting.append(send)
        if self.made or len(self._waiting) == 1:
            self.release()

    def give_up(self) -> None:
        """Drop the waiting messages: the caller hangs up."""
        self._waiting.clear()

    def release(self) -> None:
        """Open the connection if both directions are whole now, and send the waiting messages. Else
        wait until the cut direction is mended."""
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


class OneWayWire:
    """A direction of a connection: keeps order, delays, and holds messages while its link is
    cut."""

    __slots__ = ("_due_ms", "_held", "_links", "source", "target")

    def __init__(self, links: Links, source: str, target: str) -> None:
        self._links = links
        self._due_ms = 0.0
        self._held: deque[Callable[[], None]] = deque()
        self.source = source
        self.target = target

    def carry(self, callback: Callable[[], None], delay_ms: float) -> None:
        """Call `callback` at the other end after `delay_ms`, and after everything that was sent
        earlier. While the link is cut, the callback is held."""
        world = self._links.world
        delay_ms += self._links.extra_ms(self.source, self.target)
        self._due_ms = max(self._due_ms, world.now_ms + delay_ms)
        world.call_later(self._due_ms - world.now_ms, lambda: self._arrive(callback))

    def _arrive(self, callback: Callable[[], None]) -> None:
        """Deliver now, or hold while the link is cut; what was sent later then waits too."""
        if self._held:
            self._held.append(callback)
        elif self._links.is_cut(self.source, self.target):
            self._held.append(callback)
            self._links.hold(self.source, self.target, self)
        else:
            callback()

    def release(self) -> None:
        """Deliver what was held, each message as an event of its own. If the link is cut again,
        wait until it is mended."""
        if self._links.is_cut(self.source, self.target):
            self._links.hold(self.source, self.target, self)
            return
        held, self._held = self._held, deque()
        for callback in held:
            self.carry(callback, 0.0)
