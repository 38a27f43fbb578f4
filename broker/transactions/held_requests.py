"""Early requests, which are held until the previous transaction of the producer is completed.

A producer begins its next transaction as soon as its commit is answered, which is before the last
marker is written. If it were answered CONCURRENT_TRANSACTIONS, its back-off would be longer than
the markers need. For each transactional id, one request at a time is held for a short time.

Owns those requests and their timers. Never decides: a callback tries the request again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from broker.coordinator.outcome import Done
from broker.transactions.producer_identity import Identity
from ground.ports import Scheduler, Timer
from ground.topic_partition import TopicPartition

CLIENT_HOLD_MS = 50
"""The time for which a client's own request is held; no other client waits for it."""
BROKER_HOLD_MS = 20
"""The time for which a broker's request for several clients is held; its retries wait longer."""


class Addition(NamedTuple):
    """The part of an AddPartitionsToTxn or AddOffsetsToTxn for one transactional id."""

    identity: Identity
    partitions: Sequence[TopicPartition]
    client_version: int
    done: Done


class _Held(NamedTuple):
    addition: Addition
    timer: Timer


class HeldRequests:
    """The held requests, at most one for each transactional id.

    `retry(id, addition)` tries a request again.
    """

    def __init__(self, scheduler: Scheduler, retry: Callable[[str, Addition], None]) -> None:
        self._scheduler = scheduler
        self._retry = retry
        self._held: dict[str, _Held] = {}

    def hold(self, transactional_id: str, addition: Addition, hold_ms: int) -> bool:
        """Hold `addition` until `release` or for `hold_ms`; then pass it to `retry`, once.

        Return False, and do nothing, if a request of this id is held already.
        """
        if transactional_id in self._held:
            return False
        timer = self._scheduler.call_later(hold_ms, lambda: self.release(transactional_id))
        self._held[transactional_id] = _Held(addition, timer)
        return True

    def peek(self, transactional_id: str) -> Addition | None:
        """Return the held request of this id, or None."""
        held = self._held.get(transactional_id)
        return None if held is None else held.addition

    def drop(self, transactional_id: str) -> None:
        """Drop the held request of this id, and stop its timer, without a retry. Raises KeyError if
        there is none."""
        self._held.pop(transactional_id).timer.cancel()

    def release(self, transactional_id: str) -> None:
        """Pass the held request of this id to `retry` now, if there is one."""
        held = self._held.pop(transactional_id, None)
        if held is not None:
            held.timer.cancel()
            self._retry(transactional_id, held.addition)

    def release_all(self) -> None:
        """Pass all held requests to `retry` now; the shard, which is unloaded, then rejects
        them."""
        for transactional_id in list(self._held):
            self.release(transactional_id)
