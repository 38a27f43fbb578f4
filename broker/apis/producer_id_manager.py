"""Producer ids for this broker's clients, from blocks that the controller allocates (KIP-730).

Owns the block in use and the next one, which is requested when nine tenths are used, so that a
client seldom waits. Ids that are left when the process ends are never used. Without a block,
clients wait for the next one, `waiting_max` of them at most.

Never makes up an id: without the controller there is none, and the client must retry.

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
"""The part of a block that is left when the next block is requested."""
RETRY_BACKOFF_MS = 50

GiveId = Callable[[int | None], None]
"""Takes a producer id, or None if the client must retry."""


class ProducerIdManager:
    """This broker's supply of producer ids, each of which is given once."""

    def __init__(
        self,
        scheduler: Scheduler,
        broker_id: int,
        broker_epoch: Callable[[], int],
        allocate: ToController,
        waiting_max: int,
    ) -> None:
        """`allocate(request, respond)` sends the request to the controller, wherever that is."""
        self._scheduler = scheduler
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._allocate = allocate
        self._waiting_max = waiting_max
        self._block = range(0)
        self._used = 0
        self._next_block: range | None = None
        self._asking = False
        self._retry_at_ms = float("-inf")
        self._waiting: deque[GiveId] = deque()

    def next_id(self, give: GiveId) -> None:
        """Call `give` with an unused id: at once if there is one, otherwise after the controller
        has allocated a block.

        Call it with None if too many clients wait, or if the controller allocates no block.
        """
        if not self._begin_next_block_if_needed():
            if len(self._waiting) >= self._waiting_max:
                give(None)
                return
            self._waiting.append(give)
            self._request_block()
            return
        producer_id = self._block[self._used]
        self._used += 1
        if self._ids_left() <= PREFETCH_BELOW * len(self._block):
            self._request_block()
        give(producer_id)

    def _ids_left(self) -> int:
        """Return the number of ids left in the current block."""
        return len(self._block) - self._used

    def _begin_next_block_if_needed(self) -> bool:
        """Begin the next block if the current one is used up. Return whether there is an id."""
        if not self._ids_left() and self._next_block is not None:
            self._block, self._used, self._next_block = self._next_block, 0, None
        return self._ids_left() > 0

    def _request_block(self) -> None:
        """Ask the controller for the next block, unless that is under way or the block is here
        already.

        Within the backoff after a failure, call the waiting callbacks with None instead.
        """
        if self._asking or self._next_block is not None:
            return
        if self._scheduler.monotonic_ms() < self._retry_at_ms:
            self._fail_waiting()
            return
        self._asking = True
        request = AllocateProducerIdsRequest(self._broker_id, self._broker_epoch())
        self._allocate(request, self._block_answered)

    def _block_answered(self, response: AllocateProducerIdsResponse | None) -> None:
        """Set the next block, and give ids to the waiting callers. Without a block, give them None,
        and ask for none within RETRY_BACKOFF_MS."""
        self._asking = False
        if response is None or response.error_code or response.producer_id_len <= 0:
            self._retry_at_ms = self._scheduler.monotonic_ms() + RETRY_BACKOFF_MS
            self._fail_waiting()
            return
        start = response.producer_id_start
        self._next_block = range(start, start + response.producer_id_len)
        waiting, self._waiting = self._waiting, deque()
        for give in waiting:
            self.next_id(give)

    def _fail_waiting(self) -> None:
        """Call all waiting callbacks with None, so that their clients retry: no block is expected
        soon."""
        waiting, self._waiting = self._waiting, deque()
        for give in waiting:
            give(None)
