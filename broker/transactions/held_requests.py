"""Requests that came a moment too early: held until the transaction before is completed.

A producer begins its next transaction as soon as its commit is answered, which is before the last
marker is written. Told CONCURRENT_TRANSACTIONS, it would wait for longer than that takes. One
request of each transactional id is held, and not for long; a second one is not.

Owns those requests and their timers. Never decides: who holds one says what is to happen then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.coordinator.outcome import Done
from broker.transactions.producer_identity import Identity
from ground.ports import Scheduler, Timer
from ground.topic_partition import TopicPartition

CLIENT_HOLD_MS = 50
"""Of a client's own request: nobody else waits."""
BROKER_HOLD_MS = 20
"""Of one that a broker sends for several clients: less than it waits before it asks again."""


class Addition(NamedTuple):
    """AddPartitionsToTxn or AddOffsetsToTxn of one transactional id."""

    identity: Identity
    partitions: Sequence[TopicPartition]
    client_version: int
    done: Done


class _Held(NamedTuple):
    addition: Addition
    timer: Timer


class HeldRequests:
    """At most one for each transactional id. `again(id, addition)` is told when to try it again."""

    def __init__(self, scheduler: Scheduler, again: Callable[[str, Addition], None]) -> None:
        self._scheduler = scheduler
        self._again = again
        self._held: dict[str, _Held] = {}

    def hold(self, transactional_id: str, addition: Addition, hold_ms: int) -> bool:
        """Try `addition` again once: at `release`, or after `hold_ms`. False: one is held."""
        if transactional_id in self._held:
            return False
        timer = self._scheduler.call_later(hold_ms, lambda: self.release(transactional_id))
        self._held[transactional_id] = _Held(addition, timer)
        return True

    def peek(self, transactional_id: str) -> Addition | None:
        """What is held for this id."""
        held = self._held.get(transactional_id)
        return None if held is None else held.addition

    def take(self, transactional_id: str) -> None:
        """What is held for this id is dealt with otherwise."""
        self._held.pop(transactional_id).timer.cancel()

    def release(self, transactional_id: str) -> None:
        """Try what is held for this id, if something is."""
        held = self._held.pop(transactional_id, None)
        if held is not None:
            held.timer.cancel()
            self._again(transactional_id, held.addition)

    def release_all(self) -> None:
        """Try everything: it will be refused, for the leadership is gone."""
        for transactional_id in list(self._held):
            self.release(transactional_id)
