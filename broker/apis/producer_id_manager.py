"""Producer ids for this broker's clients, out of blocks that the controller gives (KIP-730).

Owns the block in use and the next one, which is asked for when nine tenths are used, so that a
client seldom waits. Ids that are left when the process ends are lost, never given again. Clients
that come while there is no block wait for it, `waiting_max` of them at most.

Never makes up an id: without the controller there is none, and the client is told to try again.

Follows Kafka's `RPCProducerIdManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from broker.replication.to_controller import ToController
from ground.ports import Scheduler
from protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)

PREFETCH_BELOW = 0.1
"""Part of a block that is left when the next one is asked for."""
RETRY_BACKOFF_MS = 50

GiveId = Callable[[int | None], None]
"""Told the id, or None where the client must try again."""


class ProducerIdManager:
    """Hands out ids, each once."""

    def __init__(
        self,
        scheduler: Scheduler,
        broker_id: int,
        broker_epoch: Callable[[], int],
        allocate: ToController,
        waiting_max: int,
    ) -> None:
        """`allocate(request, respond)` asks the controller, wherever it is."""
        self._scheduler = scheduler
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._allocate = allocate
        self._waiting_max = waiting_max
        self._block = range(0)
        self._used = 0
        self._following: range | None = None
        self._asking = False
        self._ask_again_ms = float("-inf")
        self._waiting: deque[GiveId] = deque()

    def next_id(self, give: GiveId) -> None:
        """Give a fresh id, at once where there is one."""
        if not self._take_following_if_needed():
            if len(self._waiting) >= self._waiting_max:
                give(None)
                return
            self._waiting.append(give)
            self._ask()
            return
        producer_id = self._block[self._used]
        self._used += 1
        if self._left() <= PREFETCH_BELOW * len(self._block):
            self._ask()
        give(producer_id)

    def _left(self) -> int:
        return len(self._block) - self._used

    def _take_following_if_needed(self) -> bool:
        """Whether there is an id, the next block taken into use where that is needed."""
        if not self._left() and self._following is not None:
            self._block, self._used, self._following = self._following, 0, None
        return self._left() > 0

    def _ask(self) -> None:
        if self._asking or self._following is not None:
            return
        if self._scheduler.monotonic_ms() < self._ask_again_ms:
            self._turn_away()
            return
        self._asking = True
        request = AllocateProducerIdsRequest(self._broker_id, self._broker_epoch())
        self._allocate(request, self._answered)

    def _answered(self, response: AllocateProducerIdsResponse | None) -> None:
        self._asking = False
        if response is None or response.error_code or response.producer_id_len <= 0:
            self._ask_again_ms = self._scheduler.monotonic_ms() + RETRY_BACKOFF_MS
            self._turn_away()
            return
        start = response.producer_id_start
        self._following = range(start, start + response.producer_id_len)
        waiting, self._waiting = self._waiting, deque()
        for give in waiting:
            self.next_id(give)

    def _turn_away(self) -> None:
        """Without a block in sight, whoever waits tries again by itself."""
        waiting, self._waiting = self._waiting, deque()
        for give in waiting:
            give(None)
