"""The share coordinator as the leaders of share-partitions and the coordinators of groups use it.

    call → coordinator of the key → this broker: its share coordinator
                                  → another broker: a request for all calls of a turn
                                  → unknown, or a retriable error: a pause, then as at first

Owns the calls that have no answer yet. A call stays here until it has an answer without a retriable
error, or has failed ATTEMPTS_MAX times. After a change of the metadata, the calls whose coordinator
is another broker now go there at once. A coordinator is unknown before `__share_group_state`
exists; the controller is asked to create it.

Never decides about states: the share coordinator does. A write may be made twice, which does not
change its result. CALLS_MAX bounds the calls. Follows Kafka's `DefaultStatePersister` and
`PersisterStateManager` (KIP-932), but its first pauses are shorter.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from broker.loop.log_limit import LogLimit
from broker.share.state import state_api
from broker.share.state.share_coordinator import ShareCoordinator, StateReply
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state.state_api import StateApi
from broker.share.state_calls import Coordinator, StateCall, StateCalls
from ground.ordered_work import raise_error
from ground.ports import Network, Scheduler, Timer
from ground.sliced_work import Pace, SlicedWork, Steps
from protocol.errors import ErrorCode

log = logging.getLogger(f"ottla.{__name__}")

RETRY_BACKOFF_MS = 25
RETRY_BACKOFF_MAX_MS = 30_000
ATTEMPTS_MAX = 11
"""The attempts of a call: with 25 s of pauses, about as long as Kafka's five attempts."""
CALLS_MAX = 100_000
"""The most calls without an answer. Further calls get COORDINATOR_NOT_AVAILABLE."""
ASKED_HERE = 8
"""The pieces of work (`Pace`) that a call to this broker's own share coordinator counts as."""
LINES_PER_SECOND = 5

_RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
_UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


class ShareCoordinators(NamedTuple):
    """The share coordinators of the cluster, as a broker finds them."""

    here: Callable[[], ShareCoordinator]
    """Returns the share coordinator of this broker."""
    coordinator_of: Callable[[SharePartitionKey], Coordinator | None]
    """Returns the broker that coordinates a share-partition; None if it is unknown."""
    create_topic: Callable[[], None]
    """Asks the controller for `__share_group_state`, if that topic does not exist."""
    refused_by: Callable[[int, str], None]
    """Called with a node and a request which that node rejects, because it does not recognize this
    node as a broker."""


class Persister:
    """The calls of this broker to share coordinators."""

    def __init__(
        self,
        node_id: int,
        scheduler: Scheduler,
        network: Network | None,
        sliced: SlicedWork,
        request_timeout_ms: int,
        coordinators: ShareCoordinators,
    ) -> None:
        """Begin without calls. `network` is None if this is the only node."""
        self._node_id = node_id
        self._scheduler = scheduler
        self._sliced = sliced
        self._coordinators = coordinators
        self._new: deque[StateCall] = deque()
        self._is_routing = False
        self._lacks_coordinator = False
        self._delayed: dict[StateCall, Timer] = {}
        self._remote = StateCalls(
            scheduler, network, node_id, request_timeout_ms, self._end, coordinators.refused_by
        )
        self._count = 0
        self._stopped = False
        self._failures = LogLimit(LINES_PER_SECOND, lambda: scheduler.monotonic_ms() / 1000)

    # -- calls -----------------------------------------------------------------------------------

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, reply: StateReply
    ) -> None:
        """Replace a state by an empty one.

        As for the other calls, `reply` gets the answer of the coordinator later. If all attempts
        fail, it gets the error of the last.
        """
        self._begin(state_api.INITIALIZE, key, (state_epoch, start_offset), reply)

    def write(self, key: SharePartitionKey, request: WriteRequest, reply: StateReply) -> None:
        """Write a leader's state."""
        self._begin(state_api.WRITE, key, (request,), reply)

    def read(self, key: SharePartitionKey, leader_epoch: int, reply: StateReply) -> None:
        """Read the state for a leader, which fences earlier leaders."""
        self._begin(state_api.READ, key, (leader_epoch,), reply)

    def summary(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Read the state without its batches."""
        self._begin(state_api.SUMMARY, key, (), reply)

    def delete(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Delete the state."""
        self._begin(state_api.DELETE, key, (), reply)

    def _begin(
        self,
        api: StateApi,
        key: SharePartitionKey,
        arguments: tuple[object, ...],
        reply: StateReply,
    ) -> None:
        """Make a call in a later turn; `arguments` are those of the decision, beside the key.
        Refuse it if this broker stops or has too many calls."""
        if self._stopped or self._count == CALLS_MAX:
            refused = StateAnswer(message="this broker cannot ask the share coordinator now")
            self._scheduler.call_soon(partial(reply, _UNAVAILABLE, refused))
            return
        self._count += 1
        self._route(StateCall(api, key, arguments, reply))

    def _end(self, call: StateCall, error: ErrorCode, answer: StateAnswer) -> None:
        """Answer a call, or repeat it after a pause if the error is retriable."""
        if error in _RETRIABLE and not self._stopped:
            if call.attempts < ATTEMPTS_MAX:
                pause_ms = min(RETRY_BACKOFF_MS * 2 ** (call.attempts - 1), RETRY_BACKOFF_MAX_MS)
                retry = partial(self._retry, call)
                self._delayed[call] = self._scheduler.call_later(pause_ms, retry)
                return
            self._log_failure(call, answer.message or error.name)
        self._count -= 1
        call.reply(error, answer)

    def _retry(self, call: StateCall) -> None:
        """Repeat a call whose pause is over."""
        del self._delayed[call]
        self._route(call)

    def _log_failure(self, call: StateCall, reason: str) -> None:
        """Log at WARNING that a call has failed, with a limit on the lines."""
        left_out = self._failures.next_line()
        if left_out is not None:
            more = f" ({left_out} more failures before)" if left_out else ""
            log.warning("%s for %s failed: %s%s", call.api.key.name, call.key.text, reason, more)

    # -- coordinators ----------------------------------------------------------------------------

    def metadata_changed(self) -> None:
        """Repeat the calls that another broker coordinates now: those that wait for a retry, for
        another request, and for their own answer."""
        moved = [call for call in self._delayed if self._has_moved(call)]
        for call in moved:
            self._delayed.pop(call).cancel()
        for call in self._remote.take_moved(self._has_moved) + moved:
            self._route(call)
        self._remote.send()

    def shutdown(self) -> None:
        """Answer all calls with COORDINATOR_NOT_AVAILABLE, and close the connections."""
        self._stopped = True
        for timer in self._delayed.values():
            timer.cancel()
        calls = [*self._new, *self._delayed, *self._remote.shutdown()]
        self._new.clear()
        self._delayed.clear()
        for call in calls:
            self._end(call, _UNAVAILABLE, StateAnswer(message="this broker stops"))

    def _has_moved(self, call: StateCall) -> bool:
        """Return whether another broker coordinates the call's share-partition than the broker that
        was asked last."""
        coordinator = self._coordinators.coordinator_of(call.key)
        return coordinator is not None and coordinator != call.asked

    def _route(self, call: StateCall) -> None:
        """Pass a call to its coordinator in a later turn, with all others of this turn."""
        self._new.append(call)
        if not self._is_routing:
            self._is_routing = True
            self._sliced.run(self._route_all(), self._routed)

    def _route_all(self) -> Steps[None]:
        """Pass the new calls to their coordinators."""
        pace = Pace()
        while self._new:
            call = self._new.popleft()
            coordinator = self._coordinators.coordinator_of(call.key)
            is_here = coordinator is not None and coordinator[0] == self._node_id
            if pace.is_full(ASKED_HERE if is_here else 1):
                self._new.appendleft(call)
                yield None
                continue
            call.attempt(coordinator)
            if coordinator is None:
                self._lacks_coordinator = True
                unknown = StateAnswer(message="the share coordinator is not available")
                self._end(call, _UNAVAILABLE, unknown)
            elif is_here:
                call.ask(self._coordinators.here(), partial(self._end, call))
            else:
                self._remote.add(coordinator, call)

    def _routed(self, _: None, error: Exception | None) -> None:
        """Send the requests to other brokers, ask for a missing topic, and raise the error of a
        call that failed."""
        self._is_routing = False
        if self._new:
            self._route(self._new.pop())
        lacks_coordinator, self._lacks_coordinator = self._lacks_coordinator, False
        if lacks_coordinator:
            self._coordinators.create_topic()
        self._remote.send()
        raise_error(None, error)
